#include "ptx/passes/module/extract.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>

namespace lynxpp::ptx {
namespace {

class Extract {
 public:
  Extract(const Module& module, const ReachedFunctions& reached, const SplicedCode& spliced,
          const VariantModule& variant, EditList& edits)
      : module_(module), reached_(reached), spliced_(spliced), variant_(variant), edits_(edits) {}

  Status run() {
    collect();
    if (names_kernel_) {
      return failure("it may launch itself from the device, which does not pass the hidden parameter: '" +
                     std::string(*names_kernel_) + "' references it");
    }
    for (const Item& item : module_.items) {
      if (!is_kept(item)) edits_.erase(item.text);
    }
    declare_what_probes_name();
    edits_.replace(module_.version_text,
                   std::to_string(variant_.version.major) + "." + std::to_string(variant_.version.minor));
    edits_.replace(module_.target_text, variant_.target.text);
    return success();
  }

 private:
  /// Declares variable_table and the probes' own variables and functions, before everything that may
  /// reference them.
  void declare_what_probes_name() {
    std::string text;
    for (std::uint32_t i = 0; i < spliced_.variables.size(); ++i) {
      const ModuleVariable& variable = spliced_.variables[i];
      if (variable.is_dynamic) text += ".extern .shared .align 16 .b8 " + variable_name(i) + "[];\n";
      if (variable.bytes == 0) continue;
      text += variable.space == StateSpace::shared ? ".shared" : ".global";
      text += " .align 8 .b8 " + variable_name(i) + "[" + std::to_string(variable.bytes) + "]";
      for (std::size_t k = 0; k < variable.initial.size(); ++k) {
        text += (k == 0 ? " = {" : ",") + std::to_string(variable.initial[k]);
      }
      text += variable.initial.empty() ? ";\n" : "};\n";
    }
    if (const std::size_t shared = variant_.shared_variables.size(); shared != 0)
      text += ".const .align 8 .b64 " + std::string(variable_table) + "[" + std::to_string(shared) + "];\n";
    for (const Item& item : module_.items) {
      if (item.kind == ItemKind::directive)
        continue;  // .version, .target and other directives that must
                   // come first
      if (!text.empty()) edits_.insert_before(item.text.begin, text);
      edits_.insert_before(item.text.begin, spliced_.routine_functions.definitions());
      return;
    }
  }

  void collect() {
    for (const Variable& variable : module_.variables) names_.insert(variable.name);
    for (const Function& function : module_.functions) names_.insert(function.name);
    for (const FunctionUnit& function : reached_.functions) {
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
      for (const Variable& variable : module_.variables) {
        if (variable.has_initializer && variables_.contains(variable.name) &&
            done.insert(variable.name).second)
          grown |= collect_words(variable.name, module_.text(variable.initializer));
      }
      for (const Function& function : module_.functions) {
        if (functions_.contains(function.name) && !function.is_declaration() &&
            reached_.find(function.name) == nullptr && done.insert(function.name).second)
          grown |= collect_words(function.name, module_.text(function.body_text));
      }
    }
  }

  bool collect_name(std::string_view name) {
    if (!names_.contains(name) || variant_.shared_variables.contains(name)) return false;
    if (const Variable* variable = module_.find_variable(name)) return keep_declaration(*variable);
    const Function* const function = module_.find_function(name);
    if (function->name != name) functions_.insert(function->name);  // through an alias
    return functions_.insert(name).second;
  }

  /// Also keeps the other names of `.global .u32 a, b;`.
  bool keep_declaration(const Variable& variable) {
    const std::vector<Variable>& all = module_.variables;
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
      if (name == reached_.kernel().function->name) names_kernel_ = owner;
      grown |= collect_name(name);
      begin = end;
    }
    return grown;
  }

  bool is_kept(const Item& item) const {
    switch (item.kind) {
      case ItemKind::function: return functions_.contains(module_.functions[item.index].name);
      case ItemKind::variable: return variables_.contains(module_.variables[item.index].name);
      case ItemKind::directive: break;
    }
    // Other debug sections describe functions that are removed.
    if (item.name == ".section") {
      return module_.text(item.text).find(".debug_str") != std::string_view::npos;
    }
    return item.name != ".alias" || names_kept_alias(item);
  }

  /// Keeps both names of an alias; otherwise it would reference a removed one.
  bool names_kept_alias(const Item& item) const {
    return std::ranges::any_of(module_.aliases, [&](const Alias& alias) {
      const auto at = static_cast<std::size_t>(alias.name.data() - module_.source().data());
      return at >= item.text.begin && at < item.text.end && functions_.contains(alias.name);
    });
  }

  const Module& module_;
  const ReachedFunctions& reached_;
  const SplicedCode& spliced_;
  const VariantModule& variant_;
  EditList& edits_;
  std::unordered_set<std::string_view> names_;  ///< all names of the module
  std::set<std::string_view> functions_;        ///< functions to keep
  std::set<std::string_view> variables_;
  /// a kept, uninstrumented item that references the kernel's address
  std::optional<std::string_view> names_kernel_;
};

}  // namespace

Status extract_kernel(const Module& module, const ReachedFunctions& reached, const SplicedCode& spliced,
                      const VariantModule& variant, EditList& edits) {
  return Extract(module, reached, spliced, variant, edits).run();
}

}  // namespace lynxpp::ptx
