/* profile.h - where the time of a pass goes, by kinds of work, summed over threads. Without a
 * profile it costs a comparison per layer and tile.
 *
 *     gpt_profile profile = {0};
 *     gpt_pass_profile(pass, &profile);    // from now on
 *     gpt_gradients(pass, ...);
 *     gpt_profile_seconds(&profile, GPT_PROFILE_NORM)
 */
#ifndef MOUSSE_GPT_PROFILE_H
#define MOUSSE_GPT_PROFILE_H

#include "base/clock.h"
#include "base/parallel.h"
#include "gpt/gpt.h"

#include <stdatomic.h>

typedef enum gpt_profile_kind {
#define GPT_PROFILED(member, name, limit) GPT_PROFILE_##member,
#include "gpt/profile.def"
  GPT_PROFILE_KINDS
} gpt_profile_kind;

typedef enum gpt_profile_limit { GPT_LIMIT_PRODUCTS, GPT_LIMIT_MEMORY } gpt_profile_limit;

typedef struct gpt_profile {
  atomic_ullong nanoseconds[GPT_PROFILE_KINDS];
} gpt_profile;

const char *gpt_profile_name(gpt_profile_kind kind);
gpt_profile_limit gpt_profile_limited_by(gpt_profile_kind kind);
double gpt_profile_seconds(const gpt_profile *profile, gpt_profile_kind kind);
/* What a call of gpt_gradients must do of a kind: floating-point operations, attention's counted
 * below the diagonal alone and nothing counted that is only computed again; or bytes, each array
 * read or written once. */
double gpt_profile_work(const gpt_config *config, size_t batch, size_t sequence,
                        gpt_profile_kind kind);

/* NULL: from now on nobody measures. The profile is borrowed. */
void gpt_pass_profile(gpt_pass *pass, gpt_profile *profile);

/* A stop-watch in one thread: each lap goes to a kind. */
typedef struct gpt_lap {
  gpt_profile *profile; /* NULL: off */
  double started;
} gpt_lap;

static inline gpt_lap gpt_lap_start(gpt_profile *profile)
{
  return (gpt_lap){profile, profile != NULL ? mo_seconds() : 0.0};
}

static inline void gpt_lap_end(gpt_lap *lap, gpt_profile_kind kind)
{
  if (lap->profile == NULL) return;
  const double now = mo_seconds();
  atomic_fetch_add(&lap->profile->nanoseconds[kind],
                   (unsigned long long)(1e9 * (now - lap->started)));
  lap->started = now;
}

/* A task whose items are laps of one kind; `timed` must last as long as the result. */
typedef struct gpt_timed_task {
  gpt_profile *profile;
  mo_task task;
  gpt_profile_kind kind;
} gpt_timed_task;
mo_task gpt_time_task(gpt_profile *profile, gpt_timed_task *timed, mo_task task,
                      gpt_profile_kind kind);

#endif
