/* scalar_opt.c - see scalar_opt.h. */
#include "train/scalar_opt.h"

#include <string.h>

bool optimizer_orthogonalises(const char *algorithm)
{
  return options_of_algorithm(algorithm, "newton_schulz") != NULL;
}

/* NorMuon where it was measured to be better (docs/evidence.md, "Embedding and head"): in new models of
 * moderate width. A tied embedding starts fifty times as small, and other optimizers' learning
 * rates mean something else. */
const char *options_scalar(const train_options *run)
{
  enum { WIDEST = 384 };
  gpt_config model;
  const bool muon =
      strcmp(run->optimizer, "muon") == 0 || strcmp(run->optimizer, "mousse") == 0;
  if (strcmp(run->scalar_opt, "auto") != 0) return run->scalar_opt;
  if (run->recipe != RECIPE_RECOMMENDED || !muon || run->init[0] != '\0' ||
      gpt_preset(run->preset, &model, NULL) != MOUSSE_OK)
    return "lion";
  const int64_t width = run->model_dim > 0 ? run->model_dim : (int64_t)model.n_embd;
  return model.tied || model.position == GPT_LEARNED || width > WIDEST ? "lion" : "normuon";
}
