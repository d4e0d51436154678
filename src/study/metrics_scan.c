/* metrics_scan.c - the line of a step in exactly the form in which a run writes it, read without
 * a JSON tree: a page on a million steps waits for this.
 *
 *     {"step": N, "tokens": N, "loss": x, "lr": x, "grad_norm": x, "seconds": x
 *      [, "bits_per_byte": x][, "memory": x][, "skipped": true]}
 *
 * Whatever looks different, a negative number or one of many digits too, is left to the reader
 * that knows all of JSON. A decimal of at most 2^53 with a power of ten up to 22 is one exact
 * product or quotient, so both readers give the same bits.
 */
#include "study/metrics_line.h"

#include <math.h>
#include <string.h>

typedef struct scan {
  const char *at, *end;
} scan;

static bool take_word(scan *s, const char *word)
{
  const size_t length = strlen(word);
  if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0) return false;
  s->at += length;
  return true;
}

static bool is_digit(const scan *s)
{
  return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

/* Digits after those of *value; false when there are none or too many. */
static bool take_digits(scan *s, uint64_t *value, int *count)
{
  const char *start = s->at;
  for (; is_digit(s) && *value < UINT64_C(100000000000000000); s->at++)
    *value = 10 * *value + (uint64_t)(*s->at - '0');
  *count = (int)(s->at - start);
  return *count > 0 && !is_digit(s);
}

/* A whole number without a leading zero, as JSON wants it. */
static bool take_whole(scan *s, uint64_t *value)
{
  int digits = 0;
  const bool zero = s->at < s->end && *s->at == '0';
  *value = 0;
  return take_digits(s, value, &digits) && (!zero || digits == 1);
}

static bool take_exponent(scan *s, int *exponent)
{
  uint64_t value = 0;
  int digits = 0;
  const bool negative = take_word(s, "-");
  if (!negative) take_word(s, "+");
  if (!take_digits(s, &value, &digits) || value > 400) return false;
  *exponent += negative ? -(int)value : (int)value;
  return true;
}

static bool take_number(scan *s, double *value)
{
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  uint64_t digits = 0;
  int decimals = 0, exponent = 0;
  *value = NAN;
  if (take_word(s, "null")) return true;
  if (!take_whole(s, &digits)) return false;
  if (take_word(s, ".") && !take_digits(s, &digits, &decimals)) return false;
  if ((take_word(s, "e") || take_word(s, "E")) && !take_exponent(s, &exponent)) return false;
  exponent -= decimals;
  if (digits > UINT64_C(1) << 53 || exponent < -22 || exponent > 22) return false;
  *value = exponent < 0 ? (double)digits / tens[-exponent] : (double)digits * tens[exponent];
  return true;
}

static bool take_rest(scan *s, metrics_line *line)
{
  double bits = NAN;
  if (take_word(s, ", \"bits_per_byte\": ") && !take_number(s, &bits)) return false;
  if (take_word(s, ", \"memory\": ") && !take_number(s, &line->memory)) return false;
  line->skipped = take_word(s, ", \"skipped\": true");
  if (!take_word(s, "}")) return false;
  take_word(s, "\n");
  return s->at == s->end;
}

bool metrics_scan(metrics_line *line, const char *text, size_t size)
{
  scan s = {text, text + size};
  *line = (metrics_line){.kind = METRICS_STEP, .bits_per_byte = NAN, .memory = NAN};
  return take_word(&s, "{\"step\": ") && take_whole(&s, &line->step) &&
         take_word(&s, ", \"tokens\": ") && take_whole(&s, &line->tokens) &&
         take_word(&s, ", \"loss\": ") && take_number(&s, &line->loss) &&
         take_word(&s, ", \"lr\": ") && take_number(&s, &line->lr) &&
         take_word(&s, ", \"grad_norm\": ") && take_number(&s, &line->grad_norm) &&
         take_word(&s, ", \"seconds\": ") && take_number(&s, &line->seconds) &&
         take_rest(&s, line);
}
