/* text.h - strict numbers and "did you mean". */
#ifndef MOUSSE_BASE_TEXT_H
#define MOUSSE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole text must be one number; "1e-3" and "0.5" read the same in every locale. Infinity
 * and NaN are numbers here: ranges are the caller's business. Whole numbers may carry k, M or G
 * (powers of 1000), as in "--batch 2M". */
bool mo_parse_double(const char *text, double *value);
bool mo_parse_integer(const char *text, int64_t *value);

/* The shortest text that reads back as the same number, in every locale. */
void mo_number_text(double value, char *text, size_t capacity);

/* Finds the closest of several names to a mistyped word:
 *
 *     mo_suggestion s = mo_suggest(word);
 *     for (...) mo_suggest_from(&s, name);
 *     if (s.best != NULL) ...  "did you mean 's.best'?"
 *
 * best stays NULL when nothing is near enough to be meant. - and _ count as equal. */
typedef struct mo_suggestion {
  const char *word, *best;
  size_t distance;
} mo_suggestion;

mo_suggestion mo_suggest(const char *word);
void mo_suggest_from(mo_suggestion *suggestion, const char *name);

/* Appends to a list of names, "a, b, c"; what does not fit is left out. */
void mo_list_add(char *list, size_t capacity, const char *name);

#endif
