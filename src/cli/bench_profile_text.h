/* bench_profile_text.h - what mousse bench --profile prints. */
#ifndef MOUSSE_CLI_BENCH_PROFILE_TEXT_H
#define MOUSSE_CLI_BENCH_PROFILE_TEXT_H

#include "bench/bench_profile.h"

mousse_status bench_profiles_print(const bench_profiles *profiles, mo_error *error);
void bench_profiles_print_json(const bench_profiles *profiles);

#endif
