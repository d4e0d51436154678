/* tensorboard.h - scalars as an event file that TensorBoard reads.
 *
 * The file is a sequence of records (TFRecord):
 *
 *     u64 length   u32 masked CRC-32C of the length   data   u32 masked CRC-32C of the data
 *
 * and each record is an Event message in protobuf encoding: wall_time (1, double), step (2,
 * varint) and one of file_version (3, text), summary (5) { value (1) { tag (1, text),
 * simple_value (2, float) } }, session_log (7) { status (1, varint) }.
 */
#ifndef MOUSSE_TRAIN_TENSORBOARD_H
#define MOUSSE_TRAIN_TENSORBOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TENSORBOARD_MOST = 256 }; /* bytes of a record */

/* CRC-32C, and the form of it that records carry. */
uint32_t tensorboard_crc(const void *data, size_t bytes);
uint32_t tensorboard_masked_crc(const void *data, size_t bytes);

/* Records into a buffer of TENSORBOARD_MOST bytes; return their length. */
size_t tensorboard_version(unsigned char *record, double time);
/* Tells TensorBoard that what an earlier file has from this step on is void. */
size_t tensorboard_restart(unsigned char *record, double time, uint64_t step);
/* A tag of at most 64 bytes. */
size_t tensorboard_scalar(unsigned char *record, double time, uint64_t step, const char *tag,
                          float value);

#endif
