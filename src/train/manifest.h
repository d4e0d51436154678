/* manifest.h - what a checkpoint consists of, with checksums.
 *
 *     {"format": "mousse-checkpoint", "version": 1, "step": 100,
 *      "files": {"model.safetensors": {"bytes": 1234, "xxh3": "0123456789abcdef"}, ...}}
 *
 * There is one way to write it: a manifest is right when writing it anew from the files on disk
 * gives the same bytes, so a changed bit anywhere, the manifest included, is noticed.
 */
#ifndef MOUSSE_TRAIN_MANIFEST_H
#define MOUSSE_TRAIN_MANIFEST_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_NAME "manifest.json"

/* Writes the manifest of these files of the directory. */
mousse_status manifest_write(const char *directory, uint64_t step, const char *const *names,
                             size_t count, mo_error *error);

/* Whether a manifest's text is one: JSON that names the files it must, and no others. */
mousse_status manifest_check(const char *directory, const char *text, size_t size,
                             const char *(*known)(size_t index),
                             bool (*needed)(const char *name), mo_error *error);

/* Reads every file that the manifest names; the sentence says what is wrong with which. It must
 * name the files of known(0), known(1), ... (NULL past the last) that are needed, and no others
 * than these. */
mousse_status manifest_verify(const char *directory, uint64_t step,
                              const char *(*known)(size_t index),
                              bool (*needed)(const char *name), mo_error *error);

#endif
