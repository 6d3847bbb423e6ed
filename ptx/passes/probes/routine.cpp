#include "ptx/passes/probes/routine.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "ptx/passes/module/identifiers.h"
#include "ptx/passes/probes/routine_invariants.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {
namespace {

constexpr std::string_view end_label = "end";
constexpr std::string_view argument_prefix = "__lynxpp_";

std::string renamed_register(std::string_view name) {
  if (name.starts_with('%')) name.remove_prefix(1);
  return "%lynxpp_own_" + std::string(name);
}

std::string_view type_name(DataType type) {
  if (type == DataType::pred) return ".pred";
  switch (size_of(type)) {
    case 1:
    case 2: return ".b16";
    case 4: return ".b32";
    case 16: return ".b128";
    default: return ".b64";
  }
}

std::uint32_t trailing_number(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::string state_register(std::uint32_t index) { return "%lynxpp_state_" + std::to_string(index); }
std::string variable_name(std::uint32_t index) { return "__lynxpp_variable_" + std::to_string(index); }

class RoutineBuilder {
 public:
  RoutineBuilder(const Module& module, const Function& function, const PlaceholderPrefixes& prefixes,
                 RoutineFunctions* functions)
      : module_(module), body_(*function.body), prefixes_(prefixes), functions_(functions) {
    for (const Statement& statement : body_.statements) {
      if (statement.kind == StatementKind::label) labels_.insert(statement.name);
    }
  }

  Result<ProbeRoutine> build() {
    if (Status placed = place_variables(); !placed) return placed.error();
    if (Status added = add_callees(); !added) return added.error();
    routine_.instructions_ = static_cast<std::uint32_t>(body_.instructions.size());
    add_body();
    routine_.pieces_ = std::move(pieces_);
    add_invariants();
    return std::move(routine_);
  }

 private:
  using Piece = ProbeRoutine::Piece;

  void add_body() {
    pieces_.clear();
    open_scope(0);
    const std::uint32_t last = last_instruction();
    for (std::uint32_t i = 0; i < body_.statements.size(); ++i) add_statement(i, last);
    if (needs_end_label_) {
      add_label(std::string(end_label));
      add_text(":\n");
    }
    add_text("\t}\n");
  }

  /// The copy for loops, and what fills the registers that it reads.
  void add_invariants() {
    const RoutineInvariants found = find_invariants(body_, prefixes_.word);
    if (found.values.empty()) return;
    for (const RoutineInvariant& value : found.values) add_invariant(value);
    for (std::uint32_t i = 0; i < found.values.size(); ++i) invariants_.emplace(found.values[i].reg, i);
    spared_ = found.spared;
    add_body();
    routine_.loop_pieces_ = std::move(pieces_);
  }

  void add_invariant(const RoutineInvariant& value) {
    pieces_.clear();
    numbered_.clear();
    std::string declarations;
    for (const std::uint32_t at : value.instructions) {
      const Operand& result = body_.instructions[at].operands[0];
      scope_ = body_.statements[body_.instructions[at].statement].scope;
      const std::string name = "%lynxpp_value_" + std::to_string(numbered_.size());
      const RegisterDeclaration* const declared = body_.find_register(result.name, scope_);
      declarations += "\t.reg " + std::string(type_name(declared->type)) + " " + name + ";\n";
      numbered_.emplace(result.name, name);
    }
    add_text("\t{\n" + declarations);
    for (const std::uint32_t at : value.instructions) {
      scope_ = body_.statements[body_.instructions[at].statement].scope;
      add_instruction(body_.instructions[at], false);
    }
    const std::uint32_t bits = 8 * size_of(value.type);
    add_text("\tmov.b" + std::to_string(bits) + " ");
    pieces_.push_back({Piece::Kind::invariant, {}});
    add_text(", " + numbered_.at(std::string(value.reg)) + ";\n\t}\n");
    numbered_.clear();
    routine_.invariant_pieces_.push_back(std::move(pieces_));
    routine_.invariant_bits_.push_back(bits);
  }

  /// Each local variable gets its place in the depot; arguments and results of calls stay where they are.
  Status place_variables() {
    constexpr std::uint64_t alignment = 16;
    for (const Variable& variable : body_.variables) {
      if (variable.space == StateSpace::param) {
        arguments_.insert(variable.name);
        continue;
      }
      if (variable.space != StateSpace::local || variable.alignment > alignment) {
        return failure("a handler declares the variable '" + variable.name + "' and cannot be spliced");
      }
      depot_.emplace(variable.name, routine_.depot_bytes_);
      routine_.depot_bytes_ += (variable.size_bytes() + alignment - 1) / alignment * alignment;
    }
    return success();
  }

  Status add_callees() {
    const std::vector<std::string_view> placeholders{prefixes_.word, prefixes_.state, prefixes_.site,
                                                     prefixes_.variable};
    for (const Instruction& instruction : body_.instructions) {
      if (instruction.traits.kind != OpcodeClass::call) continue;
      if (functions_ == nullptr) return failure("a handler calls a function and cannot be spliced");
      const std::string_view callee = direct_callee(module_, instruction);
      if (callee.empty()) return failure("a handler calls through a pointer and cannot be spliced");
      const Result<std::uint32_t> added = add_function(module_, callee, placeholders, *functions_);
      if (!added) return added.error();
      routine_.functions_.insert(*added);
      callees_[std::string(callee)] = RoutineFunctions::name(*added);
    }
    return success();
  }

  std::uint32_t last_instruction() const {
    return body_.instructions.empty() ? 0 : static_cast<std::uint32_t>(body_.instructions.size() - 1);
  }

  void add_text(std::string_view text) {
    if (!pieces_.empty() && pieces_.back().kind == Piece::Kind::text) {
      pieces_.back().text += text;
    } else {
      pieces_.push_back({Piece::Kind::text, std::string(text)});
    }
  }
  void add_label(std::string name) { pieces_.push_back({Piece::Kind::label, std::move(name)}); }

  void open_scope(std::uint32_t scope) {
    add_text("\t{\n");
    for (const RegisterDeclaration& declaration : body_.registers) {
      if (declaration.scope == scope) declare(declaration);
    }
    for (const Variable& variable : body_.variables) {
      if (variable.scope != scope || variable.space != StateSpace::param) continue;
      add_text("\t");
      add_tokens(module_.text(variable.text));
      add_text("\n");
    }
  }

  void add_statement(std::uint32_t index, std::uint32_t last) {
    const Statement& statement = body_.statements[index];
    scope_ = statement.scope;
    switch (statement.kind) {
      case StatementKind::label:
        add_label(std::string(statement.name));
        add_text(":\n");
        break;
      case StatementKind::instruction:
        if (spared_.contains(statement.index)) break;
        add_instruction(body_.instructions[statement.index], statement.index == last);
        break;
      case StatementKind::scope_begin:
        for (std::uint32_t scope = 1; scope < body_.scopes.size(); ++scope) {
          if (body_.scopes[scope].begin == index) open_scope(scope);
        }
        break;
      case StatementKind::scope_end: add_text("\t}\n"); break;
      default: break;
    }
  }

  void declare(const RegisterDeclaration& declaration) {
    std::string text = "\t.reg ";
    if (declaration.vector > 1) text += ".v" + std::to_string(declaration.vector) + " ";
    text += std::string(type_name(declaration.type)) + " " + renamed_register(declaration.name);
    if (declaration.count != 0) text += "<" + std::to_string(declaration.count) + ">";
    add_text(text + ";\n");
  }

  void add_instruction(const Instruction& instruction, bool is_last) {
    if (instruction.traits.is_return) {
      if (is_last && !instruction.guarded()) return;
      needs_end_label_ = true;
      add_text("\t");
      if (instruction.guarded()) {
        add_text(instruction.guard.negated ? "@!" : "@");
        add_tokens(instruction.guard.predicate);
        add_text(" ");
      }
      add_text("bra ");
      add_label(std::string(end_label));
      add_text(";\n");
      return;
    }
    note_placeholders(instruction);
    add_text("\t");
    if (is_word_load(instruction)) {
      pieces_.push_back({Piece::Kind::word_opcode, {}});
      add_text(" ");
      add_tokens(module_.text(instruction.operands[0].text));
      add_text(", ");
      const std::string_view name = instruction.operands[1].name;
      pieces_.push_back({Piece::Kind::word, {}, trailing_number(name.substr(prefixes_.word.size()))});
      add_text(";\n");
      return;
    }
    add_tokens(module_.text(instruction.text));
    add_text("\n");
  }

  void note_placeholders(const Instruction& instruction) {
    for (const Operand& operand : instruction.operands) {
      if (operand.name.starts_with(prefixes_.word)) {
        routine_.words_.insert(trailing_number(operand.name.substr(prefixes_.word.size())));
      } else if (operand.name.starts_with(prefixes_.state)) {
        const std::uint32_t state = trailing_number(operand.name.substr(prefixes_.state.size()));
        routine_.states_.insert(state);
        if (&operand == instruction.operands.begin()) routine_.written_states_.insert(state);
      } else if (operand.name.starts_with(prefixes_.site) && instruction.opcode.ends_with("64")) {
        routine_.wide_site_values_.emplace(operand.name.substr(prefixes_.site.size()));
      }
    }
  }

  bool is_word_load(const Instruction& instruction) const {
    return instruction.operands.size() == 2 && instruction.operands[1].name.starts_with(prefixes_.word);
  }

  void add_tokens(std::string_view text) {
    split_identifiers(
        text, [&](std::string_view name) { add_identifier(name); },
        [&](std::string_view other) { add_text(other); });
  }

  void add_identifier(std::string_view name) {
    if (name.starts_with(prefixes_.state)) {
      pieces_.push_back({Piece::Kind::state, {}, trailing_number(name.substr(prefixes_.state.size()))});
    } else if (name.starts_with(prefixes_.site)) {
      const std::string value(name.substr(prefixes_.site.size()));
      routine_.site_values_.insert(value);
      pieces_.push_back({Piece::Kind::site_value, value});
    } else if (!prefixes_.variable.empty() && name.starts_with(prefixes_.variable)) {
      pieces_.push_back({Piece::Kind::variable, {}, trailing_number(name.substr(prefixes_.variable.size()))});
    } else if (const auto local = depot_.find(name); local != depot_.end()) {
      add_text(std::string(depot_variable) + (local->second == 0 ? "" : "+" + std::to_string(local->second)));
    } else if (arguments_.contains(name)) {
      add_text(std::string(argument_prefix) + std::string(name));
    } else if (const auto callee = callees_.find(name); callee != callees_.end()) {
      add_text(callee->second);
    } else if (labels_.contains(name)) {
      add_label(std::string(name));
    } else if (const auto known = invariants_.find(name); known != invariants_.end()) {
      pieces_.push_back({Piece::Kind::invariant, {}, known->second});
    } else if (const auto numbered = numbered_.find(name); numbered != numbered_.end()) {
      add_text(numbered->second);
    } else if (body_.find_register(name, scope_) != nullptr) {
      add_text(renamed_register(name));
    } else {
      add_text(name);
    }
  }

  const Module& module_;
  const Body& body_;
  const PlaceholderPrefixes& prefixes_;
  RoutineFunctions* const functions_;
  std::set<std::string, std::less<>> arguments_;             // of calls, and their results
  std::map<std::string, std::string, std::less<>> callees_;  // and their names in a variant
  std::set<std::string_view> labels_;
  std::map<std::string, std::uint64_t, std::less<>> depot_;  // local variables and where they lie
  bool needs_end_label_ = false;
  std::uint32_t scope_ = 0;                                       // of the statement being copied
  std::set<std::uint32_t> spared_;                                // instructions that the copy goes without
  std::map<std::string, std::uint32_t, std::less<>> invariants_;  // registers that it takes from outside
  std::map<std::string, std::string, std::less<>> numbered_;      // registers of an invariant's own scope
  std::vector<Piece> pieces_;
  ProbeRoutine routine_;
};

Result<ProbeRoutine> ProbeRoutine::make(const Module& module, const Function& function,
                                        const PlaceholderPrefixes& prefixes, RoutineFunctions* functions) {
  return RoutineBuilder(module, function, prefixes, functions).build();
}

void ProbeRoutine::append(const SiteBinding& binding, std::string& out) const {
  append(binding.invariant ? loop_pieces_ : pieces_, binding, out);
}

void ProbeRoutine::append_invariant(std::uint32_t index, const SiteBinding& binding,
                                    const std::string& target, std::string& out) const {
  SiteBinding own = binding;
  own.invariant = [&](std::uint32_t) { return target; };
  append(invariant_pieces_[index], own, out);
}

void ProbeRoutine::append(const std::vector<Piece>& pieces, const SiteBinding& binding, std::string& out) {
  for (const Piece& piece : pieces) {
    switch (piece.kind) {
      case Piece::Kind::text: out += piece.text; break;
      case Piece::Kind::word_opcode: out += binding.word_opcode; break;
      case Piece::Kind::word:
        out += binding.word ? binding.word(piece.index)
                            : "[" + binding.word_base + "+" +
                                  std::to_string(8 * (binding.first_word + piece.index)) + "]";
        break;
      case Piece::Kind::invariant: out += binding.invariant(piece.index); break;
      case Piece::Kind::state: out += state_register(binding.first_state + piece.index); break;
      case Piece::Kind::variable: out += variable_name(binding.first_variable + piece.index); break;
      case Piece::Kind::site_value: out += binding.site_value(piece.text); break;
      case Piece::Kind::label: {
        std::string name = piece.text;
        std::replace(name.begin(), name.end(), '$', '_');
        out += "$lynxpp_" + std::to_string(binding.site) + "_" + name;
        break;
      }
    }
  }
}

}  // namespace lynxpp::ptx
