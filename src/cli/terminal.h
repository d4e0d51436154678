/* terminal.h - the standard streams as people see them: terminals or not, how wide, in colour
 * or not; and text from outside, without what would steer a terminal. */
#ifndef MOUSSE_CLI_TERMINAL_H
#define MOUSSE_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Opens /dev/null as descriptor 0, 1 or 2 where that is closed, so that no file of ours becomes
 * standard output. To be called first of all. */
void terminal_open_descriptors(void);

bool terminal_is(FILE *stream);
size_t terminal_columns(FILE *stream); /* 80 for what is not a terminal */
/* Whether somebody said how wide it is: the terminal, or COLUMNS. What goes to another program
 * or into a file need not fit anything. */
bool terminal_has_columns(FILE *stream);
size_t terminal_rows(FILE *stream); /* 24 for what is not a terminal */
bool terminal_unicode(void);        /* by LC_ALL, LC_CTYPE, LANG */

typedef enum terminal_style {
  STYLE_NONE,
  STYLE_BOLD,
  STYLE_DIM,
  STYLE_RED,
  STYLE_GREEN,
  STYLE_YELLOW
} terminal_style;
/* What switches to a style: "" for what is not a terminal, a dumb one, or with NO_COLOR. */
const char *terminal_code(FILE *stream, terminal_style style);

/* "mousse: note: ..." and "mousse: ..." on standard error. */
void terminal_note(const char *text);
void terminal_error(const char *text);

/* Bytes that arrive in pieces, such as the tokens of a text. To a terminal only whole
 * characters go, and no control but line ends (\r\n is one) and tabs; elsewhere all bytes as they
 * are. */
typedef struct terminal_text {
  FILE *stream;
  char held[8]; /* the beginning of a character */
  size_t held_count;
  bool returned; /* a \r was the last, and what follows says what it is */
} terminal_text;
void terminal_put(terminal_text *text, const char *bytes, size_t count);
void terminal_put_end(terminal_text *text);
/* One whole text for people, cleaned wherever it goes. */
void terminal_print(FILE *stream, const char *text, size_t length);

/* Words in lines of at most `width` columns; the text begins at `column`, where further lines
 * begin, too. */
void terminal_wrap(FILE *stream, const char *text, size_t column, size_t width);
/* "model      what it is": long texts go on below their beginning, but in one line in a log. */
void terminal_label(FILE *stream, const char *label, const char *text);

/* The text as one word of a shell's command line, in quotes where it needs them. */
const char *terminal_quoted(const char *text, char *quoted, size_t capacity);

#endif
