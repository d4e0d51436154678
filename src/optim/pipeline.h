/* pipeline.h - an algorithm as a list of stages.
 *
 *     static const mo_option options[] = {MO_STAGE_LR(0.02), MO_STAGE_MU(0.95)};
 *     static const mo_recipe recipe = {
 *         .stages = {&mo_stage_momentum, &mo_stage_orthogonal, &mo_stage_step},
 *         .set = {.average = MO_AVERAGE}};
 *     MO_PIPELINE(name, "what it does in one line", options, recipe)
 *
 * is a whole algorithm. Memory, workspace and cost are the sums over its stages; options that
 * are not in its table have the values of `set`, or 0.
 */
#ifndef MOUSSE_OPTIM_PIPELINE_H
#define MOUSSE_OPTIM_PIPELINE_H

#include "optim/stages/options.h"

enum { MO_MAX_STAGES = 12 };

typedef struct mo_recipe {
  const mo_stage *stages[MO_MAX_STAGES]; /* in this order; NULL ends the list */
  mo_stage_options set;
} mo_recipe;

/* A recipe with the algorithm's options: what the four functions of a mo_algorithm need. */
typedef struct mo_pipeline {
  const mo_recipe *recipe;
  const mo_option *options;
  size_t option_count;
} mo_pipeline;

size_t mo_pipeline_layout(const mo_pipeline *p, const void *config, mo_shape shape,
                          mo_state_array arrays[MO_MAX_STATE_ARRAYS]);
size_t mo_pipeline_work_floats(const mo_pipeline *p, const void *config, mo_shape shape);
double mo_pipeline_flops(const mo_pipeline *p, const void *config, mo_shape shape);
void mo_pipeline_update(const mo_pipeline *p, const void *config, const mo_update *u);

/* Defines mo_algorithm_NAME; with members of mo_algorithm beside those of every pipeline. */
#define MO_PIPELINE(algorithm, text, option_table, recipe)                                     \
  MO_PIPELINE_WITH(algorithm, text, option_table, recipe, .element_wise = false)
#define MO_PIPELINE_WITH(algorithm, text, option_table, recipe_, ...)                          \
  static const mo_pipeline pipeline = {&(recipe_), option_table,                               \
                                       sizeof(option_table) / sizeof *(option_table)};         \
  static size_t layout(const void *config, mo_shape shape,                                     \
                       mo_state_array arrays[MO_MAX_STATE_ARRAYS])                             \
  {                                                                                            \
    return mo_pipeline_layout(&pipeline, config, shape, arrays);                               \
  }                                                                                            \
  static size_t work_floats(const void *config, mo_shape shape)                                \
  {                                                                                            \
    return mo_pipeline_work_floats(&pipeline, config, shape);                                  \
  }                                                                                            \
  static double flops(const void *config, mo_shape shape)                                      \
  {                                                                                            \
    return mo_pipeline_flops(&pipeline, config, shape);                                        \
  }                                                                                            \
  static void update(const void *config, const mo_update *u)                                   \
  {                                                                                            \
    mo_pipeline_update(&pipeline, config, u);                                                  \
  }                                                                                            \
  const mo_algorithm mo_algorithm_##algorithm = {.name = #algorithm,                           \
                                                 .help = text,                                 \
                                                 .options = option_table,                      \
                                                 .option_count = sizeof(option_table) /        \
                                                                 sizeof *(option_table),       \
                                                 .config_bytes = sizeof(mo_stage_options),     \
                                                 .refuses = mo_refuse_vectors,                 \
                                                 .layout = layout,                             \
                                                 .work_floats = work_floats,                   \
                                                 .flops = flops,                               \
                                                 .update = update,                             \
                                                 __VA_ARGS__};

#endif
