/* corpus.h - text inputs as documents, in pieces of bounded size.
 *
 * Inputs: text files; directories of them; JSON lines (.jsonl, .ndjson) with the text in one
 * field; each may be compressed with gzip or zstd. In a text file, a line that is the separator
 * ends a document; without one the file is one document. Empty documents are dropped. Token shards
 * are refused.
 *
 * A document comes in one or more pieces, cut where `cut` says that text may be cut.
 */
#ifndef MOUSSE_DATA_TEXT_CORPUS_H
#define MOUSSE_DATA_TEXT_CORPUS_H

#include "base/buffer.h"
#include "base/error.h"
#include "data/text/file_list.h"
#include "data/text/messages.h"

#include <stdbool.h>

/* Where to cut text of which `length` bytes are known: from `least` to `most`, which is less
 * than length. */
typedef size_t (*corpus_cut)(void *user, const char *text, size_t length, size_t least,
                             size_t most);

typedef struct corpus_options {
  const char *field; /* of JSON lines; NULL: "text" */
  /* Of JSON lines: a second field. Then all inputs must be JSON lines, and a line is a document of
   * two pieces, however long: its field, a prompt, which may be empty or missing, and this one,
   * a completion, which may not. NULL: there is none. */
  const char *completion;
  /* Of JSON lines: a field with a list of messages (messages.h). Likewise, and a line is a document
   * of as many pieces, one for each. NULL: there is none. */
  const char *messages;
  const char *separator; /* NULL or "": none */
  size_t piece_bytes;    /* the longest piece, usually also the length; 0: 64 KiB */
  corpus_cut cut;        /* NULL: anywhere */
  void *cut_user;
} corpus_options;

typedef struct corpus_piece {
  const char *text; /* valid until the next call */
  size_t length;    /* 0: there is no more */
  bool starts_document;
  bool is_completion;
  const char *role; /* whose message it is, valid as long as text; NULL: it is none */
} corpus_piece;

/* What is odd about the text files that have been read so far. */
typedef struct corpus_notes {
  uint64_t marks;      /* byte order marks, which were dropped */
  uint64_t json_files; /* called .json, and read as plain text */
  uint64_t utf16_files, bad_files,
      bad_bytes; /* bytes that are not UTF-8, and files with such */
  const char *json_path, *utf16_path, *bad_path; /* the first of each; valid with the corpus */
  uint64_t bad_offset;                           /* of the first such byte in bad_path */
} corpus_notes;

typedef struct mo_corpus mo_corpus;

/* The options' strings stay borrowed. */
mousse_status corpus_open(mo_corpus **corpus, const char *const *inputs, size_t count,
                          const corpus_options *options, mo_error *error);
/* Of files that were listed already. The list stays borrowed, too. */
mousse_status corpus_open_files(mo_corpus **corpus, const file_list *files,
                                const corpus_options *options, mo_error *error);
void corpus_close(mo_corpus *corpus); /* accepts NULL */

mousse_status corpus_next(mo_corpus *corpus, corpus_piece *piece, mo_error *error);

/* Of the input files' own bytes: how many there are, and how many have been read. */
uint64_t corpus_bytes(const mo_corpus *corpus);
uint64_t corpus_consumed(const mo_corpus *corpus);

corpus_notes corpus_get_notes(const mo_corpus *corpus);

/* source.c: one input file as a sequence of parts of documents. */
typedef struct mo_source mo_source;

mousse_status source_open(mo_source **source, const char *path, const corpus_options *options,
                          mo_error *error);
void source_close(mo_source *source);        /* accepts NULL */
bool source_is_json_lines(const char *path); /* by its name */

/* Appends the next bytes; *document_ended: the document is complete with them; *file_ended:
 * there is nothing more (and nothing was appended). */
mousse_status source_more(mo_source *source, mo_buffer *text, bool *document_ended,
                          bool *file_ended, mo_error *error);
uint64_t source_consumed(const mo_source *source);
/* Adds what is odd about it, once it has ended. path: as notes shall name it. */
void source_note(const mo_source *source, const char *path, corpus_notes *notes);

/* What a line of prompt and completion is, told by the length of the prompt within the text. */
size_t source_prompt(const mo_source *source);

/* The same of one line in memory; *prompt: that length. */
mousse_status source_parse_pair(const char *path, uint64_t line, const char *data, size_t size,
                                const char *field, const char *completion, mo_buffer *text,
                                size_t *prompt, mo_error *error);
/* The messages of the last line, and of one line in memory. */
const message_list *source_messages(const mo_source *source);
mousse_status source_parse_messages(const char *path, uint64_t line, const char *data,
                                    size_t size, const char *field, mo_buffer *text,
                                    message_list *list, mo_error *error);
/* The text of one JSON line. */
mousse_status source_parse_line(const char *path, uint64_t line, const char *data, size_t size,
                                const char *field, mo_buffer *text, mo_error *error);

#endif
