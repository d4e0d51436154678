/* error.h - errors are values: a status goes up the call chain, a sentence goes with it.
 *
 * The status is the public mousse_status in every layer, so that there is one list of codes.
 * The sentence names the file, the field, the value found and what was expected.
 */
#ifndef MOUSSE_BASE_ERROR_H
#define MOUSSE_BASE_ERROR_H

#include <mousse/mousse.h>

typedef struct mo_error {
  char text[512];
} mo_error;

/* Stores the sentence (error may be NULL) and returns status: `return mo_fail(e, ...)`. */
mousse_status mo_fail(mo_error *error, mousse_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* they see one file at a time: what mo_fail returns is what it is given */
#define mo_fail(error, status, ...) (mo_fail((error), (status), __VA_ARGS__), (status))
#endif

/* Returns from the calling function when the call fails. */
#define MO_TRY(call)                                                                           \
  do {                                                                                         \
    const mousse_status mo_try_status = (call);                                                \
    if (mo_try_status != MOUSSE_OK) return mo_try_status;                                      \
  } while (0)

#endif
