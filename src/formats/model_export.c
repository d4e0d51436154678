/* model_export.c - what a model that is written must have, whatever the format. */
#include "formats/formats.h"

mousse_status model_export_check(const model_export *model, mo_error *error)
{
  for (size_t i = 0; i < model->params->tensor_count; i++) {
    const gpt_tensor *t = &model->params->tensors[i];
    MO_TRY(number_check(model->type, t->name, t->value, t->rows * t->cols, error));
  }
  return MOUSSE_OK;
}
