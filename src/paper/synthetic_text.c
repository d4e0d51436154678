/* synthetic_text.c - sentences of the form "the old sailor sees a ship near the harbour ."
 *
 * or of the form "is the lantern with the quiet judge? no: at noon it was lost by a farmer."
 *
 * Words are drawn with falling frequency, and what a verb acts on depends on the verb, so that
 * there is something to learn at several lengths.
 */
#include "paper/synthetic_text.h"

#include "base/file.h"
#include "base/random.h"

#include <stdio.h>
#include <string.h>

static const char *const articles[] = {"the", "a", "every", "no", "this"};
static const char *const adjectives[] = {"old",    "young", "quiet",  "tall",
                                         "bright", "small", "clever", "tired",
                                         "green",  "heavy", "early",  "strange"};
static const char *const people[] = {"sailor",  "teacher", "doctor", "farmer", "painter",
                                     "captain", "child",   "queen",  "judge",  "singer"};
static const char *const verbs[] = {"sees",  "finds", "carries", "follows", "remembers",
                                    "sells", "opens", "draws",   "loses",   "repairs"};
static const char *const things[] = {"ship",   "letter", "lantern", "garden",
                                     "bridge", "mirror", "basket",  "clock",
                                     "window", "boat",   "road",    "song"};
static const char *const places[] = {"near the harbour", "in the market", "behind the church",
                                     "after the storm",  "at noon",       "without a word"};

enum { SEED = 20260310, PARAGRAPH = 6 };
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Low indices are likelier: the smaller of two draws. */
static size_t draw(uint64_t sentence, uint64_t place, size_t count)
{
  const uint64_t a = mo_random_below(SEED, place, 2 * sentence, count);
  const uint64_t b = mo_random_below(SEED, place, 2 * sentence + 1, count);
  return (size_t)(a < b ? a : b);
}

static size_t sentence(uint64_t number, char *text, size_t capacity)
{
  const size_t verb = draw(number, 3, COUNT(verbs));
  const size_t thing = (2 * verb + draw(number, 5, 4)) % COUNT(things);
  const int length = snprintf(
      text, capacity, "%s %s %s %s %s %s %s.%s", articles[draw(number, 0, COUNT(articles))],
      adjectives[draw(number, 1, COUNT(adjectives))], people[draw(number, 2, COUNT(people))],
      verbs[verb], articles[draw(number, 4, COUNT(articles))], things[thing],
      places[(verb + draw(number, 6, 3)) % COUNT(places)],
      number % PARAGRAPH == PARAGRAPH - 1 ? "\n" : " ");
  return length > 0 ? (size_t)length : 0;
}

static size_t question(uint64_t number, char *text, size_t capacity)
{
  static const char *const answers[] = {"no", "yes", "perhaps"};
  static const char *const deeds[] = {"lost", "sold", "found", "drawn", "repaired", "opened"};
  const size_t thing = draw(number, 10, COUNT(things)), deed = draw(number, 11, COUNT(deeds));
  const int length = snprintf(
      text, capacity, "is the %s with the %s %s? %s: %s it was %s by %s %s.\n", things[thing],
      adjectives[draw(number, 12, COUNT(adjectives))], people[draw(number, 13, COUNT(people))],
      answers[draw(number, 14, COUNT(answers))],
      places[(thing + draw(number, 15, 2)) % COUNT(places)], deeds[deed],
      articles[draw(number, 16, COUNT(articles))],
      people[(deed + draw(number, 17, 3)) % COUNT(people)]);
  return length > 0 ? (size_t)length : 0;
}

mousse_status synthetic_text_write(const char *path, text_kind kind, size_t bytes,
                                   mo_error *error)
{
  size_t (*const make)(uint64_t, char *, size_t) = kind == TEXT_TALES ? sentence : question;
  mo_writer file;
  mousse_status status = mo_writer_open(&file, path, error);
  if (status != MOUSSE_OK) return status;
  for (uint64_t i = 0; status == MOUSSE_OK && file.written < bytes; i++) {
    char text[256];
    status = mo_writer_write(&file, text, make(i, text, sizeof text), error);
  }
  if (status == MOUSSE_OK) return mo_writer_commit(&file, error);
  mo_writer_abandon(&file);
  return status;
}
