/* fuzz_completions.c - a line of prompt and completion, a conversation, or the targets of a shard,
 * from any bytes: the first one says which, and of how many tokens. */
#include "data/shards/shard.h"
#include "data/text/corpus.h"
#include "fuzz.h"

static void read_targets(const uint8_t *data, size_t size, size_t count)
{
  mo_shard shard = {.count = count};
  mo_error error;
  size_t learned = 0;
  if (shard_parse_targets("input", data, size, count, &shard.targets, &error) != MOUSSE_OK)
    return;
  for (size_t i = 0; i < count; i++) learned += shard_is_target(&shard, i);
  FUZZ_CHECK(learned <= count);
}

static void read_pair(const char *data, size_t size)
{
  mo_buffer text = {0};
  mo_error error;
  size_t prompt = 0;
  if (source_parse_pair("input", 1, data, size, "prompt", "completion", &text, &prompt,
                        &error) == MOUSSE_OK)
    FUZZ_CHECK(prompt < text.size);
  mo_buffer_close(&text);
}

static void read_messages(const char *data, size_t size)
{
  mo_buffer text = {0};
  message_list list = {0};
  mo_error error;
  size_t sum = 0;
  if (source_parse_messages("input", 1, data, size, "messages", &text, &list, &error) ==
      MOUSSE_OK) {
    for (size_t i = 0; i < list.count; i++) {
      FUZZ_CHECK(list.marks[i].role[0] != '\0' && list.marks[i].length > 0);
      sum += list.marks[i].length;
    }
    FUZZ_CHECK(list.count > 0 && sum == text.size);
  }
  message_list_close(&list);
  mo_buffer_close(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0) return 0;
  if (data[0] == '{')
    read_pair((const char *)data, size);
  else if (data[0] == 'm')
    read_messages((const char *)data + 1, size - 1);
  else
    read_targets(data + 1, size - 1, data[0]);
  return 0;
}
