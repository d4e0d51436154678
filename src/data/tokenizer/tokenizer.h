/* tokenizer.h - BPE: text to token ids and back.
 *
 * Text is cut into pieces (split.h); a piece starts as its bytes, and the pair of neighbours
 * with the lowest merge rank (the leftmost of equals) becomes one token until no pair has one.
 * A piece of more than 1 MiB is merged in parts of 1 MiB.
 * Every byte is a token, so any byte string has ids and decodes to itself. Special tokens are
 * never found in text: "<|endoftext|>" in a document is encoded as ordinary characters. Added ones
 * that a file marks as not special, as Qwen's <think>, are: text is cut at them first, and what
 * lies between two of them is split and merged by itself (added_tokens.h).
 *
 * Two kinds of files change text first: those that ask for Unicode's normal form C (nfc.h), and
 * those of SentencePiece's kind, which start from characters (sentencepiece.h).
 *
 * Raw bytes is the same thing without merges: id = byte, vocabulary 256, and byte 0, which text
 * seldom contains, in the role of the end-of-text token: there a zero in text ends it.
 */
#ifndef MOUSSE_DATA_TOKENIZER_TOKENIZER_H
#define MOUSSE_DATA_TOKENIZER_TOKENIZER_H

#include "base/buffer.h"
#include "base/table.h"
#include "data/tokenizer/added_tokens.h"
#include "data/tokenizer/split.h"

#define TOKENIZER_NONE        UINT32_MAX
#define TOKENIZER_END_OF_TEXT "<|endoftext|>"

typedef struct tokenizer_merge {
  uint32_t left, right;
} tokenizer_merge;

/* A space before the first word of a text, so that it is the token it is elsewhere. Parts of a
 * text or a conversation that have added tokens between them are texts of their own here. */
typedef enum tokenizer_prefix {
  TOKENIZER_PREFIX_NONE,
  TOKENIZER_PREFIX_ALWAYS,
  TOKENIZER_PREFIX_FIRST,       /* not where text starts with one, nor behind an added token */
  TOKENIZER_PREFIX_UNLESS_SPACE /* not where text starts with one */
} tokenizer_prefix;

/* What a file says of a token that is never found in text: nothing to us, but it is written again. */
typedef enum tokenizer_attribute {
  TOKENIZER_SINGLE_WORD = 1,
  TOKENIZER_LSTRIP = 2,
  TOKENIZER_RSTRIP = 4,
  TOKENIZER_NORMALIZED = 8
} tokenizer_attribute;

typedef struct mo_tokenizer {
  mo_text_table tokens;    /* number = id; the bytes each id stands for, or their spelling */
  mo_text_table specials;  /* the added ones of them, and end_of_text */
  mo_text_table shown;     /* those of these that are text to a reader ("special": false) */
  added_tokens found;      /* those of these that are found in text */
  added_tokens found_late; /* likewise, once it is in normal form ("normalized": true) */
  uint8_t *attributes;     /* by id, sums of tokenizer_attribute; NULL: none of any */
  tokenizer_merge *merges; /* by rank */
  size_t merge_count, merge_capacity;
  mo_pair_table pairs; /* the same merges, to look up */
  uint32_t byte_ids[256];
  uint32_t end_of_text;   /* TOKENIZER_NONE: it has no such token */
  uint32_t start_of_text; /* what models expect before a text; TOKENIZER_NONE: nothing */
  split_rule *rule;       /* NULL for raw bytes and SentencePiece's kind */
  char *pattern;          /* the rule's expression; NULL for GPT-2's */
  bool nfc;               /* text is brought into Unicode's normal form C */
  bool whole_words;       /* a piece that is a token needs no merging ("ignore_merges") */

  bool sentencepiece; /* tokens are spelled as in sentencepiece.h; these belong to it */
  tokenizer_prefix prefix;
  bool each_space;   /* a piece begins at every space (Metaspace's "split") */
  bool spaces_lead;  /* no token has a space behind another character */
  mo_buffer texts;   /* what the tokens stand for, one after the other */
  size_t *text_ends; /* where each ends in it; NULL: tokens has them */
} mo_tokenizer;

/* path: "bytes", a directory with tokenizer.json, or vocab.json + merges.txt, or OpenAI's
 * encoder.json + vocab.bpe; or one of these files. */
mousse_status tokenizer_open(mo_tokenizer *tokenizer, const char *path, mo_error *error);
/* Does the directory hold a tokenizer's files, good or bad? */
bool tokenizer_exists(const char *directory);
void tokenizer_close(mo_tokenizer *tokenizer); /* accepts a zeroed or closed one */

/* tokenizer_build.c: made from parts, by the readers and the trainer. Call add_token for ids
 * 0, 1, 2, ..., then add_merge by rank, then finish, which checks what must hold. */
mousse_status tokenizer_add_token(mo_tokenizer *tokenizer, const char *bytes, size_t length,
                                  bool special, mo_error *error);
mousse_status tokenizer_add_merge(mo_tokenizer *tokenizer, const char *left, size_t left_length,
                                  const char *right, size_t right_length, mo_error *error);
/* name: what messages start with. pattern as in split_rule_open, copied. */
mousse_status tokenizer_finish(mo_tokenizer *tokenizer, const char *name, const char *pattern,
                               mo_error *error);
mousse_status tokenizer_make_bytes(mo_tokenizer *tokenizer, mo_error *error);

/* tokenizer_read.c: the files as text in memory; name is what messages call it. */
mousse_status tokenizer_parse_json(mo_tokenizer *tokenizer, const char *name, const char *data,
                                   size_t size, mo_error *error);
mousse_status tokenizer_parse_pair(mo_tokenizer *tokenizer, const char *vocabulary_name,
                                   const char *vocabulary, size_t vocabulary_size,
                                   const char *merges_name, const char *merges,
                                   size_t merges_size, mo_error *error);

/* tokenizer_write.c: as tokenizer.json that Hugging Face's libraries load. */
mousse_status tokenizer_save(const mo_tokenizer *tokenizer, const char *path, mo_error *error);

/* encoder.c: one per thread over a shared tokenizer. */
typedef struct mo_encoder mo_encoder;

mousse_status encoder_open(mo_encoder **encoder, const mo_tokenizer *tokenizer,
                           mo_error *error);
void encoder_close(mo_encoder *encoder); /* accepts NULL */

/* Appends the ids of text that begins a document, or of text that goes on with one. */
mousse_status encoder_encode(mo_encoder *encoder, const char *text, size_t length,
                             mo_id_list *ids, mo_error *error);
mousse_status encoder_go_on(mo_encoder *encoder, const char *text, size_t length,
                            mo_id_list *ids, mo_error *error);

/* Two tokenizers with the same number give the same ids to any text, and the same text to any
 * ids; it does not depend on the files that they were read from. */
uint64_t tokenizer_checksum(const mo_tokenizer *tokenizer);

/* The bytes of one id; NULL when there is no such id. */
const char *tokenizer_bytes(const mo_tokenizer *tokenizer, uint32_t id, size_t *length);
/* Likewise behind `before`, the id before it: without the space that a text starts with. */
const char *tokenizer_bytes_after(const mo_tokenizer *tokenizer, uint32_t before, uint32_t id,
                                  size_t *length);
/* The token that a text starts with: start_of_text, else end_of_text, else TOKENIZER_NONE. */
uint32_t tokenizer_first(const mo_tokenizer *tokenizer);
bool tokenizer_is_special(const mo_tokenizer *tokenizer, uint32_t id);
/* Of special ones: does a file say that readers see it, as the <think> of Qwen? */
bool tokenizer_is_shown(const mo_tokenizer *tokenizer, uint32_t id);
/* Of shown ones: is it found in text? All are but those that mark where a text, or a message of a
 * conversation, starts or ends. */
bool tokenizer_is_found(const mo_tokenizer *tokenizer, uint32_t id);
/* Is this a name of the token that ends a text? A tokenizer may have several, as Phi-3's. */
bool tokenizer_names_end(const char *text, size_t length);
/* Does the text behind an id get the space that a text starts with, where texts get one? */
bool tokenizer_starts_behind(const mo_tokenizer *tokenizer, uint32_t id);

/* tokenizer_cut.c: where text is cut in two that are encoded on their own; see split_cut. Before
 * a token that is found in text is such a place; inside of one is none, if most - least is
 * ADDED_LONGEST or more; but for a run of a late token that overlaps itself, in text that is not in
 * normal form, where it is not known which of its places count. scratch: of the tokenizer's rule,
 * NULL when it has none. */
size_t tokenizer_cut(const mo_tokenizer *tokenizer, split_scratch *scratch, const char *text,
                     size_t length, size_t least, size_t most);

#endif
