/* test_containers.c - the heap, the hash tables, paths, UTF-8 and JSON of base. */
#include "base/heap.h"
#include "base/json_text.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/table.h"
#include "base/utf8.h"
#include "scratch.h"

#include <string.h>

static void test_heap(void **state)
{
  enum { COUNT = 1000 };
  mo_heap heap = {0};
  (void)state;
  for (uint64_t i = 0; i < COUNT; i++)
    assert_true(mo_heap_push(&heap, (mo_heap_entry){mo_random_below(1, 0, i, 50), i}));
  mo_heap_entry last = {0, 0};
  for (size_t i = 0; i < COUNT; i++) {
    const mo_heap_entry entry = mo_heap_pop(&heap);
    assert_true(i == 0 || mo_heap_before(last, entry));
    last = entry;
  }
  assert_int_equal(heap.count, 0);
  mo_heap_close(&heap);
}

/* Numbers are in order of arrival; where strings lie differs from table to table, so that no
 * file can aim at one slot. */
static void test_tables_have_seeds(void **state)
{
  mo_text_table tables[2] = {{0}, {0}};
  mo_pair_table pairs[2] = {{0}, {0}};
  (void)state;
  for (uint32_t i = 0; i < 2000; i++)
    for (size_t t = 0; t < 2; t++) {
      char text[16];
      uint32_t number = 0;
      bool added = false;
      snprintf(text, sizeof text, "token%u", i);
      assert_true(mo_text_table_add(&tables[t], text, strlen(text), &number, &added));
      assert_true(added && number == i);
      assert_true(mo_pair_table_add(&pairs[t], (mo_pair_slot){i, i + 1, i, i}));
      assert_int_equal(mo_pair_table_find(&pairs[t], i, i + 1)->rank, i);
    }
  assert_int_equal(tables[0].slot_count, tables[1].slot_count);
  assert_memory_not_equal(tables[0].slots, tables[1].slots,
                          tables[0].slot_count * sizeof *tables[0].slots);
  assert_memory_not_equal(pairs[0].slots, pairs[1].slots,
                          pairs[0].slot_count * sizeof *pairs[0].slots);
  for (size_t t = 0; t < 2; t++) {
    mo_text_table_close(&tables[t]);
    mo_pair_table_close(&pairs[t]);
  }
}

static void test_paths(void **state)
{
  static const struct {
    const char *path, *parent, *name;
  } cases[] = {
      {"a", ".", "a"}, {"a/b", "a", "b"}, {"/a", "/", "a"},    {"/a/b.c", "/a", "b.c"},
      {"/", "/", ""},  {"", ".", ""},     {"a//b", "a/", "b"}, {"./x", ".", "x"},
  };
  char parent[8];
  mo_error error = {{0}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(mo_path_parent(parent, sizeof parent, cases[i].path, &error), MOUSSE_OK);
    assert_string_equal(parent, cases[i].parent);
    assert_string_equal(mo_path_name(cases[i].path), cases[i].name);
  }
  assert_int_equal(mo_path_parent(parent, sizeof parent, "12345678/x", &error),
                   MOUSSE_INVALID_ARGUMENT);
}

/* The bytes that are not UTF-8 are the same ones in whatever parts the text comes. */
static void test_utf8_in_parts(void **state)
{
  static const char text[] =
      "a\xc3\xa9\xe2\x82\xff\xf0\x9f\x98\x80\x80z\xf0\x9f\xe4\xb8\xad\xe2\x82";
  (void)state;
  for (size_t part = 1; part <= strlen(text); part++) {
    mo_utf8_count count = {0};
    for (size_t at = 0; at < strlen(text); at += part)
      mo_utf8_count_add(&count, text + at, strlen(text) - at < part ? strlen(text) - at : part);
    mo_utf8_count_finish(&count);
    assert_int_equal(count.bad, 8);
    assert_int_equal(count.first_bad, 3);
    assert_int_equal(count.bytes, strlen(text));
  }
}

static void test_json_values(void **state)
{
  static const struct {
    const char *text;
    size_t values;
  } cases[] = {{"", 1},    {"1", 1},         {"[1, 2]", 3},  {"{\"a,[\": \"{\\\"[\"}", 2},
               {"[[[", 4}, {"\"open, [", 1}, {"{},{},{}", 6}};
  json_t *root = NULL;
  mo_error error = {{0}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(mo_json_values(cases[i].text, strlen(cases[i].text)), cases[i].values);
  assert_int_equal(mo_json_parse(&root, "f", "[1,2]", 5, 2, 0, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "f: more than 2 JSON values"));
  assert_int_equal(mo_json_parse(&root, "f", "[1,2", 4, 9, 0, &error), MOUSSE_BAD_FORMAT);
  assert_int_equal(mo_json_parse(&root, "f", "[1,2]", 5, 3, 0, &error), MOUSSE_OK);
  json_decref(root);
  assert_int_equal(mo_json_line(&root, "[{},{}]\n", 8, 4, &error), MOUSSE_BAD_FORMAT);
  assert_null(root);
  assert_string_equal(error.text, "more than 4 JSON values, which is the limit");
  assert_int_equal(mo_json_line(&root, "{\"a\":1,\"a\":2}", 13, 9, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "not JSON: duplicate"));
  assert_int_equal(mo_json_line(&root, "[1,2]\n", 6, 9, &error), MOUSSE_OK);
  json_decref(root);
}

static void test_sha256(void **state)
{
  static const struct {
    const char *text, *sum;
  } cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
  };
  char text[MO_SHA256_TEXT], block[1000];
  mo_sha256 sha;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_sha256_start(&sha);
    mo_sha256_add(&sha, cases[i].text, strlen(cases[i].text));
    mo_sha256_finish(&sha, text);
    assert_string_equal(text, cases[i].sum);
  }
  memset(block, 'a', sizeof block);
  mo_sha256_start(&sha);
  for (int i = 0; i < 1000; i++) mo_sha256_add(&sha, block, sizeof block);
  mo_sha256_finish(&sha, text);
  assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sha256),
      cmocka_unit_test(test_utf8_in_parts),
      cmocka_unit_test(test_json_values),
      cmocka_unit_test(test_heap),
      cmocka_unit_test(test_tables_have_seeds),
      cmocka_unit_test(test_paths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
