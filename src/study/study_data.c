/* study_data.c - see study_data.h. */
#include "study/study_data.h"

#include <stdio.h>
#include <string.h>

static mousse_status compare(const made_with *made, const char *what, const char *before,
                             uint64_t here, const char *remedy, mo_error *error)
{
  char found[17] = "none";
  if (here != 0) snprintf(found, sizeof found, "%016llx", (unsigned long long)here);
  if (before == NULL || before[0] == '\0') before = "none";
  if (strcmp(before, found) == 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%.200s was made with other %s data: their checksum is %s, that of %.100s is "
                 "%s; %s",
                 made->run, what, before, made->data_dir, found, remedy);
}

mousse_status study_data_compare(study_data *data, const made_with *made, const char *remedy,
                                 mo_error *error)
{
  if (made->train == NULL || made->train[0] == '\0') return MOUSSE_OK;
  if (strcmp(data->directory, made->data_dir) != 0) {
    MO_TRY(run_data_checksums(made->data_dir, &data->here, error));
    snprintf(data->directory, sizeof data->directory, "%s", made->data_dir);
  }
  if (data->here.train == 0) return MOUSSE_OK;
  MO_TRY(compare(made, "training", made->train, data->here.train, remedy, error));
  return compare(made, "validation", made->val, data->here.val, remedy, error);
}
