/* model_card.c - what a model is, for people: sizes, layers, how to run it. */
#include "formats/model_card.h"

#include "base/file.h"
#include "formats/hf_config.h"

#include <stdio.h>
#include <string.h>

static const char *how_to_run(model_family family)
{
  if (family == FAMILY_NONE)
    return "The architecture is that of the Mousse paper or another combination that "
           "transformers\n"
           "does not have. `mousse_model.py`, which needs nothing but PyTorch, loads and runs "
           "it:\n"
           "\n"
           "    from mousse_model import load\n"
           "    logits = load(\".\")(torch.tensor([[1, 2, 3]]))\n";
  return "The folder has the layout and the names that transformers publishes for this\n"
         "architecture:\n"
         "\n"
         "    from transformers import AutoModelForCausalLM\n"
         "    model = AutoModelForCausalLM.from_pretrained(\".\")\n";
}

mousse_status model_card_write(const model_export *model, const char *folder, mo_error *error)
{
  char path[4096], text[4096];
  const gpt_config *c = &model->params->config;
  const model_family family = family_of(c);
  const int length =
      snprintf(text, sizeof text,
               "---\n"
               "pipeline_tag: text-generation\n"
               "tags: [mousse]\n"
               "---\n"
               "# %.200s\n"
               "\n"
               "A language model trained with Mousse (`mousse train`) and exported by `mousse "
               "checkpoint\n"
               "export --format hf`.\n"
               "\n"
               "| | |\n|---|---|\n"
               "| architecture | %s |\n"
               "| parameters | %zu |\n"
               "| layers | %zu |\n"
               "| width | %zu |\n"
               "| heads | %zu, keys and values %zu, of %zu |\n"
               "| MLP width | %zu |\n"
               "| context | %zu |\n"
               "| vocabulary | %zu |\n"
               "| numbers | %s |\n"
               "\n%s\n"
               "`mousse generate --init` reads the folder as well.\n",
               model->name, hf_architecture(family), model->params->value_count, c->n_layer,
               c->n_embd, c->n_head, c->n_kv_head, c->head_size, c->mlp_width, c->sequence_len,
               c->vocab_size, number_type_names[model->type], how_to_run(family));
  if (length < 0 || (size_t)length >= sizeof text)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "%s: the model card is too long", folder);
  MO_TRY(mo_path_join(path, sizeof path, folder, "README.md", error));
  return mo_file_write(path, text, (size_t)length, error);
}
