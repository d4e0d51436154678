/* option_tree.h - the options of many runs, each run compared with all others at once.
 *
 * Every run goes down a tree: from its optimizer along the rows of options.def that make another
 * variant, then along its opt.NAME and scalar.NAME, to a leaf. Runs share a node while they are alike, so
 * a row tells a run from others where its node has several branches. The learning rate and the
 * seed are not looked at.
 */
#ifndef MOUSSE_STUDY_OPTION_TREE_H
#define MOUSSE_STUDY_OPTION_TREE_H

#include "base/table.h"
#include "train/options.h"

typedef struct option_node {
  uint32_t branches, runs; /* how many go on from here; and come through */
} option_node;

typedef struct option_use {
  uint32_t value,
      runs;     /* of an option among runs whose rows are alike: the first; how many set it */
  bool differs; /* not all of these have the first value */
} option_use;

/* Zeroed is empty. */
typedef struct option_tree {
  mo_text_table texts;    /* of values and of names */
  mo_pair_table branches; /* (node, text): result is the next node */
  mo_pair_table used;     /* (node behind the rows, name): result is the place in uses */
  option_node *nodes;     /* owned; [0]: the root */
  option_use *uses;       /* owned */
  size_t node_count, node_capacity, use_count, use_capacity;
} option_tree;

/* *leaf: the same for runs that are alike in all that makes a variant. False: no memory. */
bool option_tree_add(option_tree *tree, const train_options *run, uint32_t *leaf);
void option_tree_close(option_tree *tree);

/* Whether rows and options of a run tell it from others that are alike in all rows before; one that was
 * added. */
typedef struct option_walk {
  const option_tree *tree;
  const train_options *run;
  uint32_t node;
} option_walk;

option_walk option_walk_start(const option_tree *tree, const train_options *run);
/* The rows one after the other, from 0. value: of MO_SETTING_PATH bytes, the row's. */
bool option_walk_row(option_walk *walk, size_t row, char *value);
/* After all rows. */
bool option_walk_option(const option_walk *walk, const train_option *option);

/* Whether an opt.NAME is the learning rate. */
bool option_is_lr(const train_option *option);
/* Rows that say nothing about a checkpoint but make another model or task. */
bool option_makes_model(const char *name);

#endif
