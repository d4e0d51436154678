/* cmd_completion.c - mousse completion: a script for a shell, which asks the program itself for
 * the words that may follow ('mousse completion words -- ...'), so that it is never out of
 * date. */
#include "cli/completion.h"
#include "cli/next_step.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *shell, *script;
} scripts[] = {
    {"bash", "# bash completion for mousse: source <(mousse completion bash)\n"
             "_mousse()\n"
             "{\n"
             "  local line\n"
             "  COMPREPLY=()\n"
             "  while IFS= read -r line; do\n"
             "    if [ \"$line\" = :files ]; then compopt -o default; continue; fi\n"
             "    COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
             "  done < <(\"${COMP_WORDS[0]}\" completion words -- "
             "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
             "}\n"
             "complete -F _mousse mousse\n"},
    {"zsh", "#compdef mousse\n"
            "# zsh completion for mousse: source <(mousse completion zsh)\n"
            "_mousse()\n"
            "{\n"
            "  local line name\n"
            "  local -a found\n"
            "  while IFS= read -r line; do\n"
            "    if [[ $line == :files ]]; then _files; continue; fi\n"
            "    name=${line%%$'\\t'*}\n"
            "    found+=(\"${name//:/\\\\:}:${line#*$'\\t'}\")\n"
            "  done < <(\"${words[1]}\" completion words -- \"${(@)words[2,CURRENT]}\" "
            "2>/dev/null)\n"
            "  (( ${#found} )) && _describe mousse found\n"
            "}\n"
            "compdef _mousse mousse\n"},
    {"fish", "# fish completion for mousse: mousse completion fish | source\n"
             "function __mousse_words\n"
             "  set -l words (commandline -opc) (commandline -ct)\n"
             "  for line in ($words[1] completion words -- $words[2..-1] 2>/dev/null)\n"
             "    if test \"$line\" = :files\n"
             "      __fish_complete_path (commandline -ct)\n"
             "    else\n"
             "      echo $line\n"
             "    end\n"
             "  end\n"
             "end\n"
             "complete -c mousse -f -a '(__mousse_words)'\n"},
};

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const char *what = call->arguments[0];
  if (strcmp(what, "words") == 0) {
    completion_print(call->arguments + 1, call->argument_count - 1);
    return MOUSSE_OK;
  }
  for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
    if (strcmp(scripts[i].shell, what) != 0) continue;
    fputs(scripts[i].script, stdout);
    if (terminal_is(stdout)) /* a shell that reads it wants no more lines */
      next_step_words(call, "load it as its first lines say");
    return MOUSSE_OK;
  }
  return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                 "there is no completion for '%.80s', only for bash, zsh and fish", what);
}

const cli_command command_completion = {
    .name = "completion",
    .summary = "Write a completion script for a shell",
    .arguments = "bash|zsh|fish",
    .details = "Completes commands, options and their values: optimizers, presets, figures, "
               "data sets.\n\n"
               "  source <(mousse completion bash)          in ~/.bashrc\n"
               "  source <(mousse completion zsh)           in ~/.zshrc, after compinit\n"
               "  mousse completion fish | source           in ~/.config/fish/config.fish\n",
    .least_arguments = 1,
    .most_arguments = ANY_NUMBER_OF_ARGUMENTS,
    .run = run,
};
