/* ranges.c - see ranges.h. */
#include "base/ranges.h"

static mo_range *node(const mo_ranges *r, uint32_t link)
{
  return &r->nodes[link - 1];
}

/* Mixes a number into one that looks random (splitmix64): higher ones are nearer to the root. */
static uint64_t priority(uint32_t link)
{
  uint64_t x = (uint64_t)link * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static bool comes_before(const mo_ranges *r, uint32_t a, uint32_t b)
{
  const uintptr_t x = node(r, a)->start, y = node(r, b)->start;
  return x != y ? x < y : a < b;
}

static void refresh(mo_ranges *r, uint32_t link)
{
  mo_range *n = node(r, link);
  n->reach = n->end;
  if (n->left != 0 && node(r, n->left)->reach > n->reach) n->reach = node(r, n->left)->reach;
  if (n->right != 0 && node(r, n->right)->reach > n->reach) n->reach = node(r, n->right)->reach;
}

/* Cuts a tree into what comes before `at` and what comes after it. */
static void split(mo_ranges *r, uint32_t tree, uint32_t at, uint32_t *before, uint32_t *after)
{
  if (tree == 0) {
    *before = *after = 0;
    return;
  }
  if (comes_before(r, tree, at)) {
    split(r, node(r, tree)->right, at, &node(r, tree)->right, after);
    *before = tree;
  } else {
    split(r, node(r, tree)->left, at, before, &node(r, tree)->left);
    *after = tree;
  }
  refresh(r, tree);
}

static uint32_t merge(mo_ranges *r, uint32_t before, uint32_t after)
{
  if (before == 0) return after;
  if (after == 0) return before;
  if (priority(before) > priority(after)) {
    node(r, before)->right = merge(r, node(r, before)->right, after);
    refresh(r, before);
    return before;
  }
  node(r, after)->left = merge(r, before, node(r, after)->left);
  refresh(r, after);
  return after;
}

/* Down to where its priority puts it; the parts of what was there hang below it. Nodes on the
 * way are only raised to the new end, so that their other children stay untouched. */
static void insert(mo_ranges *r, uint32_t link)
{
  mo_range *added = node(r, link);
  uint32_t *place = &r->root;
  while (*place != 0 && priority(link) <= priority(*place)) {
    mo_range *n = node(r, *place);
    if (n->reach < added->end) n->reach = added->end;
    place = comes_before(r, link, *place) ? &n->left : &n->right;
  }
  split(r, *place, link, &added->left, &added->right);
  refresh(r, link);
  *place = link;
}

/* A reach beyond the end that goes comes from elsewhere and stays. */
static uint32_t without(mo_ranges *r, uint32_t tree, uint32_t link)
{
  if (tree == link) return merge(r, node(r, link)->left, node(r, link)->right);
  mo_range *n = node(r, tree);
  uint32_t *side = comes_before(r, link, tree) ? &n->left : &n->right;
  *side = without(r, *side, link);
  if (n->reach == node(r, link)->end) refresh(r, tree);
  return tree;
}

bool mo_ranges_reserve(mo_ranges *ranges, const mo_allocator *allocator, size_t count)
{
  if (count >= UINT32_MAX) return false;
  return mo_grow(allocator, &ranges->nodes, &ranges->capacity, count, sizeof *ranges->nodes);
}

void mo_ranges_release(mo_ranges *ranges, const mo_allocator *allocator)
{
  mo_release(allocator, ranges->nodes, ranges->capacity * sizeof *ranges->nodes);
  *ranges = (mo_ranges){0};
}

void mo_ranges_add(mo_ranges *ranges, size_t number, uintptr_t start, uintptr_t end)
{
  if (start >= end) return;
  ranges->nodes[number] = (mo_range){start, end, end, 0, 0};
  insert(ranges, (uint32_t)number + 1);
}

void mo_ranges_remove(mo_ranges *ranges, size_t number)
{
  if (number >= ranges->capacity || ranges->nodes[number].end == 0) return;
  ranges->root = without(ranges, ranges->root, (uint32_t)number + 1);
  ranges->nodes[number] = (mo_range){0};
}

/* Into the left part whenever something there ends beyond `start`: if that does not overlap, it
 * begins at or beyond `end`, and so does everything to the right of it. */
size_t mo_ranges_find(const mo_ranges *ranges, uintptr_t start, uintptr_t end)
{
  uint32_t at = start < end ? ranges->root : 0;
  while (at != 0) {
    const mo_range *n = node(ranges, at);
    if (n->start < end && start < n->end) return at - 1;
    at = n->left != 0 && node(ranges, n->left)->reach > start ? n->left : n->right;
  }
  return MO_NO_RANGE;
}
