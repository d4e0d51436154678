/* cmd_generate.c - mousse generate: text from a model. */
#include "cli/run_options.h"
#include "formats/formats.h"
#include "train/model_files.h"
#include "train/text_sample.h"
#include "train/tokenizers.h"

#include <stdio.h>

typedef struct values {
  char init[MO_SETTING_PATH], tokenizer[MO_SETTING_PATH], prompt[MO_SETTING_PATH];
  int64_t tokens, samples, top_k, seed, threads;
  double temperature, top_p;
  bool stop, allow_other_tokenizer;
} values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(values, init, "", "a run, a checkpoint or a safetensors file (required)"),
    MO_SETTING_TEXT(values, tokenizer, "", "by default the one beside the weights"),
    MO_SETTING_TEXT(values, prompt, "", "what the text begins with"),
    MO_SETTING_INTEGER(values, tokens, "200", 1, 1e9, "how many tokens to write"),
    MO_SETTING_INTEGER(values, samples, "1", 1, 1e6, "how many texts, each with its own seed"),
    MO_SETTING_NUMBER(values, temperature, "0.8", 0, 100, "0: always the most probable token"),
    MO_SETTING_INTEGER(values, top_k, "0", 0, 1e9, "choose among the k most probable; 0: all"),
    MO_SETTING_NUMBER(values, top_p, "1", 0, 1,
                      "choose among the fewest that have this much probability together"),
    MO_SETTING_INTEGER(values, seed, "1", 0, 9007199254740992, "the same seed, the same text"),
    MO_SETTING_SWITCH(values, allow_other_tokenizer, "false",
                      "write although --tokenizer is not that of the model"),
    MO_SETTING_SWITCH(values, stop, "true", "end where a document ends"),
    MO_SETTING_INTEGER(values, threads, "0", 0, 1024, "0: as many as the machine has"),
};

static void put(void *user, const char *bytes, size_t count)
{
  (void)user;
  fwrite(bytes, 1, count, stdout);
  fflush(stdout);
}

static mousse_status write_texts(const values *v, const gpt_params *params,
                                 const mo_tokenizer *tokenizer, const char *folder,
                                 mo_error *error)
{
  enum { MOST_ENDS = 16 };
  uint32_t ends[MOST_ENDS];
  const size_t end_count = v->stop ? format_end_tokens(folder, ends, MOST_ENDS) : 0;
  for (int64_t i = 0; i < v->samples; i++) {
    const bool stop = v->stop && tokenizer->end_of_text != TOKENIZER_NONE;
    const text_request request = {
        .prompt = v->prompt,
        .tokens = (size_t)v->tokens,
        .sampling = {.temperature = v->temperature,
                     .top_k = (size_t)v->top_k,
                     .top_p = v->top_p,
                     .seed = (uint64_t)(v->seed + i),
                     .stop_token = stop ? (int64_t)tokenizer->end_of_text : -1},
        .ends = ends,
        .end_count = end_count,
        .threads = (int)v->threads,
        .put = put};
    if (i > 0) printf("\n---\n");
    fputs(v->prompt, stdout);
    MO_TRY(text_sample(params, tokenizer, &request, error));
    printf("\n");
  }
  return MOUSSE_OK;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const values *v = call->values;
  const run_notices *notices = call->quiet ? &run_notices_none : &run_notices_print;
  model_files files;
  gpt_params *params = NULL;
  mo_tokenizer tokenizer = {0};
  MO_TRY(model_files_find(&files, v->init, notices, error));
  MO_TRY(model_files_load(&files, &params, error));
  mousse_status status =
      tokenizer_open(&tokenizer, v->tokenizer[0] != '\0' ? v->tokenizer : files.folder, error);
  if (status == MOUSSE_OK && v->tokenizer[0] != '\0')
    status = tokenizer_check(&tokenizer, v->tokenizer, files.folder, v->allow_other_tokenizer,
                             notices, error);
  if (status == MOUSSE_OK) status = write_texts(v, params, &tokenizer, files.folder, error);
  tokenizer_close(&tokenizer);
  gpt_params_destroy(params);
  return status;
}

const cli_command command_generate = {
    .name = "generate",
    .summary = "Generate text with a model",
    .arguments = "",
    .details = "  mousse generate --init runs/book --prompt \"It was\" --tokens 100\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(values),
    .run = run,
};
