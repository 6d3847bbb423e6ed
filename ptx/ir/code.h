// Code that passes add to a function, as values: added code is never parsed or rewritten as text, and only
// the emitter (ptx/emitter/code_printer.h) knows its spelling. code_builder.h builds it.
//
//   Code             statements in order: instructions, labels, scopes, declarations
//   CodeInstruction  a guard, an opcode with its modifiers, operands
//   VirtualRegister  a register that lynxpp adds to the function, numbered by NameSource (code_builder.h) and
//                    declared by the emitter; separate pieces of code never share one by accident, and ptxas
//                    allocates machine registers
//   Label            the same for labels
//   Name             an existing name: the program's registers, variables, labels and functions, and
//                    names that lynxpp declares itself
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// By size only: bit-typed registers serve integer and floating-point instructions.
enum class RegisterType : std::uint8_t { pred, b16, b32, b64, b128 };
inline constexpr std::size_t register_types = 5;

/// The type of register that holds values of that size in bytes; nullopt if there is no such type.
std::optional<RegisterType> register_of_bytes(std::uint32_t bytes);

/// A register of one function.
struct VirtualRegister {
  RegisterType type = RegisterType::b32;
  std::uint32_t id = 0;  ///< numbered from 0 within its type
  auto operator<=>(const VirtualRegister&) const = default;
};

/// A label in one function.
struct Label {
  std::uint32_t id = 0;
  auto operator<=>(const Label&) const = default;
};

/// An existing name, emitted verbatim: "%rd4", "__lynxpp_probe", "$L__BB0_2", "0f3F800000", "_".
struct Name {
  std::string text;
  auto operator<=>(const Name&) const = default;
};

/// "%laneid", "%tid.x"
struct SpecialRegister {
  std::string name;
  auto operator<=>(const SpecialRegister&) const = default;
};

using CodeRegister = std::variant<VirtualRegister, Name>;

/// A predicate register, possibly negated.
struct CodePredicate {
  CodeRegister reg;
  bool is_negated = false;

  // A register converts to the predicate that it holds: NOLINTBEGIN(google-explicit-constructor)
  CodePredicate(VirtualRegister r, bool negated = false) : reg(r), is_negated(negated) {}
  CodePredicate(Name r, bool negated = false) : reg(std::move(r)), is_negated(negated) {}
  // NOLINTEND(google-explicit-constructor)
  CodePredicate operator!() const {
    CodePredicate opposite = *this;
    opposite.is_negated = !is_negated;
    return opposite;
  }
  bool operator==(const CodePredicate&) const = default;
};

/// The guard of a program's instruction; nullopt if it is unguarded.
std::optional<CodePredicate> predicate_of(const Guard& guard);

/// [base+offset]
struct CodeAddress {
  CodeRegister base;  ///< or the name of a variable or parameter
  std::int64_t offset = 0;
  bool operator==(const CodeAddress&) const = default;
};

struct CodeOperand;

struct CodeList {
  enum class Kind : std::uint8_t {
    vector,     ///< {a, b}
    arguments,  ///< (a, b) of a call
    pair        ///< a|b
  };
  Kind kind = Kind::vector;
  std::vector<CodeOperand> elements;
  bool operator==(const CodeList& other) const;
};

struct CodeOperand {
  using Value = std::variant<VirtualRegister, Name, SpecialRegister, std::int64_t, Label, CodePredicate,
                             CodeAddress, CodeList>;
  Value value;

  // Everything that can be an operand converts to one: NOLINTBEGIN(google-explicit-constructor)
  CodeOperand(VirtualRegister reg) : value(reg) {}
  CodeOperand(Name name) : value(std::move(name)) {}
  CodeOperand(SpecialRegister special) : value(std::move(special)) {}
  CodeOperand(Label label) : value(label) {}
  CodeOperand(CodeAddress address) : value(std::move(address)) {}
  CodeOperand(CodeList list) : value(std::move(list)) {}
  CodeOperand(const CodeRegister& reg);
  /// A predicate that is not negated becomes a plain register.
  CodeOperand(const CodePredicate& predicate);
  /// An immediate, given by its 64 bits: a value of 2^63 or more is emitted as the equivalent negative
  /// number, which instructions do not distinguish.
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) CodeOperand(Number number)
      : value(static_cast<std::int64_t>(number)) {}
  // NOLINTEND(google-explicit-constructor)

  bool operator==(const CodeOperand&) const = default;
};

inline bool CodeList::operator==(const CodeList& other) const {
  return kind == other.kind && elements == other.elements;
}

struct CodeInstruction {
  std::optional<CodePredicate> guard;
  std::string opcode;  ///< with all modifiers, "add.u32"
  std::vector<CodeOperand> operands;
  bool operator==(const CodeInstruction&) const = default;
};

/// `{` or `}`, around declarations such as `.param .b32 value;` for calls. Registers need no scope.
struct CodeScope {
  bool opens = true;
  bool operator==(const CodeScope&) const = default;
};

/// A declaration such as `.param .b32 value;`, opaque to passes.
struct CodeText {
  std::string text;  ///< without surrounding white space
  bool operator==(const CodeText&) const = default;
};

using CodeStatement = std::variant<CodeInstruction, Label, CodeScope, CodeText>;

struct Code {
  std::vector<CodeStatement> statements;

  bool empty() const { return statements.empty(); }
  /// Number of instructions.
  std::size_t size() const;
  /// True if lanes may join inside the code.
  bool has_label() const;
  void append(Code other);

  bool operator==(const Code&) const = default;
};

}  // namespace lynxpp::ptx
