/* tiny_run.h - data and options of a run that takes milliseconds. */
#ifndef MOUSSE_TESTS_TINY_RUN_H
#define MOUSSE_TESTS_TINY_RUN_H

#include "data/shards/shard.h"
#include "scratch.h"
#include "train/options.h"

#include <math.h>

enum { TINY_VOCABULARY = 16, TINY_TOKENS = 600 };

static inline void tiny_shard(const char *path)
{
  shard_writer writer;
  uint32_t ids[TINY_TOKENS];
  for (uint32_t i = 0; i < TINY_TOKENS; i++) ids[i] = (i * i + i / 7) % TINY_VOCABULARY;
  assert_int_equal(shard_writer_open(&writer, path, TINY_VOCABULARY, NULL), MOUSSE_OK);
  assert_int_equal(shard_writer_add(&writer, ids, TINY_TOKENS, NULL), MOUSSE_OK);
  assert_int_equal(shard_writer_commit(&writer, NULL), MOUSSE_OK);
}

static inline void tiny_set(train_options *run, const char *key, const char *text)
{
  mo_error error = {{0}};
  if (options_set(run, key, text, NULL, &error) != MOUSSE_OK) fail_msg("%s", error.text);
}

/* Writes the shards into the test's folder; the run goes to its folder "run". */
static inline train_options tiny_run(void *const *state)
{
  static const char *const options[][2] = {
      {"model_dim", "8"},       {"n_layer", "1"},         {"n_head", "2"},
      {"sequence_length", "8"}, {"vocab_size", "16"},     {"batch_size", "2"},
      {"num_iterations", "4"},  {"checkpoint_freq", "2"}, {"threads", "1"},
      {"val_loss_every", "2"},
  };
  train_options run;
  assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    tiny_set(&run, options[i][0], options[i][1]);
  tiny_set(&run, "data_dir", *state);
  tiny_set(&run, "out", scratch_path(state, "run"));
  tiny_shard(scratch_path(state, "x_train_000000.bin"));
  tiny_shard(scratch_path(state, "x_val_000000.bin"));
  return run;
}

/* cmocka's own comparison is of floats. */
static inline void near(double a, double b, double tolerance)
{
  if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g", a, b);
}

#endif
