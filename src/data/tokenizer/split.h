/* split.h - cuts text into the pieces that BPE works on; the only file that uses PCRE2.
 *
 * The rule is a regular expression with Unicode properties. Each match is a piece, and so is
 * text between matches. GPT-2's rule:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * where \s is Unicode's White_Space, as in the original; JavaScript and PCRE each have a slightly
 * different \s, so it is spelled out, in this and in every other rule.
 *
 * A match sees at least 2 KiB of text beyond its end, and no more than it needs.
 *
 * Bytes that are not UTF-8: text is cut into stretches of valid UTF-8 and runs of other bytes;
 * the rule is applied to each stretch alone, and a run is one piece.
 */
#ifndef MOUSSE_DATA_TOKENIZER_SPLIT_H
#define MOUSSE_DATA_TOKENIZER_SPLIT_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>

typedef struct split_rule split_rule; /* may be shared by threads */

/* pattern NULL: GPT-2's. */
mousse_status split_rule_open(split_rule **rule, const char *pattern, mo_error *error);
void split_rule_close(split_rule *rule); /* accepts NULL */

/* Called for every piece, in order; a status other than OK stops. */
typedef mousse_status (*split_piece)(void *user, const char *piece, size_t length);

typedef struct split_scratch split_scratch; /* one per thread */

mousse_status split_scratch_open(split_scratch **scratch, const split_rule *rule,
                                 mo_error *error);
void split_scratch_close(split_scratch *scratch); /* accepts NULL */

mousse_status split_text(const split_rule *rule, split_scratch *scratch, const char *text,
                         size_t length, split_piece piece, void *user, mo_error *error);

bool split_is_gpt2(const split_rule *rule);

/* split_pattern.c: are there classes within classes, [a[b]] or [a&&b], which Hugging Face's
 * libraries take for sets and PCRE2 for characters? */
bool split_pattern_has_sets(const char *pattern);
/* Appends an expression with its \s and \S spelled out, and a NUL; false: no
 * memory. */
bool split_pattern_spell(const char *pattern, mo_buffer *spelled);

/* split_cut.c: where to cut a text of which `length` bytes are at hand and which starts with a
 * piece, so that both sides can be encoded on their own: a place from `least` to `most`, with
 * 1 <= least <= most < length. The best there is of, in this order,
 *
 *     a place where both sides split as the whole does
 *     before white space
 *     between two characters
 *     most
 *
 * so only a text without any border between pieces for most - least bytes is cut inside one.
 * rule NULL: there are no pieces. */
size_t split_cut(const split_rule *rule, split_scratch *scratch, const char *text,
                 size_t length, size_t least, size_t most);

/* The last place there that is before a space and behind a visible character; 0: none. */
size_t split_cut_before_space(const char *text, size_t least, size_t most);

#endif
