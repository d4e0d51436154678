/* ranges.c - see ranges.h. */
#include "base/ranges.h"

static mo_range *node(const mo_ranges *r, size_t link)
{
  return &r->nodes[link - 1];
}

/* Mixes a number into one that looks random (splitmix64): higher ones are nearer to the root. */
static uint64_t priority(size_t link)
{
  uint64_t x = (uint64_t)link * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static bool comes_before(const mo_ranges *r, size_t a, size_t b)
{
  const uintptr_t x = node(r, a)->start, y = node(r, b)->start;
  return x != y ? x < y : a < b;
}

static void refresh(mo_ranges *r, size_t link)
{
  mo_range *n = node(r, link);
  n->reach = n->end;
  if (n->left != 0 && node(r, n->left)->reach > n->reach) n->reach = node(r, n->left)->reach;
  if (n->right != 0 && node(r, n->right)->reach > n->reach) n->reach = node(r, n->right)->reach;
}

/* Cuts a tree into what comes before `at` and what comes after it. */
static void split(mo_ranges *r, size_t tree, size_t at, size_t *before, size_t *after)
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

static size_t merge(mo_ranges *r, size_t before, size_t after)
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

static size_t insert(mo_ranges *r, size_t tree, size_t link)
{
  if (tree == 0) return link;
  if (priority(link) > priority(tree)) {
    split(r, tree, link, &node(r, link)->left, &node(r, link)->right);
    refresh(r, link);
    return link;
  }
  mo_range *n = node(r, tree);
  if (comes_before(r, link, tree))
    n->left = insert(r, n->left, link);
  else
    n->right = insert(r, n->right, link);
  refresh(r, tree);
  return tree;
}

static size_t without(mo_ranges *r, size_t tree, size_t link)
{
  if (tree == link) return merge(r, node(r, link)->left, node(r, link)->right);
  mo_range *n = node(r, tree);
  if (comes_before(r, link, tree))
    n->left = without(r, n->left, link);
  else
    n->right = without(r, n->right, link);
  refresh(r, tree);
  return tree;
}

bool mo_ranges_reserve(mo_ranges *ranges, const mo_allocator *allocator, size_t count)
{
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
  *node(ranges, number + 1) = (mo_range){start, end, end, 0, 0};
  ranges->root = insert(ranges, ranges->root, number + 1);
}

void mo_ranges_remove(mo_ranges *ranges, size_t number)
{
  if (number >= ranges->capacity || ranges->nodes[number].end == 0) return;
  ranges->root = without(ranges, ranges->root, number + 1);
  ranges->nodes[number] = (mo_range){0};
}

/* Into the left part whenever something there ends beyond `start`: if that does not overlap, it
 * begins at or beyond `end`, and so does everything to the right of it. */
size_t mo_ranges_find(const mo_ranges *ranges, uintptr_t start, uintptr_t end)
{
  size_t at = start < end ? ranges->root : 0;
  while (at != 0) {
    const mo_range *n = node(ranges, at);
    if (n->start < end && start < n->end) return at - 1;
    at = n->left != 0 && node(ranges, n->left)->reach > start ? n->left : n->right;
  }
  return MO_NO_RANGE;
}
