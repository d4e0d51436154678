/* bench_subjects.c - which optimizers are measured, by default and by a list.
 *
 * A list is "entry,entry,...", an entry "algorithm" for all rows that it has by default, or
 * "algorithm:option=value:..." for one row with these options.
 */
#include "bench/bench_subjects.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* What a quick run measures: the ones that most people choose among. */
static const char *const common[] = {"mousse",  "muon",  "normuon", "soap",
                                     "shampoo", "adamw", "lion",    "sgd"};

/* Rows beside that of the defaults: by options that change what a step costs. */
static const struct {
  const char *algorithm, *options;
} variants[] = {
    {"polargrad", "newton_schulz=jordan5"},
};

typedef struct subject_listing {
  bench_subject *rows;
  size_t count;
  mo_error *error;
} subject_listing;

static const mousse_option *find_option(const char *algorithm, const char *name)
{
  const mousse_option *option = NULL;
  for (size_t i = 0; (option = mousse_algorithm_option(algorithm, i)) != NULL; i++)
    if (strcmp(option->name, name) == 0) return option;
  return NULL;
}

static bool is_common(const char *name)
{
  for (size_t i = 0; i < sizeof common / sizeof *common; i++)
    if (strcmp(common[i], name) == 0) return true;
  return false;
}

static bench_subject as_it_comes(const char *algorithm)
{
  bench_subject s = {.algorithm = algorithm,
                     .sides = "none",
                     .chooses_sides = find_option(algorithm, "sides") != NULL,
                     .refreshes = find_option(algorithm, "refresh_every") != NULL,
                     .has_root = find_option(algorithm, "refresh") != NULL,
                     .spares_long = find_option(algorithm, "refresh_long") != NULL,
                     .orthogonalises = find_option(algorithm, "newton_schulz") != NULL};
  if (s.refreshes) s.sides = "both";
  return s;
}

static mousse_status too_long(mo_error *error, const char *entry)
{
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "'%.60s' is too long for an optimizer and its options: %d characters at most",
                 entry, BENCH_OPTIONS_TEXT - 1);
}

/* Text up to the separator; `*text` moves behind it, and to NULL at the end. */
static mousse_status next_part(const char **text, char separator, char *part, mo_error *error)
{
  const char *end = strchr(*text, separator);
  const size_t length = end != NULL ? (size_t)(end - *text) : strlen(*text);
  if (length >= BENCH_OPTIONS_TEXT) return too_long(error, *text);
  memcpy(part, *text, length);
  part[length] = '\0';
  *text = end != NULL ? end + 1 : NULL;
  return MOUSSE_OK;
}

static mousse_status set_options(mousse_optimizer *opt, const char *options, mo_error *error)
{
  const char *rest = options[0] != '\0' ? options : NULL;
  while (rest != NULL) {
    char part[BENCH_OPTIONS_TEXT];
    MO_TRY(next_part(&rest, ':', part, error));
    char *value = strchr(part, '=');
    if (value == NULL)
      return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                     "'%s' is not an option: write name=value, as in polargrad:%s", part,
                     variants[0].options);
    *value++ = '\0';
    const mousse_status status = mousse_set_text(opt, 0, part, value);
    if (status != MOUSSE_OK) return mo_fail(error, status, "%s", mousse_error(opt));
  }
  return MOUSSE_OK;
}

mousse_status bench_subject_create(const bench_subject *s, int threads, mousse_optimizer **opt,
                                   mo_error *error)
{
  const mousse_env env = {.struct_size = sizeof env, .threads = threads};
  int group = 0;
  mousse_status status = mousse_create(&env, opt);
  if (status != MOUSSE_OK) return mo_fail(error, status, "%s", mousse_status_text(status));
  status = mousse_add_group(*opt, s->algorithm, &group);
  if (status == MOUSSE_OK && s->chooses_sides)
    status = mousse_set_text(*opt, group, "sides", s->sides);
  if (status == MOUSSE_OK && s->refreshes)
    status = mousse_set(*opt, group, "refresh_every", BENCH_REFRESH_EVERY);
  if (status != MOUSSE_OK) return mo_fail(error, status, "%s", mousse_error(*opt));
  return set_options(*opt, s->options, error);
}

static mousse_status add_row(subject_listing *l, const bench_subject *s)
{
  mousse_optimizer *opt = NULL;
  if (l->count == BENCH_MOST_OPTIMIZERS)
    return mo_fail(l->error, MOUSSE_INVALID_ARGUMENT, "more than %d optimizers to measure",
                   (int)BENCH_MOST_OPTIMIZERS);
  const mousse_status status = bench_subject_create(s, 1, &opt, l->error);
  mousse_destroy(opt);
  if (status == MOUSSE_OK) l->rows[l->count++] = *s;
  return status;
}

/* With both sides and with the small one where they can be chosen, and its variants. */
static mousse_status add_default_rows(subject_listing *l, const char *algorithm)
{
  bench_subject s = as_it_comes(algorithm);
  MO_TRY(add_row(l, &s));
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    if (strcmp(variants[i].algorithm, algorithm) != 0) continue;
    bench_subject variant = s;
    snprintf(variant.options, sizeof variant.options, "%s", variants[i].options);
    MO_TRY(add_row(l, &variant));
  }
  s.sides = "small";
  return s.chooses_sides ? add_row(l, &s) : MOUSSE_OK;
}

/* The algorithm's own name, or why there is none to measure. */
static mousse_status find_algorithm(const char *word, const char **name, mo_error *error)
{
  mo_suggestion near = mo_suggest(word);
  for (size_t i = 0; (*name = mousse_algorithm_name(i)) != NULL; i++) {
    if (strcmp(*name, word) == 0) break;
    mo_suggest_from(&near, *name);
  }
  if (*name == NULL && near.best != NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no optimizer '%s'; did you mean '%s'?",
                   word, near.best);
  if (*name == NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                   "there is no optimizer '%s'; 'mousse help optimizers' lists them", word);
  if (mousse_algorithm_input(*name, 0) != NULL)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "'%s' needs more than gradients, which is not measured here", word);
  return MOUSSE_OK;
}

/* The algorithm's name for the sides that "sides=..." chooses; NULL for anything else. */
static const char *chosen_sides(const char *algorithm, const char *part)
{
  static const char key[] = "sides=";
  const mousse_option *option = find_option(algorithm, "sides");
  if (option == NULL || strncmp(part, key, strlen(key)) != 0) return NULL;
  for (size_t i = 0; option->choices[i] != NULL; i++)
    if (strcmp(option->choices[i], part + strlen(key)) == 0) return option->choices[i];
  return NULL;
}

/* The sides have a column of their own; how often there is a refresh is the measurement's. */
static mousse_status add_option(bench_subject *s, const char *part, mo_error *error)
{
  const char *sides = chosen_sides(s->algorithm, part);
  const size_t used = strlen(s->options);
  if (strncmp(part, "refresh_every=", 14) == 0 || strncmp(part, "stagger=", 8) == 0)
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "'%s' cannot be set here: refreshes are measured separately and spread over %d steps",
        part, (int)BENCH_REFRESH_EVERY);
  if (sides != NULL)
    s->sides = sides;
  else
    snprintf(s->options + used, sizeof s->options - used, "%s%s", used > 0 ? ":" : "", part);
  return MOUSSE_OK;
}

static mousse_status add_entry(subject_listing *l, const char *entry)
{
  char part[BENCH_OPTIONS_TEXT];
  const char *name = NULL, *rest = entry;
  MO_TRY(next_part(&rest, ':', part, l->error));
  MO_TRY(find_algorithm(part, &name, l->error));
  if (rest == NULL) return add_default_rows(l, name);
  bench_subject s = as_it_comes(name);
  while (rest != NULL) {
    MO_TRY(next_part(&rest, ':', part, l->error));
    MO_TRY(add_option(&s, part, l->error));
  }
  return add_row(l, &s);
}

static mousse_status add_list(subject_listing *l, const char *entries)
{
  while (entries != NULL) {
    char entry[BENCH_OPTIONS_TEXT];
    MO_TRY(next_part(&entries, ',', entry, l->error));
    MO_TRY(add_entry(l, entry));
  }
  return MOUSSE_OK;
}

mousse_status bench_list_subjects(const bench_options *options, bench_subject *list,
                                  size_t *count, mo_error *error)
{
  subject_listing l = {list, 0, error};
  const char *name = NULL;
  if (options->optimizers != NULL) MO_TRY(add_list(&l, options->optimizers));
  for (size_t i = 0; options->optimizers == NULL && (name = mousse_algorithm_name(i)) != NULL;
       i++)
    if (mousse_algorithm_input(name, 0) == NULL && (!options->quick || is_common(name)))
      MO_TRY(add_default_rows(&l, name));
  *count = l.count;
  return MOUSSE_OK;
}
