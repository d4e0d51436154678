/* writing.c - a model, its tokenizer, and text that appears as it is drawn. */
#include "cli/writing.h"

#include "cli/run_options.h"
#include "formats/formats.h"
#include "gpt/sample.h"
#include "train/model_files.h"
#include "train/tokenizers.h"

enum { WEIGHTS_F32, WEIGHTS_Q8_0 };
static const char *const weight_names[] = {"f32", "q8_0", NULL};

static const mo_setting rows[] = {
    MO_SETTING_TEXT(writing_values, init, "",
                    "a run, a checkpoint, a model folder (ours or Hugging Face's) or a file of "
                    "weights (required)"),
    MO_SETTING_TEXT(writing_values, tokenizer, "",
                    "tokenizer of the model; by default the one next to the weights"),
    MO_SETTING_INTEGER(writing_values, tokens, "200", 1, 1e9, "how many tokens to write"),
    MO_SETTING_NUMBER(writing_values, temperature, "0.8", 0, 100,
                      "randomness of the choice; 0: always the most probable token"),
    MO_SETTING_INTEGER(writing_values, top_k, "0", 0, 1e9,
                       "choose among the k most probable tokens; 0: all"),
    MO_SETTING_NUMBER(writing_values, top_p, "1", 0, 1,
                      "choose among the fewest tokens that together have this probability, "
                      "above 0"),
    MO_SETTING_NUMBER(writing_values, repetition_penalty, "1", 1, 100,
                      "make tokens that are already in the text less probable; 1: off"),
    MO_SETTING_INTEGER(writing_values, seed, "1", 0, 9007199254740992,
                       "seed for the choice; the same seed gives the same text"),
    MO_SETTING_SWITCH(writing_values, allow_other_tokenizer, "false",
                      "generate even if --tokenizer is not the model's"),
    MO_SETTING_SWITCH(writing_values, stop, "true", "end where a document ends"),
    MO_SETTING_CHOICE(writing_values, weights, "f32", weight_names,
                      "number format of the weights; q8_0, with 8 bits each, is faster"),
    MO_SETTING_INTEGER(writing_values, threads, "0", 0, 1024, "threads; 0: one per core"),
};
const mo_settings writing_settings = MO_SETTINGS(rows);

static gpt_sampling sampling_of(const writing_values *v, uint64_t seed_offset,
                                const mo_tokenizer *tokenizer)
{
  const bool stop = v->stop && tokenizer->end_of_text != TOKENIZER_NONE;
  return (gpt_sampling){.temperature = v->temperature,
                        .top_k = (size_t)v->top_k,
                        .top_p = v->top_p,
                        .repetition = v->repetition_penalty,
                        .seed = (uint64_t)v->seed + seed_offset,
                        .stop_token = stop ? (int64_t)tokenizer->end_of_text : -1};
}

static mousse_status open_parts(writing *w, const writing_values *v, const model_files *files,
                                const mo_buffer *prompt, size_t window,
                                const run_notices *notices, mo_error *error)
{
  size_t given = 0;
  const char *tokenizer = v->tokenizer[0] != '\0' ? v->tokenizer : files->folder;
  MO_TRY(model_files_load(files, &w->params, error));
  MO_TRY(tokenizer_open(&w->tokenizer, tokenizer, error));
  if (v->tokenizer[0] != '\0')
    MO_TRY(tokenizer_check(&w->tokenizer, v->tokenizer, files->folder, v->allow_other_tokenizer,
                           notices, error));
  w->end_count = format_end_tokens(files->folder, w->ends, sizeof w->ends / sizeof *w->ends);
  if (v->weights == WEIGHTS_Q8_0)
    MO_TRY(gpt_q8_create(&w->q8, w->params, (int)v->threads, error));
  if (prompt != NULL)
    MO_TRY(text_count(&w->tokenizer, prompt->data, prompt->size, &given, error));
  MO_TRY(text_writer_open(&w->writer, w->params, &w->tokenizer, given + window, (int)v->threads,
                          error));
  gpt_generator_use_q8(w->writer.generator, w->q8);
  return MOUSSE_OK;
}

mousse_status writing_open(writing *w, const writing_values *v, const mo_buffer *prompt,
                           size_t window, bool quiet, mo_error *error)
{
  const run_notices *notices = quiet ? &run_notices_none : &run_notices_print;
  model_files files;
  const gpt_sampling sampling = sampling_of(v, 0, &(mo_tokenizer){0});
  *w = (writing){.screen = {.stream = stdout}};
  MO_TRY(gpt_sampling_check(&sampling, error));
  MO_TRY(model_files_find(&files, v->init, notices, error));
  const mousse_status status = open_parts(w, v, &files, prompt, window, notices, error);
  if (status != MOUSSE_OK) writing_close(w);
  return status;
}

void writing_close(writing *w)
{
  text_writer_close(&w->writer);
  tokenizer_close(&w->tokenizer);
  gpt_q8_destroy(w->q8);
  gpt_params_destroy(w->params);
  w->params = NULL;
  w->q8 = NULL;
}

typedef struct drawing {
  terminal_text *screen;
  const volatile int *interrupted;
} drawing;

static bool put(void *user, const char *bytes, size_t count)
{
  drawing *d = user;
  terminal_put(d->screen, bytes, count);
  fflush(d->screen->stream);
  return !ferror(d->screen->stream) && (d->interrupted == NULL || *d->interrupted == 0);
}

mousse_status writing_draw(writing *w, const writing_values *v, uint64_t seed_offset,
                           const volatile int *interrupted, mo_error *error)
{
  drawing d = {&w->screen, interrupted};
  const text_request request = {.tokens = (size_t)v->tokens,
                                .sampling = sampling_of(v, seed_offset, &w->tokenizer),
                                .ends = w->ends,
                                .end_count = v->stop ? w->end_count : 0,
                                .put = put,
                                .user = &d};
  MO_TRY(gpt_sampling_check(&request.sampling, error));
  const mousse_status status = text_writer_draw(&w->writer, &request, error);
  terminal_put_end(&w->screen);
  return status;
}
