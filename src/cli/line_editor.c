/* line_editor.c - one line typed at a terminal. */
#include "cli/line_editor.h"

#include "base/memory.h"
#include "base/wording.h"
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Keys that are sequences of bytes; others are themselves. */
enum { KEY_UP = 1000, KEY_DOWN, KEY_RIGHT, KEY_LEFT, KEY_HOME, KEY_END, KEY_DELETE, KEY_NONE };
enum { CONTROL_A = 1, CONTROL_C = 3, CONTROL_D = 4, CONTROL_E = 5, BACKSPACE = 8 };
enum { CONTROL_K = 11, CONTROL_U = 21, CONTROL_W = 23, ESCAPE = 27, RUBOUT = 127 };
enum { INPUT_END = -1 };

/* A signal that ends the program while a line is typed must leave a usable terminal behind. */
static struct termios cooked;
static const int deadly[] = {SIGTERM, SIGHUP, SIGQUIT};

static void on_deadly(int number)
{
  tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
  signal(number, SIG_DFL);
  raise(number);
}

static bool make_raw(void)
{
  if (tcgetattr(STDIN_FILENO, &cooked) != 0) return false;
  struct termios raw = cooked;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) signal(deadly[i], on_deadly);
  return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

static void make_cooked(void)
{
  tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
  for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) signal(deadly[i], SIG_DFL);
}

static int read_byte(void)
{
  unsigned char byte = 0;
  ssize_t count = 0;
  do count = read(STDIN_FILENO, &byte, 1);
  while (count < 0 && errno == EINTR);
  return count == 1 ? byte : INPUT_END;
}

/* ESC [ A, ESC [ 3 ~, ESC O H and their like. */
static int read_sequence(void)
{
  static const struct {
    char final;
    int number, key;
  } keys[] = {{'A', 0, KEY_UP},   {'B', 0, KEY_DOWN},   {'C', 0, KEY_RIGHT}, {'D', 0, KEY_LEFT},
              {'H', 0, KEY_HOME}, {'F', 0, KEY_END},    {'~', 1, KEY_HOME},  {'~', 7, KEY_HOME},
              {'~', 4, KEY_END},  {'~', 3, KEY_DELETE}, {'~', 8, KEY_END}};
  int number = 0;
  int byte = read_byte();
  if (byte != '[' && byte != 'O') return byte == INPUT_END ? INPUT_END : KEY_NONE;
  while (((byte = read_byte()) >= '0' && byte <= '9') || byte == ';')
    number = byte == ';' ? 0 : (10 * number + byte - '0') % 1000;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (keys[i].final == byte && (byte != '~' || keys[i].number == number)) return keys[i].key;
  return byte == INPUT_END ? INPUT_END : KEY_NONE;
}

static size_t before(const line_editor *e, size_t at)
{
  do at--;
  /* cppcheck-suppress arrayIndexOutOfBoundsCond - at is at most the length, less than the size */
  while (at > 0 && ((unsigned char)e->text[at] & 0xC0) == 0x80);
  return at;
}

static void insert(line_editor *e, char byte)
{
  if (e->length + 1 >= sizeof e->text) {
    e->is_cut = true;
    return;
  }
  memmove(e->text + e->cursor + 1, e->text + e->cursor, e->length - e->cursor + 1);
  e->text[e->cursor++] = byte;
  e->length++;
}

static void cut(line_editor *e, size_t from, size_t to)
{
  memmove(e->text + from, e->text + to, e->length - to + 1);
  e->length -= to - from;
  e->cursor = from;
}

static size_t word_before(const line_editor *e)
{
  size_t at = e->cursor;
  while (at > 0 && e->text[at - 1] == ' ') at--;
  while (at > 0 && e->text[at - 1] != ' ') at--;
  return at;
}

static void recall(line_editor *e, int step)
{
  if ((step < 0 && e->history_at == 0) || (step > 0 && e->history_at >= e->history_count))
    return;
  e->history_at = step < 0 ? e->history_at - 1 : e->history_at + 1;
  const char *line = e->history_at < e->history_count ? e->history[e->history_at] : "";
  snprintf(e->text, sizeof e->text, "%s", line);
  e->length = e->cursor = strlen(e->text);
}

/* The part of the line around the cursor that fits, in one row. */
static void draw(const line_editor *e, const char *prompt)
{
  const size_t columns = terminal_columns(stderr), taken = mo_columns(prompt) + 1;
  const size_t room = columns > taken + 8 ? columns - taken : 8;
  size_t first = e->cursor, left = 0, used = 0;
  while (first > 0) {
    const size_t previous = before(e, first);
    if (left + mo_character_columns(e->text + previous) >= room) break;
    left += mo_character_columns(e->text + previous);
    first = previous;
  }
  fprintf(stderr, "\r\033[K%s", prompt);
  for (const char *c = e->text + first; *c != '\0'; c += mo_character_bytes(c)) {
    used += mo_character_columns(c);
    if (used > room) break;
    terminal_print(stderr, c, mo_character_bytes(c));
  }
  fprintf(stderr, "\r\033[%zuC", mo_columns(prompt) + left);
  fflush(stderr);
}

/* Everything but the keys that end a line. */
static void edit(line_editor *e, int key)
{
  if (key == KEY_LEFT && e->cursor > 0)
    e->cursor = before(e, e->cursor);
  else if (key == KEY_RIGHT && e->cursor < e->length)
    e->cursor += mo_character_bytes(e->text + e->cursor);
  else if (key == KEY_HOME || key == CONTROL_A)
    e->cursor = 0;
  else if (key == KEY_END || key == CONTROL_E)
    e->cursor = e->length;
  else if (key == KEY_UP || key == KEY_DOWN)
    recall(e, key == KEY_UP ? -1 : 1);
  else if ((key == BACKSPACE || key == RUBOUT) && e->cursor > 0)
    cut(e, before(e, e->cursor), e->cursor);
  else if ((key == KEY_DELETE || key == CONTROL_D) && e->cursor < e->length)
    cut(e, e->cursor, e->cursor + mo_character_bytes(e->text + e->cursor));
  else if (key == CONTROL_K)
    cut(e, e->cursor, e->length);
  else if (key == CONTROL_U)
    cut(e, 0, e->cursor);
  else if (key == CONTROL_W)
    cut(e, word_before(e), e->cursor);
  else if (key == CONTROL_C)
    cut(e, 0, e->length);
  else if ((key >= ' ' && key < RUBOUT) || (key > RUBOUT && key < 256) || key == '\t')
    insert(e, (char)key);
}

static void remember(line_editor *e)
{
  if (e->length == 0) return;
  char *copy = mo_allocate(NULL, e->length + 1);
  if (copy == NULL) return;
  memcpy(copy, e->text, e->length + 1);
  if (e->history_count == EDITOR_HISTORY) {
    mo_release(NULL, e->history[0], strlen(e->history[0]) + 1);
    memmove(e->history, e->history + 1, (EDITOR_HISTORY - 1) * sizeof *e->history);
    e->history_count--;
  }
  e->history[e->history_count++] = copy;
}

static bool read_typed(line_editor *e, const char *prompt)
{
  int key = 0;
  draw(e, prompt);
  while ((key = read_byte()) != '\r' && key != '\n' && key != INPUT_END) {
    if (key == CONTROL_D && e->length == 0) break;
    if (key == ESCAPE) key = read_sequence();
    edit(e, key);
    draw(e, prompt);
  }
  fputs("\r\n", stderr);
  return key == '\r' || key == '\n';
}

static bool read_piped(line_editor *e)
{
  int key = 0;
  while ((key = getchar()) != EOF && key != '\n') {
    e->cursor = e->length;
    insert(e, (char)key);
  }
  return key == '\n' || e->length > 0;
}

bool line_editor_read(line_editor *e, const char *prompt)
{
  e->length = e->cursor = 0;
  e->text[0] = '\0';
  e->is_cut = false;
  e->history_at = e->history_count;
  if (!terminal_is(stdin) || !make_raw()) return read_piped(e);
  const bool typed = read_typed(e, prompt);
  make_cooked();
  if (typed) remember(e);
  return typed;
}

void line_editor_close(line_editor *e)
{
  for (size_t i = 0; i < e->history_count; i++)
    mo_release(NULL, e->history[i], strlen(e->history[i]) + 1);
  e->history_count = 0;
}
