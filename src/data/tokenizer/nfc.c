/* nfc.c - text into normal form C, one stretch of characters that depend on each other at a
 * time: a character that never changes with what is before it, and those behind it that may. */
#include "data/tokenizer/nfc.h"

#include "base/utf8.h"

#include <stdlib.h>

typedef struct single {
  uint32_t from, to;
} single;

typedef struct composed_pair {
  uint32_t composed, first, second;
} composed_pair;

typedef struct class_range {
  uint32_t first, last;
  uint8_t combining;
} class_range;

static const single singles[] = {
#include "data/tokenizer/nfc_singles.def"
};
static const composed_pair pairs[] = {
#include "data/tokenizer/nfc_pairs.def"
};
static const uint16_t joined[] = {
#include "data/tokenizer/nfc_order.def"
};
static const class_range classes[] = {
#include "data/tokenizer/nfc_classes.def"
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Korean syllables are made of two or three letters by a formula. */
enum {
  SYLLABLES = 0xac00,
  LEADS = 0x1100,
  VOWELS = 0x1161,
  TAILS = 0x11a7,
  LEAD_COUNT = 19,
  VOWEL_COUNT = 21,
  TAIL_COUNT = 28,
  SYLLABLE_COUNT = LEAD_COUNT * VOWEL_COUNT * TAIL_COUNT,
  FIRST_MARK = 0x300, /* below it no character changes or moves */
};

static bool lies_in(uint32_t c, uint32_t first, uint32_t count)
{
  return c >= first && c - first < count;
}

/* The entry of a character that may change or move; NULL: it stands by itself. */
static const class_range *find_class(uint32_t c)
{
  size_t low = 0, high = COUNT(classes);
  if (c < FIRST_MARK) return NULL;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (classes[middle].last < c)
      low = middle + 1;
    else
      high = middle;
  }
  return low < COUNT(classes) && classes[low].first <= c ? &classes[low] : NULL;
}

static unsigned class_of(uint32_t c)
{
  const class_range *found = find_class(c);
  return found != NULL ? found->combining : 0;
}

/* The first place of a table, sorted by its first member, that is not below c. */
#define LOWER_BOUND(table, member, c, place)                                                   \
  do {                                                                                         \
    size_t high = COUNT(table);                                                                \
    for ((place) = 0; (place) < high;) {                                                       \
      const size_t middle = ((place) + high) / 2;                                              \
      if ((table)[middle].member < (c))                                                        \
        (place) = middle + 1;                                                                  \
      else                                                                                     \
        high = middle;                                                                         \
    }                                                                                          \
  } while (0)

static bool add_character(mo_id_list *list, uint32_t c)
{
  if (!mo_id_list_reserve(list, 1)) return false;
  list->ids[list->count++] = c;
  return true;
}

static bool decompose_syllable(mo_id_list *list, uint32_t c)
{
  const uint32_t number = c - SYLLABLES, tail = number % TAIL_COUNT;
  return add_character(list, LEADS + number / TAIL_COUNT / VOWEL_COUNT) &&
         add_character(list, VOWELS + number / TAIL_COUNT % VOWEL_COUNT) &&
         (tail == 0 || add_character(list, TAILS + tail));
}

/* Parts have parts, a few levels deep. */
static bool decompose(mo_id_list *list, uint32_t c)
{
  size_t at = 0;
  if (lies_in(c, SYLLABLES, SYLLABLE_COUNT)) return decompose_syllable(list, c);
  LOWER_BOUND(singles, from, c, at);
  if (at < COUNT(singles) && singles[at].from == c) return decompose(list, singles[at].to);
  LOWER_BOUND(pairs, composed, c, at);
  if (at < COUNT(pairs) && pairs[at].composed == c)
    return decompose(list, pairs[at].first) && decompose(list, pairs[at].second);
  return add_character(list, c);
}

static int compare_keys(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Sorts a run of marks by class, then by place: keys of class, place and character. */
static bool sort_marks(uint32_t *marks, size_t count)
{
  uint64_t few[32], *keys = few;
  if (count > 32) keys = mo_allocate(NULL, count * sizeof *keys);
  if (keys == NULL) return false;
  for (size_t i = 0; i < count; i++)
    keys[i] = (uint64_t)class_of(marks[i]) << 56 | (uint64_t)i << 24 | marks[i];
  qsort(keys, count, sizeof *keys, compare_keys);
  for (size_t i = 0; i < count; i++) marks[i] = (uint32_t)(keys[i] & 0xffffff);
  if (keys != few) mo_release(NULL, keys, count * sizeof *keys);
  return true;
}

static bool reorder(mo_id_list *list)
{
  for (size_t at = 0; at < list->count; at++) {
    size_t end = at;
    while (end < list->count && class_of(list->ids[end]) > 0) end++;
    if (end - at > 1 && !sort_marks(list->ids + at, end - at)) return false;
    if (end > at) at = end;
  }
  return true;
}

/* The character that two make; 0: none. */
static uint32_t join(uint32_t first, uint32_t second)
{
  if (lies_in(first, LEADS, LEAD_COUNT) && lies_in(second, VOWELS, VOWEL_COUNT))
    return SYLLABLES + ((first - LEADS) * VOWEL_COUNT + second - VOWELS) * TAIL_COUNT;
  if (lies_in(first, SYLLABLES, SYLLABLE_COUNT) && (first - SYLLABLES) % TAIL_COUNT == 0 &&
      lies_in(second, TAILS + 1, TAIL_COUNT - 1))
    return first + second - TAILS;
  size_t low = 0, high = COUNT(joined);
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const composed_pair *p = &pairs[joined[middle]];
    if (p->first == first && p->second == second) return p->composed;
    if (p->first < first || (p->first == first && p->second < second))
      low = middle + 1;
    else
      high = middle;
  }
  return 0;
}

/* A mark is blocked by one of its own or a higher class between it and the character. */
static void compose(mo_id_list *list)
{
  size_t kept = 0, starter = SIZE_MAX;
  unsigned last_class = 0;
  for (size_t i = 0; i < list->count; i++) {
    const uint32_t c = list->ids[i];
    const unsigned own = class_of(c);
    const bool near = starter != SIZE_MAX && (kept == starter + 1 || last_class < own);
    const uint32_t composed = near ? join(list->ids[starter], c) : 0;
    if (composed != 0) {
      list->ids[starter] = composed;
      continue;
    }
    if (own == 0) starter = kept;
    last_class = own;
    list->ids[kept++] = c;
  }
  list->count = kept;
}

/* The characters of one stretch. */
static bool add_stretch(mo_buffer *out, mo_id_list *list, const char *text, size_t length)
{
  bool fine = true;
  list->count = 0;
  for (size_t at = 0; at < length && fine; at += mo_utf8_sequence(text + at, length - at))
    fine = decompose(list, mo_utf8_character(text + at));
  if (!fine || !reorder(list)) return false;
  compose(list);
  for (size_t i = 0; i < list->count && fine; i++) {
    char bytes[4];
    fine = mo_buffer_add(out, bytes, mo_utf8_put(list->ids[i], bytes));
  }
  return fine;
}

/* Does the character at a place never change with what is before it? No, where there is none. */
static bool stands_alone(const char *text, size_t length, size_t *step)
{
  *step = mo_utf8_sequence(text, length);
  return *step > 0 && find_class(mo_utf8_character(text)) == NULL;
}

bool nfc_is_certain(const char *text, size_t length)
{
  size_t step = 0;
  for (size_t at = 0; at < length; at += step)
    if ((unsigned char)text[at] < 0x80)
      step = 1;
    else if (!stands_alone(text + at, length - at, &step))
      return false;
  return true;
}

size_t nfc_cut(const char *text, size_t length, size_t least, size_t most)
{
  size_t step = 0;
  for (size_t at = most; at >= least && at > 0; at--)
    if (at < length && !mo_utf8_continues(text[at]) &&
        stands_alone(text + at, length - at, &step))
      return at;
  return 0;
}

bool nfc_add(mo_buffer *out, const char *text, size_t length)
{
  mo_id_list list = {0};
  bool fine = true;
  size_t done = 0; /* what is before it is in out */
  for (size_t at = 0, start = 0, step = 0; at < length && fine; at += step) {
    if (stands_alone(text + at, length - at, &step)) {
      start = at;
      continue;
    }
    if (step == 0) { /* not UTF-8 */
      step = 1;
      start = at + 1;
      continue;
    }
    size_t end = at + step;
    while (!stands_alone(text + end, length - end, &step) && step > 0) end += step;
    fine = mo_buffer_add(out, text + done, start - done) &&
           add_stretch(out, &list, text + start, end - start);
    done = start = end;
    step = end - at;
  }
  if (fine && done < length) fine = mo_buffer_add(out, text + done, length - done);
  mo_id_list_close(&list);
  return fine;
}
