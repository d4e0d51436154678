/* fuzz_archive.c - an archive of runs from any bytes. A run that is taken has a name that stays in
 * its folder, and a data_dir of the study lies in the study. */
#include "base/lines.h"
#include "fuzz.h"
#include "study/archived_run.h"

#include <string.h>

static archived_run run;

static mousse_status take(void *context, const char *line, size_t size, mo_error *error)
{
  const archived_study *study = context;
  MO_TRY(archived_run_read(&run, study, line, size, error));
  FUZZ_CHECK(run.name[0] != '\0' && run.name[0] != '.' && strchr(run.name, '/') == NULL);
  const train_options *const both[] = {&run.options, &run.config};
  for (int i = 0; i < 2; i++) {
    FUZZ_CHECK(both[i]->data_dir[0] != '@');
    FUZZ_CHECK(strncmp(both[i]->data_dir, "study/..", strlen("study/..")) != 0);
  }
  archived_run_release(&run);
  return MOUSSE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  archived_study study = {"study", "study/runs", NULL};
  mo_error error;
  mo_lines_take("input", (const char *)data, size, take, &study, &error);
  return 0;
}
