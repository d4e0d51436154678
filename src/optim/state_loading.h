/* state_loading.h - one load of saved state: what its two files share. */
#ifndef MOUSSE_OPTIM_STATE_LOADING_H
#define MOUSSE_OPTIM_STATE_LOADING_H

#include "optim/state_format.h"

/* One load: the stream, and where things are put until it is known to be good. */
typedef struct mo_loading {
  mo_state_stream s;
  mo_arena arrays, lists; /* arrays: laid out like the live ones */
  mo_state_record *records;
  bool *seen, *taken; /* for each parameter: in the stream; and fits */
  bool *changed;      /* a fixed option of it was another */
  bool *told;         /* for each option of each group: a difference was reported */
  size_t *first_told; /* for each group */
  uint64_t steps;
  uint32_t version;
  bool matching; /* take what fits */
  mousse_report_fn report;
  void *report_user;
  char cause[160]; /* a fixed option of the current parameter that differs */
} mo_loading;

bool mo_loading_good(const mo_loading *l);

/* A difference that does not stop this load. */
void mo_loading_tell(mo_loading *l, mousse_difference difference, const char *name,
                     const char *text);

/* A number that no save has written. */
void mo_loading_damaged(mo_loading *l, const char *what, const char *of);

uint32_t mo_loading_u32(mo_loading *l);
uint64_t mo_loading_u64(mo_loading *l);
void mo_loading_text(mo_loading *l, char text[MO_NAME_LIMIT + 1]);

/* One array's floats for every rank, which keeps its own share; the largest magnitude among all. turned:
 * they come in the order of the other of rows and columns. param NULL: nobody keeps any. */
float mo_loading_floats(mo_loading *l, const mo_param *param, size_t array, uint64_t count,
                        bool turned);

/* Options are read and compared with those here. param NULL: with none. */
void mo_loading_object_options(mo_loading *l);
void mo_loading_param_options(mo_loading *l, const mo_param *param);

#endif
