#include "ptx/passes/probes/routine_functions.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ptx/passes/probes/code_reader.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {
namespace {

/// Imports a function and its callees, callees first.
class FunctionReader {
 public:
  FunctionReader(const Module& module, const std::vector<std::string_view>& placeholders,
                 RoutineFunctions& functions)
      : module_(module), placeholders_(placeholders), functions_(functions) {}

  Result<std::uint32_t> read(std::string_view name) {
    if (const auto known = done_.find(name); known != done_.end()) return known->second;
    const Function* function = module_.find_function(name);
    if (function == nullptr || !function->body)
      return refuse(name, "which is not defined here and cannot be part of a variant");
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
    Result<CodeFunction> code = code_of(*function, names);
    if (!code) return code.error();
    const std::uint32_t number = functions_.add(std::move(*code), std::move(callees));
    open_.erase(function->name);
    done_.emplace(function->name, number);
    return number;
  }

 private:
  static Failure refuse(std::string_view name, const std::string& why) {
    return failure("a handler calls the function '" + std::string(name) + "', " + why);
  }

  using Names = std::map<std::string, std::string, std::less<>>;

  /// LLVM numbers variables over the whole module.
  static void add_local_names(const Function& function, Names& names) {
    std::uint32_t variables = 0;
    const auto add_variables = [&](const std::vector<Variable>& declared) {
      for (const Variable& variable : declared) {
        if (names.emplace(variable.name, "__lynxpp_local_" + std::to_string(variables)).second) ++variables;
      }
    };
    add_variables(function.returns);
    add_variables(function.parameters);
    add_variables(function.body->variables);
  }

  Result<CodeFunction> code_of(const Function& function, const Names& names) const {
    CodeFunction made;
    if (Status declared = declare(function, names, made); !declared) return declared.error();
    std::string placeholder;
    const auto rename = [&](std::string_view name) -> std::optional<CodeReader::Renamed> {
      const auto is_prefix = [&](std::string_view prefix) {
        return !prefix.empty() && name.starts_with(prefix);
      };
      if (std::ranges::any_of(placeholders_, is_prefix)) placeholder = name;
      const auto renamed = names.find(name);
      if (renamed == names.end()) return std::nullopt;
      return CodeReader::Renamed{Name{renamed->second}};
    };
    CodeReader reader(module_, *function.body, made.names, rename);
    CodeBuilder code(made.names);
    const Status read =
        reader.read_all([&](const Instruction& instruction) { return reader.read(instruction, code); }, code);
    if (!placeholder.empty()) {
      return refuse(function.name,
                    "which uses '" + placeholder + "': site values must be passed as parameters");
    }
    if (!read) return refuse(function.name, "and " + read.error().diagnostics.front().message);
    made.code = code.take();
    return made;
  }

  static Status declare(const Function& function, const Names& names, CodeFunction& made) {
    const auto declaration = [&](const Variable& variable) {
      return declaration_of(variable, names.find(variable.name)->second);
    };
    if (function.returns.size() > 1) return refuse(function.name, "which has several results");
    for (const Variable& variable : function.returns) {
      const Result<std::string> text = declaration(variable);
      if (!text) return text.error();
      made.result = *text;
    }
    for (const Variable& variable : function.parameters) {
      const Result<std::string> text = declaration(variable);
      if (!text) return text.error();
      made.parameters.push_back(*text);
    }
    return success();
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

std::uint32_t RoutineFunctions::add(CodeFunction function, std::set<std::uint32_t> callees) {
  const auto known = std::ranges::find(entries_, function, &Entry::function);
  if (known != entries_.end()) return static_cast<std::uint32_t>(known - entries_.begin());
  entries_.push_back({std::move(function), std::move(callees)});
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

void RoutineFunctions::use(const std::set<std::uint32_t>& functions) {
  for (const std::uint32_t function : functions) {
    if (!std::exchange(entries_[function].is_used, true)) use(entries_[function].callees);
  }
}

std::vector<CodeFunction> RoutineFunctions::definitions() const {
  std::vector<CodeFunction> functions;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].is_used) continue;
    functions.push_back(entries_[i].function);
    functions.back().name = name(i);
  }
  return functions;
}

std::uint64_t RoutineFunctions::instructions() const {
  std::uint64_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.is_used ? entry.function.code.size() : 0;
  return sum;
}

Result<std::uint32_t> add_function(const Module& module, std::string_view name,
                                   const std::vector<std::string_view>& placeholders,
                                   RoutineFunctions& functions) {
  return FunctionReader(module, placeholders, functions).read(name);
}

}  // namespace lynxpp::ptx
