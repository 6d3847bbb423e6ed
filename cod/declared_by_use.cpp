#include "cod/declared_by_use.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "cod/syntax/api.h"
#include "cod/syntax/parser.h"

namespace lynxpp::cod {
namespace {

// Capacities of maps and traces, chosen so that a launch needs only a few MiB for them.
constexpr const char* map_entries = "16384";
constexpr const char* trace_entries = "65536";
constexpr const char* histogram_bins = "62";

/// The extent that a function's result indexes; empty if none.
std::string extent_of(const Expression& index) {
  const ApiFunction* api = index.kind == ExpressionKind::call ? find_api(index.text) : nullptr;
  if (api == nullptr) return {};
  if (api->api == Api::block_thread_id) return "THREADS_PER_BLOCK";
  const Extent extent = indexed_extent(api->api);
  return extent == Extent::constant ? std::string() : std::string(name_of(extent));
}

bool is_floating_value(const Expression& value) {
  const bool is_typed = value.kind == ExpressionKind::floating || value.kind == ExpressionKind::cast;
  if (is_typed && (value.type == Type::f32 || value.type == Type::f64)) return true;
  if (value.kind == ExpressionKind::cast || value.kind == ExpressionKind::call) return false;
  return std::ranges::any_of(value.operands,
                             [](const ExpressionPtr& each) { return is_floating_value(*each); });
}

bool is_negative_value(const Expression& value) {
  return value.kind == ExpressionKind::unary && value.op == Operator::minus;
}

enum class Storage { element, array, map, histogram, trace };

/// All uses of one name, combined.
struct Use {
  std::string name;
  Position position;
  Storage storage = Storage::element;
  std::vector<std::string> extents;  ///< of the indices; for a map without that of its key
  std::vector<std::string> fields;   ///< trace
  bool is_floating = false;
  bool is_signed = false;

  std::string type() const { return is_floating ? "double" : is_signed ? "long" : "unsigned long"; }
  std::string declaration() const {
    std::string indices;
    for (const std::string& extent : extents) indices += "[" + extent + "]";
    switch (storage) {
      case Storage::element:
      case Storage::array: return "global " + type() + " " + name + indices + ";";
      case Storage::map:
        return "global map " + type() + " " + name + indices + "[" + map_entries + "] by unsigned long;";
      case Storage::histogram: return "global histogram " + name + indices + "[" + histogram_bins + "];";
      case Storage::trace: break;
    }
    const std::string end = " " + name + indices + "[" + trace_entries + "];";
    if (fields.size() < 2) return "global trace unsigned long" + end;
    std::string entry = "struct " + name + "_entry {";
    for (const std::string& field : fields) entry += " unsigned long " + field + ";";
    return entry + " }; global trace struct " + name + "_entry" + end;
  }
};

/// Collects the names that a specification modifies but does not declare.
class UndeclaredNames {
 public:
  explicit UndeclaredNames(const SyntaxTree& tree) : tree_(tree) {}

  void collect() {
    const auto declare = [this](const Statement& statement) {
      for (const Declarator& declarator : statement.declarators) declared_.insert(declarator.name);
      return true;
    };
    for (const Item& item : tree_.items) {
      declared_.insert(item.name);
      for (const Parameter& parameter : item.parameters) declared_.insert(parameter.name);
      if (item.body) walk(*item.body, declare, [](const Expression&) { return false; });
    }
    for (const Item& item : tree_.items) {
      if (item.body) walk(*item.body, all_statements, [this](const Expression& each) { return visit(each); });
    }
  }

  std::vector<Use> uses;
  Diagnostics errors;

 private:
  bool visit(const Expression& expression) {
    const auto& operands = expression.operands;
    const bool is_step = expression.op == Operator::increment || expression.op == Operator::decrement;
    if (expression.kind == ExpressionKind::assign) {
      const bool takes_away = expression.op == Operator::subtract || is_negative_value(*operands[1]);
      changed(*operands[0], operands[1].get(), takes_away);
    } else if (is_step) {
      changed(*operands[0], nullptr, expression.op == Operator::decrement);
    } else if (expression.kind == ExpressionKind::call) {
      called(expression);
    }
    return true;
  }

  void called(const Expression& call) {
    const bool has_address = !call.operands.empty() && call.operands[0]->kind == ExpressionKind::unary &&
                             call.operands[0]->op == Operator::address_of;
    if (!has_address) return;
    const Expression& target = *call.operands[0]->operands[0];
    const Expression* value = call.operands.size() > 1 ? call.operands[1].get() : nullptr;
    if (call.text == "record") return collected(target, Storage::histogram, call);
    if (call.text == "append") return collected(target, Storage::trace, call);
    if (call.text == "atomicMin") return least(target);
    const bool is_update =
        call.text == "atomicAdd" || call.text == "atomicMax" || call.text == "atomicIncrement";
    if (is_update) changed(target, value, value != nullptr && is_negative_value(*value));
  }

  /// Returns the base name of `target` and the extents of its indices; null if it is declared or not a name.
  const Expression* undeclared(const Expression& target, std::vector<std::string>& extents) const {
    const Expression* base = &target;
    while (base->kind == ExpressionKind::index && base->operands.size() == 2) {
      extents.insert(extents.begin(), extent_of(*base->operands[1]));
      base = base->operands[0].get();
    }
    const bool is_new = base->kind == ExpressionKind::name && !declared_.contains(base->text);
    return is_new ? base : nullptr;
  }

  Use& use_of(const Expression& name, Storage storage, bool& is_first) {
    const auto found = std::ranges::find(uses, name.text, &Use::name);
    is_first = found == uses.end();
    if (!is_first) return *found;
    return uses.emplace_back(Use{name.text, name.position, storage, {}, {}, false, false});
  }

  void changed(const Expression& target, const Expression* value, bool takes_away) {
    std::vector<std::string> extents;
    const Expression* name = undeclared(target, extents);
    if (name == nullptr) return;
    const std::size_t indices = extents.size();
    const bool has_key = !extents.empty() && extents.back().empty();
    if (has_key) extents.pop_back();
    if (!check(*name, extents)) return;
    bool is_first = false;
    Use& use = use_of(*name,
                      has_key        ? Storage::map
                      : indices == 0 ? Storage::element
                                     : Storage::array,
                      is_first);
    if (is_first) {
      use.extents = std::move(extents);
    } else if (use.storage == Storage::array && indices == use.extents.size() &&
               (has_key || extents != use.extents)) {
      // Indexed in different ways: all they have in common is that they are numbers.
      use.storage = Storage::map;
      use.extents.pop_back();
    }
    use.is_floating |= value != nullptr && is_floating_value(*value);
    use.is_signed |= takes_away;
  }

  void collected(const Expression& target, Storage storage, const Expression& call) {
    std::vector<std::string> extents;
    const Expression* name = undeclared(target, extents);
    if (name == nullptr) return;
    if (!check(*name, extents)) return;
    bool is_first = false;
    Use& use = use_of(*name, storage, is_first);
    if (!is_first) return;
    use.extents = std::move(extents);
    for (std::size_t i = 1; storage == Storage::trace && i < call.operands.size(); ++i)
      use.fields.push_back(field_name(*call.operands[i], use.fields));
  }

  static std::string field_name(const Expression& value, const std::vector<std::string>& taken) {
    const bool is_named = value.kind == ExpressionKind::call || value.kind == ExpressionKind::name;
    if (is_named && std::ranges::count(taken, value.text) == 0) return value.text;
    return "value" + std::to_string(taken.size() + 1);
  }

  bool check(const Expression& name, const std::vector<std::string>& extents) {
    if (std::ranges::count(extents, std::string()) == 0) return true;
    fail(name,
         "'" + name.text + "' cannot be declared implicitly: only its last index may be an arbitrary value",
         "declare it, for example 'global unsigned long " + name.text + "[32][1024];'");
    return false;
  }

  void least(const Expression& target) {
    std::vector<std::string> extents;
    const Expression* name = undeclared(target, extents);
    if (name == nullptr) return;
    fail(*name, "the minimum of '" + name->text + "' would always be its initial value, 0",
         "use record(&" + name->text + ", value) to collect a histogram of the values");
  }

  void fail(const Expression& place, std::string message, std::string hint) {
    errors.push_back(
        {Severity::error, location_of(tree_.files, place.position), std::move(message), std::move(hint)});
  }

  const SyntaxTree& tree_;
  std::set<std::string> declared_;
};

}  // namespace

Result<std::string> declared_by_use(const std::string& source, const std::string& name) {
  const Result<SyntaxTree> tree = parse(source, name);
  if (!tree) return std::string();
  UndeclaredNames names(*tree);
  names.collect();
  if (!names.errors.empty()) return Failure{std::move(names.errors)};
  std::string text;
  for (const Use& use : names.uses) text += (text.empty() ? "" : " ") + use.declaration();
  return text;
}

}  // namespace lynxpp::cod
