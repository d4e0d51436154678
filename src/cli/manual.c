/* manual.c - the manual page mousse(1), made from the tables. */
#include "cli/help.h"
#include "gpt/gpt.h"
#include "train/options.h"

#include <stdio.h>
#include <string.h>

/* Text for man: backslashes and hyphens are escaped, a leading dot or quote is protected. */
static void print_roff(const char *text)
{
  bool line_start = true;
  for (const char *c = text; *c != '\0'; c++) {
    if (line_start && (*c == '.' || *c == '\'')) printf("\\&");
    if (*c == '\\')
      printf("\\e");
    else if (*c == '-')
      printf("\\-");
    else
      putchar(*c);
    line_start = *c == '\n';
  }
}

static void print_entry(const char *head, const char *text, const char *more)
{
  printf(".TP\n.B ");
  print_roff(head);
  printf("\n");
  print_roff(text);
  print_roff(more);
  printf("\n");
}

static void print_options(const mo_settings *table, bool saved)
{
  for (size_t i = 0; i < table->count; i++) {
    char form[96], limits[320];
    for (const mo_section *s = table->sections; s != NULL && s->title != NULL; s++)
      if (strcmp(s->first, table->rows[i].name) == 0) printf(".PP\n.I %s\n", s->title);
    help_option_form(&table->rows[i], saved, form, sizeof form);
    help_option_limits(&table->rows[i], limits, sizeof limits);
    print_entry(form, table->rows[i].help, limits);
  }
}

static void print_details(const char *details)
{
  char part[HELP_PART];
  while (help_part(&details, part, sizeof part)) {
    const bool example = part[0] == ' ';
    printf(".PP\n%s", example ? ".nf\n" : "");
    print_roff(part);
    printf("%s%s", part[strlen(part) - 1] == '\n' ? "" : "\n", example ? ".fi\n" : "");
  }
}

static void print_command(const cli_command *command)
{
  const bool run = command->base == &train_settings;
  const bool train = strcmp(command->name, "train") == 0;
  printf(".SS \"mousse %s%s%s\"\n", command->name, command->arguments[0] != '\0' ? " " : "",
         command->arguments);
  print_roff(command->summary);
  printf(".\n");
  if (command->base != NULL && (train || !run)) print_options(command->base, run);
  if (run && train) printf(".PP\n.I Other options\n");
  print_options(&command->settings, false);
  if (run && !train) printf(".PP\nTakes the options of\n.B mousse train\nas well.\n");
  print_details(command->details);
}

static void print_optimizers(void)
{
  const char *name = NULL;
  printf(
      ".SH OPTIMIZERS\nSet as\n.BI \\-\\-opt. \"NAME VALUE\"\nfor the optimizer of the hidden "
      "matrices and as\n.BI \\-\\-scalar. \"NAME VALUE\"\nfor that of embedding and head. "
      "Defaults are the library's;\n.B mousse train\nhas some of its own\n(\\-\\-recipe).\n");
  for (size_t i = 0; (name = mousse_algorithm_name(i)) != NULL; i++) {
    const mousse_option *option = NULL;
    printf(".SS %s\n", name);
    print_roff(mousse_algorithm_help(name));
    printf("\n");
    for (size_t k = 0; (option = mousse_algorithm_option(name, k)) != NULL; k++) {
      char limits[320];
      help_optimizer_limits(option, limits, sizeof limits);
      print_entry(option->name, option->help, limits);
    }
  }
}

static void print_presets(void)
{
  const char *name = NULL;
  gpt_config c;
  printf(".SH PRESETS\n");
  for (size_t i = 0; (name = gpt_preset_name(i)) != NULL; i++) {
    char text[160];
    if (gpt_preset(name, &c, NULL) != MOUSSE_OK) continue;
    snprintf(text, sizeof text,
             "%.1f M parameters: width %zu, %zu layers, %zu heads, context %zu, vocabulary %zu",
             (double)gpt_parameter_count(&c) / 1e6, c.n_embd, c.n_layer, c.n_head,
             c.sequence_len, c.vocab_size);
    print_entry(name, text, "");
  }
}

/* What no table has. */
static const struct {
  const char *head, *text;
} files[] =
    {
        {"RUN/config.yaml", "every option of a run; 'mousse train --config' reads it"},
        {"RUN/metrics.jsonl",
         "every step, validation and telemetry entry, one JSON object a line"},
        {"RUN/events.jsonl", "what happened: starts, checkpoints, samples, notices"},
        {"RUN/log.txt", "notices, with times"},
        {"RUN/checkpoints/step-N/",
         "model.safetensors, config.json, tokenizer.json, the optimizer's "
         "state, and a manifest with checksums"},
        {"DATA/NAME_train_NNNNNN.bin, DATA/NAME_val_NNNNNN.bin",
         "token shards, in the format of llm.c"},
        {"DATA/tokenizer.json, DATA/manifest.json",
         "the tokenizer, and what the shards were made from"},
},
  environment[] = {
      {"OMP_NUM_THREADS", "how many threads are used where --threads is 0"},
      {"NO_COLOR", "if set and not empty: no colour on terminals"},
      {"COLUMNS",
       "width of the terminal, where the system does not know it; tables are not cut "
       "where there is neither"},
      {"LC_ALL, LC_CTYPE, LANG", "if they name UTF-8, progress bars are drawn with lines"},
};

void help_manual(void)
{
  printf(".TH MOUSSE 1 \"\" \"mousse " MOUSSE_VERSION_TEXT "\" \"User Commands\"\n"
         ".SH NAME\nmousse \\- train GPT models and prepare their data\n"
         ".SH SYNOPSIS\n.B mousse\n.I COMMAND\n[arguments] [options]\n"
         ".SH DESCRIPTION\n"
         ".B mousse\n"
         "turns text into tokens, trains GPT language models on CPUs with the Mousse optimizer "
         "and others, evaluates them, generates text, and compares runs. If a run is stopped "
         "or killed, the same command continues it, and it ends with the same bits.\n"
         ".PP\n"
         "Options are written\n"
         ".B \\-\\-name value\n"
         "or\n"
         ".BR \\-\\-name=value ;\n"
         "switches\n"
         ".B \\-\\-name\n"
         "or\n"
         ".BR \\-\\-no\\-name .\n"
         "Hyphens and underscores in names are interchangeable. Whole numbers may end in k, M "
         "or G (powers of 1000), and sizes are in powers of 1000 everywhere: 1 MB is 1,000,000 "
         "bytes.\n"
         ".SH COMMANDS\n");
  for (size_t i = 0; i < command_count(); i++) print_command(command_at(i));
  printf(".SH COMMON OPTIONS\n");
  print_options(&common_settings, false);
  print_optimizers();
  print_presets();
  printf(".SH EXIT STATUS\n");
  for (size_t i = 0; help_exit_code(i) != NULL; i++)
    printf(".TP\n.B %d\n%s\n", help_exit_code(i)->code, help_exit_code(i)->text);
  printf(".SH ENVIRONMENT\n");
  for (size_t i = 0; i < sizeof environment / sizeof *environment; i++)
    print_entry(environment[i].head, environment[i].text, "");
  printf(".SH FILES\n");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    print_entry(files[i].head, files[i].text, "");
  printf(".SH EXAMPLES\n.nf\n");
  print_roff(
      "mousse tokenize book.txt --tokenizer train:1024 --out data/book\n"
      "mousse train --data-dir data/book --preset nano --num-iterations 300 --out runs/book\n"
      "mousse generate --init runs/book --prompt \"It was\"\n"
      "mousse sweep --data-dir data/book --preset nano --optimizer mousse,muon \\\n"
      "  --lr 0.04,0.08,0.16 --seed 1,2,3 --out sweeps/lr\n"
      "mousse report sweeps/lr -o report.html\n");
  printf(".fi\n");
}
