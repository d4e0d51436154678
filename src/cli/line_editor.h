/* line_editor.h - one line typed at a terminal, with editing and history.
 *
 *     arrows, Home, End, Delete, Backspace; Ctrl-A, E start and end; Ctrl-K, U, W cut to the end,
 *     to the start, a word; up and down through earlier lines; Ctrl-C discards the line;
 *     Ctrl-D on an empty line ends the input
 *
 * A line longer than the terminal is scrolled, never wrapped. What is not a terminal is read
 * line by line, without a prompt.
 */
#ifndef MOUSSE_CLI_LINE_EDITOR_H
#define MOUSSE_CLI_LINE_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

enum { EDITOR_LINE = 16384, EDITOR_HISTORY = 200 };

typedef struct line_editor {
  char text[EDITOR_LINE]; /* the line, without its end */
  bool is_cut;            /* it was longer than that */
  size_t length, cursor;  /* bytes */
  char *history[EDITOR_HISTORY];
  size_t history_count, history_at;
} line_editor;

/* false: the input has ended. Earlier lines come with up and down. */
bool line_editor_read(line_editor *editor, const char *prompt);
void line_editor_close(line_editor *editor);

#endif
