/* scales.c - the scales and their regimes.
 *
 * 'laptop' and 'overnight' are held to: at least 500 steps, at least 15 tokens per weight, hidden
 * matrices of 64 to 512, a vocabulary that does not dominate the weights (tests/study checks it).
 */
#include "paper/scales.h"

#include <stddef.h>
#include <string.h>

static const study_scale scales[] = {
    {
        .name = "smoke",
        .help = "a minute or two: everything once, nothing learned",
        .regimes = {{"16x1, 128", 16, 1, 1, 4, 24, 0},
                    {"24x1, 128", 24, 1, 1, 4, 24, 0},
                    {"24x1, 256", 24, 1, 1, 8, 24, 0}},
        .regime_count = 3,
        .vocabulary = 300,
        .sequence_length = 32,
        .val_tokens = 1024,
        .validations = 6,
        .search_runs = 3,
        .details = 1,
        .length_runs = 3,
        .rates = 1,
        .variant_rates = 1,
        .fine_rates = 2,
        .seeds = 2,
    },
    {
        .name = "laptop",
        .help = "about 20 hours on two cores, an hour or a night at a time",
        .regimes = {{"64x3, 8k", 64, 3, 4, 64, 512, 0},
                    {"64x3, 32k", 64, 3, 4, 256, 512, 0},
                    {"96x4, 8k", 96, 4, 6, 64, 1200, 0},
                    {"128x4, 32k", 128, 4, 8, 256, 512, 4}},
        .regime_count = 4,
        .vocabulary = 1024,
        .sequence_length = 128,
        .val_tokens = 131072,
        .validations = 8,
        .search_runs = 8,
        .details = PAPER_DETAILS,
        .length_runs = 8,
        .rates = 5,
        .variant_rates = 3,
        .fine_rates = 7,
        .seeds = 5,
    },
    {
        .name = "overnight",
        .help = "four to five days on two cores, a night at a time",
        .regimes = {{"64x3, 8k", 64, 3, 4, 64, 512, 0},
                    {"64x3, 32k", 64, 3, 4, 256, 512, 0},
                    {"96x4, 8k", 96, 4, 6, 64, 1200, 0},
                    {"96x4, 32k", 96, 4, 6, 256, 512, 0},
                    {"128x4, 8k", 128, 4, 8, 64, 1950, 0},
                    {"128x4, 32k", 128, 4, 8, 256, 512, 0}},
        .regime_count = 6,
        .vocabulary = 1024,
        .sequence_length = 128,
        .val_tokens = 131072,
        .validations = 8,
        .search_runs = 12,
        .details = PAPER_DETAILS,
        .length_runs = 8,
        .rates = 5,
        .variant_rates = 3,
        .fine_rates = 7,
        .seeds = 5,
    },
};

const char *const study_scale_names[] = {"smoke", "laptop", "overnight", NULL};

const study_scale *study_scale_find(const char *name)
{
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
    if (strcmp(scales[i].name, name) == 0) return &scales[i];
  return NULL;
}

double study_regime_weights(const study_scale *scale, const study_regime *regime)
{
  const double width = regime->width;
  return 2 * scale->vocabulary * width + 12 * regime->layers * width * width;
}
