#include "ptx/passes/probes/routine_functions.h"

#include <algorithm>
#include <map>

#include "ptx/passes/module/identifiers.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {
namespace {

/// Takes a function and those it calls over, callees first.
class FunctionReader {
 public:
  FunctionReader(const Module& module, const std::vector<std::string_view>& placeholders,
                 RoutineFunctions& functions)
      : module_(module), placeholders_(placeholders), functions_(functions) {}

  Result<std::uint32_t> read(std::string_view name) {
    if (const auto known = done_.find(name); known != done_.end()) return known->second;
    const Function* function = module_.find_function(name);
    if (function == nullptr || !function->body)
      return refuse(name, "which has no body here and cannot be part of a variant");
    if (!open_.insert(function->name).second) return refuse(name, "which calls itself");
    std::set<std::uint32_t> callees;
    std::map<std::string, std::string, std::less<>> names;
    for (const Instruction& instruction : function->body->instructions) {
      if (instruction.traits.kind != OpcodeClass::call) continue;
      const std::string_view callee = direct_callee(module_, instruction);
      if (callee.empty()) return refuse(name, "which calls through a pointer");
      const Result<std::uint32_t> number = read(callee);
      if (!number) return number.error();
      callees.insert(*number);
      names[std::string(callee)] = RoutineFunctions::name(*number);
    }
    add_local_names(*function, names);
    Result<std::string> text = copy(*function, names);
    if (!text) return text.error();
    const std::uint32_t number = functions_.add(
        *text, std::move(callees), static_cast<std::uint32_t>(function->body->instructions.size()));
    open_.erase(function->name);
    done_.emplace(function->name, number);
    return number;
  }

 private:
  static Failure refuse(std::string_view name, const std::string& why) {
    return failure("a handler calls the function '" + std::string(name) + "', " + why);
  }

  /// LLVM numbers labels and variables over the whole module.
  static void add_local_names(const Function& function,
                              std::map<std::string, std::string, std::less<>>& names) {
    names[function.name] = std::string(1, RoutineFunctions::own_name);
    std::uint32_t variables = 0;
    const auto add_variables = [&](const std::vector<Variable>& declared) {
      for (const Variable& variable : declared) {
        if (names.emplace(variable.name, "__lynxpp_local_" + std::to_string(variables)).second) ++variables;
      }
    };
    add_variables(function.returns);
    add_variables(function.parameters);
    add_variables(function.body->variables);
    std::uint32_t labels = 0;
    for (const Statement& statement : function.body->statements) {
      if (statement.kind == StatementKind::label)
        names[std::string(statement.name)] = "$lynxpp_" + std::to_string(labels++);
    }
  }

  Result<std::string> copy(const Function& function,
                           const std::map<std::string, std::string, std::less<>>& names) const {
    std::string text;
    std::string_view placeholder;
    split_identifiers(
        module_.text(function.text),
        [&](std::string_view name) {
          const auto is_prefix = [&](std::string_view prefix) {
            return !prefix.empty() && name.starts_with(prefix);
          };
          if (std::ranges::any_of(placeholders_, is_prefix)) placeholder = name;
          const auto renamed = names.find(name);
          text += renamed != names.end() ? std::string_view(renamed->second) : name;
        },
        [&](std::string_view other) { text += other; });
    if (!placeholder.empty())
      return refuse(function.name, "which names '" + std::string(placeholder) +
                                       "': what belongs to a site has to come in as a parameter");
    return text;
  }

  const Module& module_;
  const std::vector<std::string_view>& placeholders_;
  RoutineFunctions& functions_;
  std::map<std::string, std::uint32_t, std::less<>> done_;
  std::set<std::string_view> open_;
};

}  // namespace

std::string RoutineFunctions::name(std::uint32_t function) {
  return std::string(routine_function_prefix) + std::to_string(function);
}

std::uint32_t RoutineFunctions::add(std::string_view text, std::set<std::uint32_t> callees,
                                    std::uint32_t instructions) {
  const auto known = std::ranges::find(entries_, text, &Entry::text);
  if (known != entries_.end()) return static_cast<std::uint32_t>(known - entries_.begin());
  entries_.push_back({std::string(text), std::move(callees), instructions});
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

void RoutineFunctions::use(std::uint32_t function) {
  Entry& entry = entries_[function];
  if (entry.is_used) return;
  entry.is_used = true;
  for (const std::uint32_t callee : entry.callees) use(callee);
}

std::string RoutineFunctions::definitions() const {
  std::string text;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].is_used) continue;
    for (const char c : entries_[i].text) {
      if (c == own_name) {
        text += name(i);
      } else {
        text += c;
      }
    }
    text += "\n";
  }
  return text;
}

std::uint64_t RoutineFunctions::instructions() const {
  std::uint64_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.is_used ? entry.instructions : 0;
  return sum;
}

Result<std::uint32_t> add_function(const Module& module, std::string_view name,
                                   const std::vector<std::string_view>& placeholders,
                                   RoutineFunctions& functions) {
  return FunctionReader(module, placeholders, functions).read(name);
}

}  // namespace lynxpp::ptx
