/* option_tree.c - options of runs as ways through a tree. */
#include "study/option_tree.h"

#include <stdlib.h>
#include <string.h>

static const char *const model_rows[] = {"preset", "model_dim",       "n_layer",
                                         "n_head", "sequence_length", "vocab_size",
                                         "init",   "data_dir"};

bool option_makes_model(const char *name)
{
  for (size_t i = 0; i < sizeof model_rows / sizeof *model_rows; i++)
    if (strcmp(model_rows[i], name) == 0) return true;
  return false;
}

/* Whether a row separates variants. The optimizer is looked at before. */
static bool matters(size_t row)
{
  const char *name = train_settings.rows[row].name;
  if (strcmp(name, "seed") == 0 || strcmp(name, "lr") == 0 || strcmp(name, "optimizer") == 0)
    return false;
  return option_row_effect(row) != OPTION_FREE || option_makes_model(name);
}

bool option_is_lr(const train_option *option)
{
  return !option->scalar && strcmp(option->name, "lr") == 0;
}

static bool text_number(option_tree *t, const char *text, size_t length, uint32_t *number)
{
  bool added = false;
  return mo_text_table_add(&t->texts, text, length, number, &added);
}

static bool add_node(option_tree *t, uint32_t *node)
{
  if (!mo_grow(NULL, &t->nodes, &t->node_capacity, t->node_count + 1, sizeof *t->nodes))
    return false;
  *node = (uint32_t)t->node_count++;
  return true;
}

/* To the node behind this text, which is made where there is none. */
static bool go_on(option_tree *t, uint32_t *node, const char *text, size_t length)
{
  uint32_t number = 0, next = 0;
  if (!text_number(t, text, length, &number)) return false;
  const mo_pair_slot *known = mo_pair_table_find(&t->branches, *node, number);
  if (known != NULL) {
    next = known->result;
  } else {
    if (!add_node(t, &next) ||
        !mo_pair_table_add(&t->branches, (mo_pair_slot){*node, number, 0, next}))
      return false;
    t->nodes[*node].branches++;
  }
  t->nodes[next].runs++;
  *node = next;
  return true;
}

static void row_text(const train_options *run, size_t row, char value[MO_SETTING_PATH])
{
  value[0] = '\0';
  (void)mo_setting_text(&train_settings.rows[row], run, value, MO_SETTING_PATH);
}

/* A name, with what says whose option it is, and behind its NUL the value; returns the length of the
 * first, with its NUL. */
static size_t option_text(const train_option *option, char text[2 * OPTION_TEXT_SIZE + 1])
{
  const size_t name = strlen(option->name) + 2;
  text[0] = option->scalar ? 's' : 'o';
  memcpy(text + 1, option->name, name - 1);
  memcpy(text + name, option->value, strlen(option->value) + 1);
  return name;
}

static bool note_use(option_tree *t, uint32_t node, const train_option *option)
{
  char text[2 * OPTION_TEXT_SIZE + 1];
  const size_t length = option_text(option, text);
  uint32_t name = 0, value = 0, place = (uint32_t)t->use_count;
  if (!text_number(t, text, length, &name) ||
      !text_number(t, option->value, strlen(option->value) + 1, &value))
    return false;
  const mo_pair_slot *known = mo_pair_table_find(&t->used, node, name);
  if (known != NULL) {
    place = known->result;
  } else {
    if (!mo_grow(NULL, &t->uses, &t->use_capacity, t->use_count + 1, sizeof *t->uses) ||
        !mo_pair_table_add(&t->used, (mo_pair_slot){node, name, 0, place}))
      return false;
    t->uses[t->use_count++] = (option_use){.value = value};
  }
  t->uses[place].runs++;
  t->uses[place].differs = t->uses[place].differs || t->uses[place].value != value;
  return true;
}

static int by_name(const void *a, const void *b)
{
  const train_option *x = *(const train_option *const *)a, *y = *(const train_option *const *)b;
  return x->scalar != y->scalar ? x->scalar - y->scalar : strcmp(x->name, y->name);
}

/* An empty value is none. */
static bool add_options(option_tree *t, const train_options *run, uint32_t *node)
{
  const train_option *list[OPTION_MOST] = {NULL};
  const uint32_t rows = *node;
  size_t count = 0;
  for (size_t i = 0; i < run->option_count; i++)
    if (!option_is_lr(&run->options[i]) && run->options[i].value[0] != '\0')
      list[count++] = &run->options[i];
  qsort(list, count, sizeof *list, by_name);
  for (size_t i = 0; i < count; i++) {
    char text[2 * OPTION_TEXT_SIZE + 1];
    const size_t length = option_text(list[i], text) + strlen(list[i]->value) + 1;
    if (!note_use(t, rows, list[i]) || !go_on(t, node, text, length)) return false;
  }
  return true;
}

bool option_tree_add(option_tree *t, const train_options *run, uint32_t *leaf)
{
  uint32_t node = 0;
  if (t->node_count == 0 && !add_node(t, &node)) return false;
  if (!go_on(t, &node, run->optimizer, strlen(run->optimizer) + 1)) return false;
  for (size_t row = 0; row < train_settings.count; row++) {
    char value[MO_SETTING_PATH];
    if (!matters(row)) continue;
    row_text(run, row, value);
    if (!go_on(t, &node, value, strlen(value) + 1)) return false;
  }
  if (!add_options(t, run, &node)) return false;
  *leaf = node;
  return true;
}

void option_tree_close(option_tree *t)
{
  mo_text_table_close(&t->texts);
  mo_pair_table_close(&t->branches);
  mo_pair_table_close(&t->used);
  mo_release(NULL, t->nodes, t->node_capacity * sizeof *t->nodes);
  mo_release(NULL, t->uses, t->use_capacity * sizeof *t->uses);
  *t = (option_tree){0};
}

/* The way of a run that was added: all of it is there. */
static uint32_t next_of(const option_tree *t, uint32_t node, const char *text)
{
  uint32_t number = 0;
  if (!mo_text_table_find(&t->texts, text, strlen(text) + 1, &number)) return node;
  const mo_pair_slot *found = mo_pair_table_find(&t->branches, node, number);
  return found != NULL ? found->result : node;
}

option_walk option_walk_start(const option_tree *tree, const train_options *run)
{
  return (option_walk){tree, run, next_of(tree, 0, run->optimizer)};
}

bool option_walk_row(option_walk *walk, size_t row, char *value)
{
  if (!matters(row)) return false;
  const bool tells = walk->tree->nodes[walk->node].branches > 1;
  row_text(walk->run, row, value);
  walk->node = next_of(walk->tree, walk->node, value);
  return tells;
}

/* Others have another value, or none. */
bool option_walk_option(const option_walk *walk, const train_option *option)
{
  const option_tree *t = walk->tree;
  char text[2 * OPTION_TEXT_SIZE + 1];
  uint32_t name = 0;
  if (!mo_text_table_find(&t->texts, text, option_text(option, text), &name)) return false;
  const mo_pair_slot *found = mo_pair_table_find(&t->used, walk->node, name);
  if (found == NULL) return false;
  const option_use *use = &t->uses[found->result];
  return use->differs || use->runs < t->nodes[walk->node].runs;
}
