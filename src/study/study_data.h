/* study_data.h - whether runs were made with the data that are there now: losses on different texts
 * cannot be compared. */
#ifndef MOUSSE_STUDY_STUDY_DATA_H
#define MOUSSE_STUDY_STUDY_DATA_H

#include "train/run_data.h"

/* The checksums of the data directory that was asked for last. Zeroed: of none yet. */
typedef struct study_data {
  char directory[MO_SETTING_PATH];
  data_checksums here;
} study_data;

/* A run, with the checksums that it tells; "" or NULL: there were none, of train: it does not tell. */
typedef struct made_with {
  const char *run, *data_dir, *train, *val;
} made_with;

/* Refuses a run on other data; those that are not there cannot be compared. remedy: what the sentence
 * ends with. */
mousse_status study_data_compare(study_data *data, const made_with *made, const char *remedy,
                                 mo_error *error);

#endif
