/* hopeless.c - see hopeless.h. */
#include "study/hopeless.h"

#include "study/run_record.h"

static const double hopeless_by = 0.25; /* nats */

mousse_status hopeless_limits(study_run *run, const study_run *first, mo_error *error)
{
  run_record record;
  loss_rule *rule = &run->rule;
  rule->limit_count = 0;
  /* The files of an archived one are not here: it is looked at for a plan, which stops no run. */
  if (first->state != STUDY_COMPLETE || first->archived) return MOUSSE_OK;
  MO_TRY(run_record_read(&record, first->directory, RECORD_CURVES, error));
  for (size_t i = 0; i < record.validation_count; i++) {
    const record_validation *v = &record.validations[i];
    if (3 * v->step < (uint64_t)run->run.num_iterations) continue;
    if (rule->limit_count == STUDY_LIMITS) break;
    rule->limits[rule->limit_count].step = v->step;
    rule->limits[rule->limit_count++].loss = v->loss + hopeless_by;
  }
  run_record_release(&record);
  return MOUSSE_OK;
}
