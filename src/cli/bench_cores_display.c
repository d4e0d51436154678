/* bench_cores_display.c - what mousse bench --cores prints. */
#include "cli/bench_cores_display.h"

#include "base/wording.h"
#include "cli/table.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

mousse_status cores_parse(const char *text, cores_options *options, mo_error *error)
{
  const char *rest = text;
  for (options->count = 0; options->count < CORES_MOST_COUNTS;) {
    char *end = NULL;
    const long cores = strtol(rest, &end, 10);
    if (end == rest || cores < 1 || cores > CORES_MOST) break;
    options->counts[options->count++] = (int)cores;
    if (*end == '\0') return MOUSSE_OK;
    if (*end != ',') break;
    rest = end + 1;
  }
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "cores is '%.60s', expected up to %d numbers from 1 to %d, such as 4,8,16",
                 text, CORES_MOST_COUNTS, CORES_MOST);
}

static mousse_status print_predictions(const cores_report *r, mo_error *error)
{
  static const table_column columns[] = {{.title = "cores"},
                                         {.title = "model"},
                                         {.title = "optimizer"},
                                         {.title = "whole step"},
                                         {.title = "efficiency: model"},
                                         {.title = "optimizer"},
                                         {.title = "whole step"}};
  cli_table table = {.columns = columns, .column_count = 7};
  for (size_t i = 0; i < r->count; i++) {
    table_cell(&table, "%d", r->parts[0].points[i].cores);
    for (size_t part = 0; part < CORES_PARTS; part++)
      table_cell(&table, "%.2f", r->parts[part].points[i].speedup);
    for (size_t part = 0; part < CORES_PARTS; part++)
      table_cell(&table, "%.0f%%", 100 * r->parts[part].points[i].efficiency);
  }
  return table_print(&table, error);
}

static mousse_status print_limits(const cores_part *part, const cores_point *point,
                                  mo_error *error)
{
  static const table_column columns[] = {{.title = "loop", .is_text = true},
                                         {.title = "waiting"},
                                         {.title = "serial"},
                                         {.title = "longest item, ms"}};
  cli_table table = {.columns = columns, .column_count = 4};
  printf("\n%s on %s: cores' time that is lost\n\n", part->name,
         MO_COUNT(point->cores, "core"));
  for (size_t i = 0; i < CORES_LIMITS && point->limits[i].name[0] != '\0'; i++) {
    const cores_limit *l = &point->limits[i];
    table_cell(&table, "%s", l->name);
    table_cell(&table, "%.1f%%", 100 * l->waiting);
    table_cell(&table, "%.1f%%", 100 * l->serial);
    table_cell(&table, "%.2f", 1e3 * l->longest);
  }
  return table_print(&table, error);
}

static mousse_status print_check(const cores_report *r, mo_error *error)
{
  static const table_column columns[] = {{.title = "part", .is_text = true},
                                         {.title = "one core, s"},
                                         {.title = "predicted"},
                                         {.title = "measured"}};
  cli_table table = {.columns = columns, .column_count = 4};
  printf("\nSpeed-up on this machine's %s\n\n", MO_COUNT(r->threads, "thread"));
  for (size_t part = 0; part < CORES_PARTS; part++) {
    table_cell(&table, "%s", r->parts[part].name);
    table_cell(&table, "%s", TABLE_NUMBER(r->parts[part].one_core));
    table_cell(&table, "%.2f", r->parts[part].predicted_here);
    table_cell(&table, "%.2f", r->parts[part].measured_here);
  }
  return table_print(&table, error);
}

/* The number of cores whose limits are shown: 32, or the largest. */
static size_t shown_point(const cores_report *r)
{
  for (size_t i = 0; i < r->count; i++)
    if (r->parts[0].points[i].cores == 32) return i;
  return r->count - 1;
}

mousse_status cores_print(const cores_report *r, mo_error *error)
{
  const size_t shown = shown_point(r);
  printf("%s, %s, Mousse; %s tokens per step in %s;\n"
         "predicted speed-up over one core from a step recorded on this machine\n\n",
         r->preset, MO_COUNT(r->layers, "layer"), MO_NUMBER((double)r->tokens),
         MO_COUNT(r->micro_batches, "micro-batch"));
  MO_TRY(print_predictions(r, error));
  MO_TRY(print_limits(&r->parts[0], &r->parts[0].points[shown], error));
  MO_TRY(print_limits(&r->parts[1], &r->parts[1].points[shown], error));
  MO_TRY(print_check(r, error));
  printf("\nmemory: %.1f GB/s for one thread, %.1f for %d; a loop costs %.1f us\n",
         1e-9 * r->stream_rate, 1e-9 * r->stream_rate_all, r->threads, 1e6 * r->fork);
  return MOUSSE_OK;
}

static json_t *limits_json(const cores_point *point)
{
  json_t *list = json_array();
  for (size_t i = 0; i < CORES_LIMITS && point->limits[i].name[0] != '\0'; i++) {
    const cores_limit *l = &point->limits[i];
    json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f}", "loop", l->name, "waiting",
                                          l->waiting, "serial", l->serial, "longest_item_s",
                                          l->longest));
  }
  return list;
}

static json_t *part_json(const cores_report *r, const cores_part *part)
{
  json_t *list = json_array();
  for (size_t i = 0; i < r->count; i++) {
    const cores_point *p = &part->points[i];
    json_array_append_new(list,
                          json_pack("{s:i, s:f, s:f, s:f, s:o}", "cores", p->cores, "seconds",
                                    p->seconds, "speedup", p->speedup, "efficiency",
                                    p->efficiency, "limits", limits_json(p)));
  }
  return json_pack("{s:f, s:f, s:f, s:o}", "one_core_s", part->one_core, "predicted_here",
                   part->predicted_here, "measured_here", part->measured_here, "cores", list);
}

void cores_print_json(const cores_report *r)
{
  json_t *root = json_pack("{s:s, s:I, s:I, s:I, s:i, s:f, s:f, s:f}", "preset", r->preset,
                           "layers", (json_int_t)r->layers, "tokens_per_step",
                           (json_int_t)r->tokens, "micro_batches", (json_int_t)r->micro_batches,
                           "threads_here", r->threads, "stream_bytes_per_s", r->stream_rate,
                           "stream_bytes_per_s_all", r->stream_rate_all, "loop_s", r->fork);
  for (size_t i = 0; i < CORES_PARTS; i++)
    json_object_set_new(root, r->parts[i].name, part_json(r, &r->parts[i]));
  json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
  printf("\n");
  json_decref(root);
}
