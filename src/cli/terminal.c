/* terminal.c - the standard streams as people see them. */
#include "cli/terminal.h"

#include "base/wording.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LONGEST_LINE = 8192 };

void terminal_open_descriptors(void)
{
  for (int descriptor = 0; descriptor <= 2; descriptor++)
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) _exit(1);
}

bool terminal_is(FILE *stream)
{
  return isatty(fileno(stream)) == 1;
}

/* 0: nobody says. */
static size_t told_columns(FILE *stream)
{
  struct winsize size = {0};
  const char *told = getenv("COLUMNS");
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const long columns = told != NULL ? strtol(told, NULL, 10) : 0;
  return columns > 0 && columns < 10000 ? (size_t)columns : 0;
}

bool terminal_has_columns(FILE *stream)
{
  return terminal_is(stream) || told_columns(stream) > 0;
}

size_t terminal_columns(FILE *stream)
{
  const size_t columns = told_columns(stream);
  return columns > 0 ? columns : 80;
}

size_t terminal_rows(FILE *stream)
{
  struct winsize size = {0};
  const bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return known ? size.ws_row : 24;
}

bool terminal_unicode(void)
{
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (value == NULL || value[0] == '\0') continue;
    return strstr(value, "UTF-8") != NULL || strstr(value, "utf8") != NULL ||
           strstr(value, "UTF8") != NULL || strstr(value, "utf-8") != NULL;
  }
  return false;
}

/* https://no-color.org: any value but an empty one means no colour. */
static bool has_colour(FILE *stream)
{
  const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
  if (no_colour != NULL && no_colour[0] != '\0') return false;
  return terminal_is(stream) && kind != NULL && kind[0] != '\0' && strcmp(kind, "dumb") != 0;
}

const char *terminal_code(FILE *stream, terminal_style style)
{
  static const char *const codes[] = {"\033[0m",  "\033[1m",  "\033[2m",
                                      "\033[31m", "\033[32m", "\033[33m"};
  return has_colour(stream) ? codes[style] : "";
}

static void say(terminal_style style, const char *head, const char *text)
{
  char line[1024];
  snprintf(line, sizeof line, "%s", text);
  mo_clean_line(line);
  fprintf(stderr, "%s%s%s %s\n", terminal_code(stderr, style), head,
          terminal_code(stderr, STYLE_NONE), line);
}

void terminal_note(const char *text)
{
  say(STYLE_YELLOW, "mousse: note:", text);
}

void terminal_error(const char *text)
{
  say(STYLE_RED, "mousse:", text);
}

static void put_character(FILE *stream, const char *c, size_t bytes)
{
  if (mo_is_control(c) && *c != '\n' && *c != '\t')
    fputc('?', stream);
  else
    fwrite(c, 1, bytes, stream);
}

/* How many bytes the character that starts with this one has. */
static size_t promised_bytes(unsigned char first)
{
  return first < 0xC2 || first > 0xF4 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

static void put_held(terminal_text *text)
{
  text->held[text->held_count] = '\0';
  for (size_t i = 0; i < text->held_count; i += mo_character_bytes(text->held + i))
    put_character(text->stream, text->held + i, mo_character_bytes(text->held + i));
  text->held_count = 0;
}

static void put_byte(terminal_text *text, char byte)
{
  const bool continues = ((unsigned char)byte & 0xC0) == 0x80;
  if (!continues) put_held(text);
  if (text->returned && byte != '\n') fputc('?', text->stream);
  text->returned = byte == '\r';
  if (text->returned) return;
  text->held[text->held_count++] = byte;
  if (text->held_count >= promised_bytes((unsigned char)text->held[0])) put_held(text);
}

void terminal_put(terminal_text *text, const char *bytes, size_t count)
{
  if (count == 0) return; /* bytes may be NULL then */
  if (!terminal_is(text->stream))
    fwrite(bytes, 1, count, text->stream);
  else
    for (size_t i = 0; i < count; i++) put_byte(text, bytes[i]);
}

void terminal_put_end(terminal_text *text)
{
  put_held(text);
  if (text->returned) fputc('?', text->stream);
  text->returned = false;
}

void terminal_print(FILE *stream, const char *text, size_t length)
{
  terminal_text whole = {.stream = stream};
  for (size_t i = 0; i < length; i++) put_byte(&whole, text[i]);
  terminal_put_end(&whole);
}

void terminal_wrap(FILE *stream, const char *text, size_t column, size_t width)
{
  const size_t indent = column;
  bool begins = true;
  for (text += strspn(text, " \n"); *text != '\0'; text += strspn(text, " \n")) {
    const int bytes = (int)strcspn(text, " \n");
    char word[1024];
    snprintf(word, sizeof word, "%.*s", bytes, text);
    const size_t wide = mo_columns(word);
    if (!begins && column + 1 + wide > width) {
      fprintf(stream, "\n%*s", (int)indent, "");
      column = indent;
      begins = true;
    }
    column += wide + !begins;
    fprintf(stream, "%s%.*s", begins ? "" : " ", bytes, text);
    begins = false;
    text += bytes;
  }
  fputc('\n', stream);
}

void terminal_label(FILE *stream, const char *label, const char *text)
{
  enum { LABEL = 11 };
  char line[LONGEST_LINE];
  const size_t columns = terminal_columns(stream);
  snprintf(line, sizeof line, "%s", text);
  mo_clean_line(line);
  fprintf(stream, "%-*s", LABEL, label);
  if ((stream == stdout || terminal_is(stream)) && columns > 2 * LABEL)
    terminal_wrap(stream, line, LABEL, columns - 1);
  else
    fprintf(stream, "%s\n", line);
}

const char *terminal_quoted(const char *text, char *quoted, size_t capacity)
{
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-./=:,+@%";
  size_t used = 0;
  if (text[0] != '\0' && strspn(text, plain) == strlen(text)) {
    snprintf(quoted, capacity, "%s", text);
    return quoted;
  }
  quoted[used++] = '\'';
  for (const char *c = text; *c != '\0' && used + 6 < capacity; c++) {
    if (*c == '\'')
      used += (size_t)snprintf(quoted + used, capacity - used, "'\\''");
    else
      quoted[used++] = *c;
  }
  quoted[used++] = '\'';
  quoted[used] = '\0';
  mo_clean_line(quoted);
  return quoted;
}
