/* cmd_completion.c - mousse completion: a script that lets the shell complete commands, options
 * and values, made from the tables. */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

static void print_name(const char *name)
{
  for (; *name != '\0'; name++) putchar(*name == '_' ? '-' : *name);
}

static void print_options(const mo_settings *table)
{
  for (size_t i = 0; i < table->count; i++) {
    printf(" --");
    print_name(table->rows[i].name);
  }
}

/* --option) the names of its values */
static void print_choices(const mo_settings *table)
{
  for (size_t i = 0; i < table->count; i++) {
    const mo_setting *row = &table->rows[i];
    if (row->type != MO_TYPE_CHOICE) continue;
    printf("  --");
    print_name(row->name);
    printf(") words=\"");
    for (size_t k = 0; row->choices[k] != NULL; k++)
      printf("%s%s", k > 0 ? " " : "", row->choices[k]);
    printf("\" ;;\n");
  }
}

static void print_bash(void)
{
  printf("# bash completion for mousse: source <(mousse completion bash)\n"
         "_mousse()\n{\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"");
  for (size_t i = 0; i < command_count(); i++)
    printf("%s%s", i > 0 ? " " : "", command_at(i)->name);
  printf("\"\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n    return\n  fi\n"
         "  case $before in\n");
  for (size_t i = 0; i < command_count(); i++) {
    if (strcmp(command_at(i)->name, "train") == 0 && command_at(i)->base != NULL)
      print_choices(command_at(i)->base);
    print_choices(&command_at(i)->settings);
  }
  printf("  esac\n  if [ -z \"$words\" ]; then case ${COMP_WORDS[1]} in\n");
  for (size_t i = 0; i < command_count(); i++) {
    printf("  %s) words=\"", command_at(i)->name);
    if (command_at(i)->base != NULL) print_options(command_at(i)->base);
    print_options(&command_at(i)->settings);
    print_options(&common_settings);
    printf("\" ;;\n");
  }
  printf("  esac; fi\n"
         "  if [[ $word == -* || $words != *--* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n  fi\n"
         "}\n"
         "complete -o default -F _mousse mousse\n");
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  if (strcmp(call->arguments[0], "bash") != 0)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no completion for '%s', only for bash",
                   call->arguments[0]);
  print_bash();
  return MOUSSE_OK;
}

const cli_command command_completion = {
    .name = "completion",
    .summary = "Write a completion script for a shell",
    .arguments = "bash",
    .details = "  source <(mousse completion bash)\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
