/* wording.h - counts, sizes and text from outside as people read them: 1 thread, 2 threads;
 * 1,234,567; 12.3 MB (powers of 1000 everywhere); nothing that would steer a terminal.
 *
 *     printf("%s, %s\n", MO_COUNT(steps, "step"), MO_BYTES(state_bytes));
 */
#ifndef MOUSSE_BASE_WORDING_H
#define MOUSSE_BASE_WORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORDING_SIZE = 64 };

/* "1 thread", "1,024 threads", "2 batches"; an empty noun gives the number alone. */
const char *mo_count_text(char text[WORDING_SIZE], uint64_t count, const char *noun);
/* "512 bytes", "12.3 MB": three digits or more. */
const char *mo_bytes_text(char text[WORDING_SIZE], double bytes);
/* "3:05", "1:02:03", "2 days 3:04:05". */
const char *mo_duration_text(char text[WORDING_SIZE], double seconds);

/* The text lives as long as the block that the macro stands in. */
#define MO_NUMBER(count)      mo_count_text((char[WORDING_SIZE]){0}, (uint64_t)(count), "")
#define MO_COUNT(count, noun) mo_count_text((char[WORDING_SIZE]){0}, (uint64_t)(count), noun)
#define MO_BYTES(bytes)       mo_bytes_text((char[WORDING_SIZE]){0}, (double)(bytes))
#define MO_DURATION(seconds)  mo_duration_text((char[WORDING_SIZE]){0}, seconds)

/* Bytes of the character at c, which is not the end: 1 for what is not UTF-8. */
size_t mo_character_bytes(const char *c);
/* U+0000 to U+001F and U+007F to U+009F: they move cursors, change colours, answer. */
bool mo_is_control(const char *c);
/* A line from outside, in place: line ends and tabs become spaces, other controls '?'. */
void mo_clean_line(char *text);
/* Columns of a terminal that a character, and a text, take. */
size_t mo_character_columns(const char *c);
size_t mo_columns(const char *text);

#endif
