#include "cli/completion/complete.h"

#include <algorithm>
#include <set>

#include "instrumentors/catalogue.h"
#include "ptx/parser/parser.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using Words = std::vector<std::string>;

constexpr const char* files = ":files";
constexpr const char* program = ":command";

bool takes_value(const CLI::Option& option) { return option.get_items_expected_min() > 0; }

const CLI::Option* option_named(const CLI::App& command, const std::string& word) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() && option->check_name(word)) return option;
  }
  return nullptr;
}

void add_subcommands(const CLI::App& app, Words& candidates) {
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
    candidates.push_back(each->get_name());
}

void add_options(const CLI::App& command, const Words& given, Words& candidates) {
  for (const CLI::Option* option : command.get_options()) {
    const bool is_given = std::ranges::any_of(
        given, [&](const std::string& word) { return word.starts_with('-') && option->check_name(word); });
    const bool may_repeat = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (option->get_positional() || (is_given && !may_repeat)) continue;
    for (const std::string& name : option->get_lnames()) candidates.push_back("--" + name);
    for (const std::string& name : option->get_snames()) candidates.push_back("-" + name);
  }
}

void add_specifications(Words& candidates) {
  for (const instrumentors::ReadyMade& each : instrumentors::ready_made()) candidates.emplace_back(each.name);
}

/// Adds the plain names of the kernels in the PTX files among the words.
void add_kernels(const Words& given, Words& candidates) {
  std::set<std::string> names;
  for (const std::string& word : given) {
    std::string text;
    if (!word.ends_with(".ptx") || !read_file(word, text)) continue;
    const auto module = ptx::parse_module(text, word);
    if (!module) continue;
    for (const ptx::Function& function : module->functions) {
      if (function.is_entry)
        names.insert(demangle(function.name).substr(0, demangle(function.name).find('(')));
    }
  }
  candidates.insert(candidates.end(), names.begin(), names.end());
}

void add_values(const CLI::Option& option, const Words& given, Words& candidates) {
  const std::string type = option.get_type_name();
  const CLI::Validator* const validator = [&]() -> const CLI::Validator* {
    try {
      return const_cast<CLI::Option&>(option).get_validator(0);
    } catch (const CLI::OptionNotFound&) {
      return nullptr;
    }
  }();
  const std::string names = validator == nullptr ? "" : validator->get_name();
  if (!names.empty()) {
    for (const std::string_view name : split(names, '|')) candidates.emplace_back(name);
  } else if (type == "SPEC") {
    add_specifications(candidates);
    candidates.emplace_back(files);
  } else if (type == "NAME" || type == "KERNEL") {
    add_kernels(given, candidates);
  } else if (type.starts_with("FILE") || type == "FOLDER" || type == "MACHINE") {
    candidates.emplace_back(files);
  }
}

void add_positionals(const CLI::App& command, Words& candidates) {
  const bool names_specifications = command.get_name() == "check" || command.get_name() == "list";
  if (names_specifications) add_specifications(candidates);
  if (command.get_name() != "list") candidates.emplace_back(files);
}

/// True if a program and its arguments follow the options. `ptx run` is not `run`.
bool runs_a_program(const CLI::App& command) {
  if (command.get_parent()->get_parent() != nullptr) return false;
  for (const char* name : {"run", "record", "bench", "limits", "quality", "band", "advise", "characterize"}) {
    if (command.get_name() == name) return true;
  }
  return false;
}

/// True if the program follows "--", and other words may precede it.
bool needs_divider(const CLI::App& command) {
  return command.get_name() == "advise" || command.get_name() == "characterize";
}

/// Adds candidates for one command; `given` are its words without its name and without the word being typed.
void add_words(const CLI::App& command, const Words& given, const std::string& typed, Words& candidates) {
  const bool has_program = runs_a_program(command);
  const CLI::Option* waiting = nullptr;
  for (const std::string& word : given) {
    const bool is_value = waiting != nullptr;
    waiting = is_value ? nullptr : option_named(command, word);
    if (waiting != nullptr && !takes_value(*waiting)) waiting = nullptr;
    const bool begins_program = has_program && !is_value && (word == "--" || !word.starts_with('-'));
    if (begins_program && (!needs_divider(command) || word == "--")) {
      candidates.emplace_back(word == "--" && &word == &given.back() ? program : files);
      return;
    }
  }
  if (waiting != nullptr) return add_values(*waiting, given, candidates);
  if (typed.starts_with('-')) return add_options(command, given, candidates);
  if (has_program && !needs_divider(command)) {
    candidates.emplace_back(program);
  } else {
    add_positionals(command, candidates);
  }
}

Words candidates_for(const CLI::App& app, const Words& words) {
  Words candidates;
  const CLI::App* command = &app;
  std::size_t next = 0;
  const bool is_help = words.size() > 1 && words[0] == "help";
  for (next = is_help ? 1 : 0; next + 1 < words.size(); ++next) {
    const CLI::App* const inner = subcommand_named(*command, words[next]);
    if (inner == nullptr) break;
    command = inner;
  }
  const std::string& typed = words.back();
  const bool is_first = next + 1 == words.size();
  if (is_first && !typed.starts_with('-')) {
    add_subcommands(*command, candidates);
    if (command == &app && !is_help) candidates.emplace_back("help");
  }
  if (command->get_require_subcommand_min() > 0) {
    if (is_first && typed.starts_with('-')) add_options(*command, {}, candidates);
  } else if (!is_help) {
    add_words(*command, {words.begin() + static_cast<std::ptrdiff_t>(next), words.end() - 1}, typed,
              candidates);
  }
  return candidates;
}

}  // namespace

const CLI::App* subcommand_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name() == name) return each;
  }
  return nullptr;
}

CLI::Validator one_of(std::initializer_list<const char*> values) {
  std::string names;
  for (const char* each : values) names += (names.empty() ? "" : "|") + std::string(each);
  return CLI::Validator(CLI::IsMember(std::vector<std::string>(values.begin(), values.end())))
      .description("")
      .name(names);
}

std::string complete(const CLI::App& app, const std::vector<std::string>& words) {
  const Words all = words.empty() ? Words{""} : words;
  // In a list with commas, the last name is being typed.
  const std::string& typed = all.back();
  const std::size_t comma = typed.rfind(',');
  const std::string before = comma == std::string::npos ? "" : typed.substr(0, comma + 1);
  std::string text;
  for (const std::string& each : candidates_for(app, all)) {
    const bool is_request = each.starts_with(':');
    if (is_request || (before + each).starts_with(typed)) text += (is_request ? each : before + each) + "\n";
  }
  return text;
}

}  // namespace lynxpp::cli
