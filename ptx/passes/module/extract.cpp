#include "ptx/passes/module/extract.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>

namespace lynxpp::ptx {
namespace {

class Extract {
 public:
  explicit Extract(InstrumentationUnit& unit) : unit_(unit) {}

  Status run() {
    collect();
    if (names_kernel_) {
      return failure("it may launch itself from the device, which does not pass the hidden parameter: '" +
                     std::string(*names_kernel_) + "' references it");
    }
    for (const Item& item : unit_.module.items) {
      if (!is_kept(item)) unit_.edits.erase(item.text);
    }
    declare_what_probes_name();
    unit_.edits.replace(unit_.module.version_text, std::to_string(unit_.variant.version.major) + "." +
                                                       std::to_string(unit_.variant.version.minor));
    unit_.edits.replace(unit_.module.target_text, unit_.variant.target.text);
    return success();
  }

 private:
  /// Declares the probes' own variables and functions before everything that may reference them.
  void declare_what_probes_name() {
    std::string text;
    for (std::uint32_t i = 0; i < unit_.spliced.variables.size(); ++i) {
      const ModuleVariable& variable = unit_.spliced.variables[i];
      if (variable.is_dynamic) text += ".extern .shared .align 16 .b8 " + variable_name(i) + "[];\n";
      if (variable.bytes == 0) continue;
      text += variable.space == StateSpace::shared ? ".shared" : ".global";
      text += " .align 8 .b8 " + variable_name(i) + "[" + std::to_string(variable.bytes) + "]";
      for (std::size_t k = 0; k < variable.initial.size(); ++k) {
        text += (k == 0 ? " = {" : ",") + std::to_string(variable.initial[k]);
      }
      text += variable.initial.empty() ? ";\n" : "};\n";
    }
    for (const Item& item : unit_.module.items) {
      if (item.kind == ItemKind::directive)
        continue;  // .version, .target and other directives that must
                   // come first
      if (!text.empty()) unit_.edits.insert_before(item.text.begin, text);
      unit_.edits.insert_before(item.text.begin, unit_.spliced.routine_functions.definitions());
      return;
    }
  }

  void collect() {
    for (const Variable& variable : unit_.module.variables) names_.insert(variable.name);
    for (const Function& function : unit_.module.functions) names_.insert(function.name);
    for (const FunctionUnit& function : unit_.reached.functions) {
      functions_.insert(function.function->name);
      for (const Instruction& instruction : function.function->body->instructions) {
        for (const Operand& operand : instruction.operands) collect(operand);
      }
      for (const TargetList& list : function.function->body->call_targets) {
        for (const std::string_view target : list.targets) collect_name(target);
      }
    }
    // Symbols in a kept variable's initializer are needed too, and so, transitively, is whatever the
    // functions in such a table need.
    std::set<std::string_view> done;
    for (bool grown = true; grown;) {
      grown = false;
      for (const Variable& variable : unit_.module.variables) {
        if (variable.has_initializer && variables_.contains(variable.name) &&
            done.insert(variable.name).second)
          grown |= collect_words(variable.name, unit_.module.text(variable.initializer));
      }
      for (const Function& function : unit_.module.functions) {
        if (functions_.contains(function.name) && !function.is_declaration() &&
            unit_.reached.find(function.name) == nullptr && done.insert(function.name).second)
          grown |= collect_words(function.name, unit_.module.text(function.body_text));
      }
    }
  }

  bool collect_name(std::string_view name) {
    if (!names_.contains(name) || unit_.variant.shared_variables.contains(name)) return false;
    if (const Variable* variable = unit_.module.find_variable(name)) return keep_declaration(*variable);
    const Function* const function = unit_.module.find_function(name);
    if (function->name != name) functions_.insert(function->name);  // through an alias
    return functions_.insert(name).second;
  }

  /// Also keeps the other names of `.global .u32 a, b;`.
  bool keep_declaration(const Variable& variable) {
    const std::vector<Variable>& all = unit_.module.variables;
    const auto declares = [&](std::size_t index) { return all[index].text.begin == variable.text.begin; };
    auto index = static_cast<std::size_t>(&variable - all.data());
    while (index > 0 && declares(index - 1)) --index;
    bool grown = false;
    for (; index < all.size() && declares(index); ++index) grown |= variables_.insert(all[index].name).second;
    return grown;
  }

  void collect(const Operand& operand) {
    if (operand.kind == OperandKind::identifier) collect_name(operand.name);
    for (const Operand& element : operand.elements) collect(element);
  }

  /// Collects the names in the text of `owner`.
  bool collect_words(std::string_view owner, std::string_view text) {
    constexpr std::string_view name_characters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%";
    bool grown = false;
    std::size_t begin = 0;
    while ((begin = text.find_first_of(name_characters, begin)) != std::string_view::npos) {
      const std::size_t end = std::min(text.find_first_not_of(name_characters, begin), text.size());
      const std::string_view name = text.substr(begin, end - begin);
      if (name == unit_.reached.kernel().function->name) names_kernel_ = owner;
      grown |= collect_name(name);
      begin = end;
    }
    return grown;
  }

  bool is_kept(const Item& item) const {
    switch (item.kind) {
      case ItemKind::function: return functions_.contains(unit_.module.functions[item.index].name);
      case ItemKind::variable: return variables_.contains(unit_.module.variables[item.index].name);
      case ItemKind::directive: break;
    }
    // Other debug sections describe functions that are removed.
    if (item.name == ".section") {
      return unit_.module.text(item.text).find(".debug_str") != std::string_view::npos;
    }
    return item.name != ".alias" || names_kept_alias(item);
  }

  /// Keeps both names of an alias; otherwise it would reference a removed one.
  bool names_kept_alias(const Item& item) const {
    return std::ranges::any_of(unit_.module.aliases, [&](const Alias& alias) {
      const auto at = static_cast<std::size_t>(alias.name.data() - unit_.module.source().data());
      return at >= item.text.begin && at < item.text.end && functions_.contains(alias.name);
    });
  }

  InstrumentationUnit& unit_;
  std::unordered_set<std::string_view> names_;  ///< all names of the module
  std::set<std::string_view> functions_;        ///< functions to keep
  std::set<std::string_view> variables_;
  /// a kept, uninstrumented item that references the kernel's address
  std::optional<std::string_view> names_kernel_;
};

}  // namespace

Status extract_kernel(InstrumentationUnit& unit) { return Extract(unit).run(); }

}  // namespace lynxpp::ptx
