/* bench_profile_text.c - profiles as tables or JSON. */
#include "cli/bench_profile_text.h"

#include "base/wording.h"
#include "cli/table.h"

#include <jansson.h>
#include <stdio.h>

static mousse_status print_profile(const bench_profile *p, mo_error *error)
{
  static const table_column columns[] = {{.title = "work", .is_text = true},
                                         {.title = "share"},
                                         {.title = "of limit"},
                                         {.title = "limit", .is_text = true}};
  cli_table table = {.columns = columns, .column_count = 4};
  printf("\n%s, %zu x %zu tokens, %s: %.3g s, %.1f%% of sgemm\n\n", p->model, p->batch,
         p->sequence, MO_COUNT(p->threads, "thread"), p->seconds, 100 * p->utilisation);
  for (size_t i = 0; i < p->row_count; i++) {
    const bench_profile_row *row = &p->rows[i];
    table_cell(&table, "%s", row->name);
    table_cell(&table, "%.1f%%", 100 * row->share);
    table_cell(&table, "%.0f%%", 100 * row->of_limit);
    table_cell(&table, "%s", row->product ? "sgemm" : "memory");
  }
  table_cell(&table, "%s", "waiting, rest");
  table_cell(&table, "%.1f%%", 100 * p->waiting);
  table_cell(&table, "%s", "");
  table_cell(&table, "%s", "");
  return table_print(&table, error);
}

mousse_status bench_profiles_print(const bench_profiles *all, mo_error *error)
{
  printf("sgemm 3072^3: %.0f GFLOP/s, memory: %.1f GB/s in this run\n", all->sgemm_gflops,
         all->memory_gigabytes);
  for (size_t i = 0; i < all->count; i++) MO_TRY(print_profile(&all->models[i], error));
  return MOUSSE_OK;
}

static json_t *profile_json(const bench_profile *p)
{
  json_t *list = json_array();
  for (size_t i = 0; i < p->row_count; i++) {
    const bench_profile_row *row = &p->rows[i];
    json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:s}", "work", row->name, "share",
                                          row->share, "of_limit", row->of_limit, "limit",
                                          row->product ? "sgemm" : "memory"));
  }
  return json_pack("{s:s, s:I, s:I, s:i, s:f, s:f, s:f, s:o}", "model", p->model, "batch",
                   (json_int_t)p->batch, "sequence", (json_int_t)p->sequence, "threads",
                   p->threads, "seconds", p->seconds, "utilisation", p->utilisation, "waiting",
                   p->waiting, "rows", list);
}

void bench_profiles_print_json(const bench_profiles *all)
{
  json_t *list = json_array();
  for (size_t i = 0; i < all->count; i++)
    json_array_append_new(list, profile_json(&all->models[i]));
  json_t *root = json_pack("{s:f, s:f, s:o}", "sgemm_gflops", all->sgemm_gflops,
                           "memory_gigabytes", all->memory_gigabytes, "profiles", list);
  json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
  printf("\n");
  json_decref(root);
}
