/* reproduce_notes.c - what a report says of how its runs were made. */
#include "paper/reproduce_notes.h"

#include <stdio.h>

bool reproduce_fine_tunes(const reproduction *what)
{
  return (what->request.figures & FIGURE_BIT(fine_tuning)) != 0;
}

/* "5 runs", or "5 runs (4 in 128x4, 32k)". */
static void describe_rates(const study_scale *s, char *text, size_t capacity)
{
  size_t used = (size_t)snprintf(text, capacity, "%d runs", s->rates);
  for (int i = 1; i < s->regime_count && used < capacity; i++)
    if (s->regimes[i].rates > 0)
      used += (size_t)snprintf(text + used, capacity - used, " (%d in %s)", s->regimes[i].rates,
                               s->regimes[i].name);
}

void reproduce_notes(const reproduction *what, json_t *results)
{
  const study_scale *s = what->scale;
  char text[1000], rates[100];
  describe_rates(s, rates, sizeof rates);
  snprintf(
      text, sizeof text,
      "Scale '%s' of docs/evidence-protocol.md. Every contender searches for its learning "
      "rate and momentum together, with %d runs of one seed in the regime %s, then, with %d "
      "more, for the rates of embedding and head, the weight decay, the memory of its "
      "statistics, that of the optimizer of embedding and head and the learning rate again "
      "(Muon and AdamW, which have a memory less: the momentum again as well); in every other "
      "regime it searches for its learning rate again, with %s, its momentum goes with "
      "the length of the run, and the rest stays. The best is then trained with %d other "
      "seeds, which chose nothing; losses and differences, paired by seed, are over those, at "
      "the end of the schedule.",
      s->name, s->search_runs, s->regimes[0].name, 2 * s->details, rates, s->seeds);
  results_note(results, text);
  results_note(results, "Lion trains embedding and head, the head at the learning rate divided "
                        "by the root of the width. AdamW trains them in the runs of AdamW, "
                        "NorMuon in those called 'throughout'.");
  results_note(results, "Seconds are steps times the median time of a step, each run on its "
                        "share of the machine's cores. Runs share the machine, so these are "
                        "not the times of a quiet one; benchmarks/step-time measures those.");
  snprintf(text, sizeof text, "Text: %.200s.",
           what->data_dir != NULL ? what->data_dir
           : what->text != NULL
               ? what->text
               : "sentences made up by a few rules; give --text for real ones");
  results_note(results, text);
  if (!reproduce_fine_tunes(what)) return;
  snprintf(text, sizeof text, "Other text, for fine-tuning: %.200s.",
           what->other_text != NULL ? what->other_text : "questions made up by a few rules");
  results_note(results, text);
}
