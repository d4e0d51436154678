/* split.h - cuts text into the pieces that BPE works on; the only file that uses PCRE2.
 *
 * The rule is a regular expression with Unicode properties. Each match is a piece, and so is
 * text between matches. GPT-2's rule:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * where \s is Unicode's White_Space, as in the original (JavaScript and PCRE each have a
 * slightly different \s, so it is spelled out).
 *
 * Bytes that are not UTF-8: text is cut into stretches of valid UTF-8 and runs of other bytes;
 * the rule is applied to each stretch alone, and a run is one piece.
 */
#ifndef MOUSSE_DATA_TOKENIZER_SPLIT_H
#define MOUSSE_DATA_TOKENIZER_SPLIT_H

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

/* Where text can be cut so that both sides split as the whole does: the last place in it, not
 * before `least`, that lies between a visible ASCII character and an ASCII space or line end,
 * which no piece of GPT-2's rule joins. 0 when there is none or the rule is not GPT-2's. */
size_t split_cut(const split_rule *rule, const char *text, size_t length, size_t least);

#endif
