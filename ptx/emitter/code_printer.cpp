#include "ptx/emitter/code_printer.h"

#include <array>
#include <string_view>

namespace lynxpp::ptx {
namespace {

struct RegisterNames {
  std::string_view type;    ///< of the declaration
  std::string_view prefix;  ///< of the register names
};

/// Indexed by RegisterType.
constexpr std::array<RegisterNames, register_types> register_names{{{".pred", "%lynxpp_p"},
                                                                    {".b16", "%lynxpp_rs"},
                                                                    {".b32", "%lynxpp_r"},
                                                                    {".b64", "%lynxpp_rd"},
                                                                    {".b128", "%lynxpp_rq"}}};

const RegisterNames& names_of(RegisterType type) { return register_names[static_cast<std::size_t>(type)]; }

/// Appends PTX to `text`.
struct Printer {
  std::string& text;

  void operator()(VirtualRegister reg) const {
    text += names_of(reg.type).prefix;
    text += std::to_string(reg.id);
  }
  void operator()(const Name& name) const { text += name.text; }
  void operator()(const SpecialRegister& special) const { text += special.name; }
  void operator()(std::int64_t immediate) const { text += std::to_string(immediate); }
  void operator()(Label label) const { text += "$lynxpp_" + std::to_string(label.id); }
  void operator()(const CodePredicate& predicate) const {
    if (predicate.is_negated) text += '!';
    std::visit(*this, predicate.reg);
  }
  void operator()(const CodeAddress& address) const {
    text += '[';
    std::visit(*this, address.base);
    if (address.offset != 0) text += '+' + std::to_string(address.offset);  // nvcc emits [base+-8]
    text += ']';
  }
  void operator()(const CodeList& list) const {
    switch (list.kind) {
      case CodeList::Kind::vector: return add_elements(list, "{", ", ", "}");
      case CodeList::Kind::arguments: return add_elements(list, "(", ", ", ")");
      case CodeList::Kind::pair: return add_elements(list, "", "|", "");
    }
  }
  void operator()(const CodeOperand& operand) const { std::visit(*this, operand.value); }

  void operator()(const CodeInstruction& instruction) const {
    if (instruction.guard) {
      text += '@';
      (*this)(*instruction.guard);
      text += ' ';
    }
    text += instruction.opcode;
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      text += i == 0 ? " " : ", ";
      (*this)(instruction.operands[i]);
    }
    text += ';';
  }
  void operator()(const CodeScope& scope) const { text += scope.opens ? '{' : '}'; }
  void operator()(const CodeText& line) const { text += line.text; }

 private:
  void add_elements(const CodeList& list, const char* begin, const char* separator, const char* end) const {
    text += begin;
    for (std::size_t i = 0; i < list.elements.size(); ++i) {
      if (i != 0) text += separator;
      (*this)(list.elements[i]);
    }
    text += end;
  }
};

}  // namespace

std::string print(const CodeOperand& operand) {
  std::string text;
  Printer{text}(operand);
  return text;
}

std::string print(const Code& code) {
  std::string text;
  const Printer printer{text};
  for (const CodeStatement& statement : code.statements) {
    const bool is_label = std::holds_alternative<Label>(statement);
    if (!is_label) text += '\t';
    std::visit(printer, statement);
    text += is_label ? ":\n" : "\n";
  }
  return text;
}

std::string print_declarations(const NameSource& names) {
  std::string text;
  for (std::size_t i = 0; i < register_types; ++i) {
    const std::uint32_t count = names.registers(static_cast<RegisterType>(i));
    if (count == 0) continue;
    const RegisterNames& known = register_names[i];
    text += "\t.reg ";
    text += known.type;
    text += ' ';
    text += known.prefix;
    text += '<' + std::to_string(count) + ">;\n";
  }
  return text;
}

std::string print(const CodeFunction& function) {
  std::string text = ".func ";
  if (!function.result.empty()) text += "(" + function.result + ") ";
  text += function.name + "(";
  for (std::size_t i = 0; i < function.parameters.size(); ++i)
    text += (i == 0 ? "" : ", ") + function.parameters[i];
  return text + ")\n{\n" + print_declarations(function.names) + print(function.code) + "}\n";
}

}  // namespace lynxpp::ptx
