#include "client/cli/shell_text.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace samebits::cli {
namespace {

// A command that does something, with its words: "ci check".
struct Leaf {
  std::string words;
  const CLI::App* app;
};

void Collect(const CLI::App& app, const std::string& words, std::vector<Leaf>* out) {
  const std::vector<const CLI::App*> inner = app.get_subcommands([](const CLI::App*) { return true; });
  if (inner.empty()) out->push_back({words, &app});
  for (const CLI::App* sub : inner) Collect(*sub, words.empty() ? sub->get_name() : words + " " + sub->get_name(), out);
}

std::vector<Leaf> Leaves(const CLI::App& app) {
  std::vector<Leaf> leaves;
  Collect(app, "", &leaves);
  return leaves;
}

bool TakesValue(const CLI::Option& option) { return option.get_expected_max() > 0 && option.get_type_size_max() > 0; }

std::vector<const CLI::Option*> Options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_positional(); });
}

// "--format", "-q": all spellings.
std::vector<std::string> Spellings(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const std::string& name : option.get_snames()) out.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.push_back("--" + name);
  return out;
}

// Words that an option takes, from a type such as "human|json"; empty where it takes anything.
std::vector<std::string> Choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.find('|') == std::string::npos || absl::AsciiStrToUpper(type) == type) return {};
  return absl::StrSplit(type, '|');
}

std::string Cases(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : Options(app)) {
    if (!TakesValue(*option)) continue;
    const std::vector<std::string> choices = Choices(*option);
    const std::string reply = choices.empty() ? "compgen -f -- \"$word\"" : absl::StrCat("compgen -W '", absl::StrJoin(choices, " "), "' -- \"$word\"");
    absl::StrAppend(&out, "        ", absl::StrJoin(Spellings(*option), "|"), ") COMPREPLY=($(", reply, ")); return ;;\n");
  }
  return out;
}

std::string Words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : Options(app))
    for (const std::string& spelling : Spellings(*option)) words.push_back(spelling);
  return absl::StrJoin(words, " ");
}

std::string FirstWords(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) words.push_back(sub->get_name());
  return absl::StrJoin(words, " ");
}

std::string ZshQuoted(const std::string& text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}, {"[", "("}, {"]", ")"}, {":", "\\:"}});
}

std::string ZshArguments(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : Options(app)) {
    const std::vector<std::string> choices = Choices(*option);
    const std::string value = !TakesValue(*option) ? ""
                              : choices.empty()    ? ":" + ZshQuoted(option->get_type_name()) + ":_files"
                                                   : absl::StrCat(":value:(", absl::StrJoin(choices, " "), ")");
    for (const std::string& spelling : Spellings(*option))
      absl::StrAppend(&out, " \\\n        '*", spelling, "[", ZshQuoted(option->get_description()), "]", value, "'");
  }
  return out + " \\\n        '*:file:_files'";
}

std::string Troff(const std::string& text) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}}), '\n'))
    absl::StrAppend(&out, line.empty() || (line[0] != '.' && line[0] != '\'') ? "" : "\\&", line, "\n");
  return out;
}

std::string TroffOptions(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : Options(app)) {
    std::string head = absl::StrJoin(Spellings(*option), ", ");
    if (TakesValue(*option)) absl::StrAppend(&head, " ", option->get_type_name());
    absl::StrAppend(&out, ".TP\n.B ", Troff(head), Troff(option->get_description()));
  }
  return out;
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  std::string cases, commands;
  for (const Leaf& leaf : Leaves(app)) {
    absl::StrAppend(&cases, "    '", leaf.words, "')\n      case \"$previous\" in\n", Cases(*leaf.app), "      esac\n      options='", Words(*leaf.app), "' ;;\n");
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string inner = FirstWords(*sub);
    if (!inner.empty()) absl::StrAppend(&commands, "    ", sub->get_name(), ") options='", inner, "' ;;\n");
  }
  return absl::StrCat(R"(# bash completion of samebits; load it with: source <(samebits completion bash)
_samebits() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} options='' command='' i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] && break
    command+="${command:+ }${COMP_WORDS[i]}"
    case "$command" in
)",
                      "      ", absl::StrJoin(Leaves(app), "|", [](std::string* out, const Leaf& leaf) { absl::StrAppend(out, "'", leaf.words, "'"); }), ") break ;;\n",
                      R"(    esac
  done
  case "$command" in
    '') options=')",
                      FirstWords(app), " ", Words(app), "' ;;\n", commands, cases, R"(  esac
  if [[ $word == -* || -z $command || -z ${options##[a-z]*} ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -o bashdefault -F _samebits samebits
)");
}

std::string ZshCompletion(const CLI::App& app) {
  std::string cases;
  for (const Leaf& leaf : Leaves(app)) absl::StrAppend(&cases, "    '", leaf.words, "')\n      _arguments", ZshArguments(*leaf.app), " ;;\n");
  std::string commands;
  for (const Leaf& leaf : Leaves(app)) absl::StrAppend(&commands, "    '", leaf.words, ":", ZshQuoted(leaf.app->get_description()), "'\n");
  return absl::StrCat(R"(#compdef samebits
# zsh completion of samebits; save it as _samebits in a folder of $fpath: samebits completion zsh
_samebits() {
  local -a commands=(
)",
                      commands, R"(  )
  local command=${words[2]}
  [[ $command == ci && CURRENT -gt 3 ]] && command="ci ${words[3]}"
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$command" in
    ci) compadd check ;;
)",
                      cases, "  esac\n}\n_samebits \"$@\"\n");
}

std::string TroffPage(const CLI::App& app, const std::string& version) {
  std::string out = absl::StrCat(".TH SAMEBITS 1 \"\" \"samebits ", version, "\"\n.SH NAME\nsamebits \\- do two GPU kernel launches return the same bits?\n",
                                 ".SH SYNOPSIS\n.B samebits\n.I COMMAND\n[OPTIONS] [KERNEL...]\n.SH DESCRIPTION\n.nf\n", Troff(app.get_footer()), ".fi\n");
  for (const Leaf& leaf : Leaves(app)) {
    absl::StrAppend(&out, ".SH ", Troff(absl::AsciiStrToUpper(leaf.words)), Troff(leaf.app->get_description() + "."), TroffOptions(*leaf.app), ".PP\n.nf\n",
                    Troff(std::string(absl::StripAsciiWhitespace(leaf.app->get_footer()))), ".fi\n");
  }
  return out;
}

}  // namespace samebits::cli
