#include "ptx/passes/probes/routine.h"

#include <charconv>

#include "ptx/passes/probes/code_reader.h"
#include "ptx/passes/probes/routine_invariants.h"
#include "ptx/passes/probes/routine_parts.h"
#include "ptx/passes/probes/short_branches.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t depot_alignment = 16;

}  // namespace

std::uint32_t number_at_end(std::string_view name) {
  std::uint32_t number = 0;
  const std::size_t digits = name.rfind('_') + 1;
  std::from_chars(name.data() + digits, name.data() + name.size(), number);
  return number;
}

std::string declaration_of_depot(std::uint64_t bytes) {
  return ".local .align " + std::to_string(depot_alignment) + " .b8 " + std::string(depot_variable) + "[" +
         std::to_string(bytes) + "];";
}

class RoutineBuilder {
 public:
  RoutineBuilder(const Module& module, const Function& function, const PlaceholderPrefixes& prefixes,
                 RoutineFunctions& functions)
      : module_(module), body_(*function.body), prefixes_(prefixes), functions_(functions) {}

  Result<ProbeRoutine> build() {
    if (Status assigned = assign_depot(); !assigned) return assigned.error();
    if (Status added = add_callees(); !added) return added.error();
    for (const Instruction& instruction : body_.instructions) {
      if (Status checked = check_placeholders(instruction); !checked) return checked.error();
    }
    routine_.instructions_ = static_cast<std::uint32_t>(body_.instructions.size());
    Status read = read_body(routine_.whole_);
    if (read) read = add_invariants();
    if (!read) return failure("a handler cannot be spliced: " + read.error().diagnostics.front().message);
    routine_.uses_ = uses_of(routine_.whole_);
    routine_.parts_ = split_at_test(routine_.whole_);
    return std::move(routine_);
  }

 private:
  using Placeholder = CodeTemplate::Placeholder;

  // ---- uses

  /// Assigns each local variable an offset in the depot; arguments and results of calls are kept.
  Status assign_depot() {
    for (const Variable& variable : body_.variables) {
      if (variable.space == StateSpace::param) {
        renamed_.emplace(variable.name, CodeReader::Renamed{Name{"__lynxpp_" + variable.name}});
        has_arguments_outside_ |= variable.scope == 0;
        continue;
      }
      if (variable.space != StateSpace::local || variable.alignment > depot_alignment) {
        return failure("a handler declares the variable '" + variable.name + "' and cannot be spliced");
      }
      renamed_.emplace(variable.name, CodeReader::Renamed{Name{std::string(depot_variable)},
                                                          static_cast<std::int64_t>(routine_.depot_bytes_)});
      routine_.depot_bytes_ +=
          (variable.size_bytes() + depot_alignment - 1) / depot_alignment * depot_alignment;
    }
    return success();
  }

  Status add_callees() {
    const std::vector<std::string_view> placeholders{prefixes_.slot, prefixes_.state, prefixes_.site,
                                                     prefixes_.variable};
    for (const Instruction& instruction : body_.instructions) {
      if (instruction.traits.kind != OpcodeClass::call) continue;
      const std::string_view callee = direct_callee(module_, instruction);
      if (callee.empty()) return failure("a handler calls through a pointer and cannot be spliced");
      const Result<std::uint32_t> added = add_function(module_, callee, placeholders, functions_);
      if (!added) return added.error();
      routine_.functions_.insert(*added);
      renamed_.emplace(callee, CodeReader::Renamed{Name{RoutineFunctions::name(*added)}});
    }
    return success();
  }

  Status check_placeholders(const Instruction& instruction) {
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      const std::optional<Placeholder> value = placeholder_of(operand.name);
      if (!value) continue;
      switch (value->kind) {
        case Placeholder::Kind::slot:
          if (instruction.op() != Op::mov || instruction.traits.type != DataType::b64 || i != 1) {
            return failure("a handler reads '" + std::string(operand.name) +
                           "' with an instruction other than mov.b64");
          }
          break;
        case Placeholder::Kind::site_value:
          if (size_of(instruction.traits.type) == 8) routine_.wide_site_values_.insert(value->name);
          break;
        case Placeholder::Kind::state:
        case Placeholder::Kind::variable:
        case Placeholder::Kind::invariant: break;
      }
    }
    return success();
  }

  std::optional<Placeholder> placeholder_of(std::string_view name) const {
    using Kind = Placeholder::Kind;
    if (name.starts_with(prefixes_.slot)) return Placeholder{Kind::slot, number_at_end(name)};
    if (name.starts_with(prefixes_.state)) return Placeholder{Kind::state, number_at_end(name)};
    if (name.starts_with(prefixes_.site))
      return Placeholder{Kind::site_value, 0, std::string(name.substr(prefixes_.site.size()))};
    if (!prefixes_.variable.empty() && name.starts_with(prefixes_.variable))
      return Placeholder{Kind::variable, number_at_end(name)};
    return std::nullopt;
  }

  // ---- code

  /// Returns the renaming of the body's names for a reader of `into`.
  CodeReader::Renaming renaming_for(CodeTemplate& into) {
    return [this, &into, known = std::map<std::string, VirtualRegister, std::less<>>()](
               std::string_view name) mutable -> std::optional<CodeReader::Renamed> {
      std::optional<Placeholder> value = placeholder_of(name);
      if (const auto invariant = invariants_.find(name); invariant != invariants_.end())
        value = Placeholder{Placeholder::Kind::invariant, invariant->second};
      if (value) {
        auto found = known.find(name);
        if (found == known.end()) {
          // The type is irrelevant: the operand that replaces it in a copy has its own.
          found = known.emplace(name, into.names.fresh(RegisterType::b64)).first;
          into.placeholders.emplace(found->second, *value);
        }
        return CodeReader::Renamed{found->second};
      }
      const auto renamed = renamed_.find(name);
      return renamed == renamed_.end() ? std::nullopt : std::optional(renamed->second);
    };
  }

  /// Reads all instructions except the spared ones.
  Status read_body(CodeTemplate& into) {
    CodeReader reader(module_, body_, into.names, renaming_for(into));
    reader.leave_local_memory_out();
    CodeBuilder code(into.names);
    if (has_arguments_outside_) code.open_scope();
    std::optional<Label> end;
    const Status read = reader.read_all(
        [&](const Instruction& instruction) -> Status {
          const auto index = static_cast<std::uint32_t>(&instruction - body_.instructions.data());
          if (spared_.contains(index)) return success();
          if (instruction.op() != Op::ret) return reader.read(instruction, code);
          const bool is_last = index + 1 == body_.instructions.size();
          if (is_last && !instruction.guarded()) return success();
          if (!end) end = code.fresh_label();
          code.emit_if(reader.guard(instruction), "bra", {*end});
          return success();
        },
        code);
    if (!read) return read;
    if (end) code.place(*end);
    if (has_arguments_outside_) code.close_scope();
    into.code = code.take();
    remove_short_branches(into.code);
    return success();
  }

  /// Adds the copy for loops, and the code that sets the registers it reads.
  Status add_invariants() {
    const RoutineInvariants found = find_invariants(body_, prefixes_.slot);
    if (found.values.empty()) return success();
    for (const RoutineInvariant& value : found.values) {
      if (Status added = add_invariant(value); !added) return added;
    }
    for (std::uint32_t i = 0; i < found.values.size(); ++i) invariants_.emplace(found.values[i].reg, i);
    spared_ = found.spared;
    return read_body(routine_.in_loops_);
  }

  Status add_invariant(const RoutineInvariant& value) {
    CodeTemplate into;
    CodeReader reader(module_, body_, into.names, renaming_for(into));
    CodeBuilder code(into.names);
    for (const std::uint32_t at : value.instructions) {
      if (Status read = reader.read(body_.instructions[at], code); !read) return read;
    }
    // The last instruction writes the result.
    const Result<CodeOperand> result =
        reader.operand(body_.instructions[value.instructions.back()].operands[0], 0);
    if (!result) return result.error();
    const RegisterType type = size_of(value.type) == 8 ? RegisterType::b64 : RegisterType::b32;
    const VirtualRegister target = into.names.fresh(type);
    into.placeholders.emplace(target, Placeholder{Placeholder::Kind::invariant});
    code.mov(target, *result);
    into.code = code.take();
    routine_.invariant_code_.push_back(std::move(into));
    routine_.invariant_types_.push_back(type);
    return success();
  }

  const Module& module_;
  const Body& body_;
  const PlaceholderPrefixes& prefixes_;
  RoutineFunctions& functions_;
  /// Local variables, arguments and results of calls, callees.
  std::map<std::string, CodeReader::Renamed, std::less<>> renamed_;
  bool has_arguments_outside_ = false;                            // not in scopes of their own
  std::set<std::uint32_t> spared_;                                // instructions omitted from the copy
  std::map<std::string, std::uint32_t, std::less<>> invariants_;  // registers supplied from outside
  ProbeRoutine routine_;
};

Result<ProbeRoutine> ProbeRoutine::make(const Module& module, const Function& function,
                                        const PlaceholderPrefixes& prefixes, RoutineFunctions& functions) {
  return RoutineBuilder(module, function, prefixes, functions).build();
}

Code ProbeRoutine::invariant(std::uint32_t index, const SiteBinding& binding, VirtualRegister target,
                             NameSource& names) const {
  SiteBinding own = binding;
  own.invariants = {target};
  return invariant_code_[index].copy(own, names);
}

}  // namespace lynxpp::ptx
