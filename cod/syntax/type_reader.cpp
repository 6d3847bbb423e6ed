#include "cod/syntax/type_reader.h"

#include <algorithm>
#include <set>

namespace lynxpp::cod {
namespace {

using grammar::CodParser;

using Words = std::map<std::string, int>;

Type fixed_type(const std::string& text) {
  static const std::map<std::string, Type, std::less<>> types{
      {"int8_t", Type::i8},   {"uint8_t", Type::u8},    {"int16_t", Type::i16},   {"uint16_t", Type::u16},
      {"int32_t", Type::i32}, {"uint32_t", Type::u32},  {"int64_t", Type::i64},   {"uint64_t", Type::u64},
      {"size_t", Type::u64},  {"ptrdiff_t", Type::i64}, {"uintptr_t", Type::u64}, {"intptr_t", Type::i64}};
  const auto found = types.find(text);
  return found == types.end() ? Type::none : found->second;
}

Type type_of_words(Words& words, int count) {
  const int is_unsigned = words["unsigned"];
  const int is_signed = words["signed"];
  if (is_unsigned + is_signed > 1) return Type::none;
  const auto rest = count - is_unsigned - is_signed;
  const auto sign = [&](Type without, Type with) { return is_unsigned != 0 ? with : without; };
  if (rest == 0) return count == 0 ? Type::none : sign(Type::i32, Type::u32);
  if (words["char"] == 1 && rest == 1) return sign(Type::i8, Type::u8);
  if (words["short"] == 1 && rest == 1 + words["int"]) return sign(Type::i16, Type::u16);
  if (words["long"] >= 1 && words["long"] <= 2 && rest == words["long"] + words["int"])
    return sign(Type::i64, Type::u64);
  if (words["int"] == 1 && rest == 1) return sign(Type::i32, Type::u32);
  if (count != 1) return Type::none;
  if (words["float"] == 1) return Type::f32;
  if (words["double"] == 1) return Type::f64;
  if (words["void"] == 1) return Type::nothing;
  return words["bool"] + words["_Bool"] == 1 ? Type::boolean : Type::none;
}

/// The value of the enumerator after `previous`.
ExpressionPtr next_value(const std::string& previous, const Position& position) {
  ExpressionPtr result = make_expression(ExpressionKind::binary, position);
  result->op = Operator::add;
  ExpressionPtr name = make_expression(ExpressionKind::name, position);
  name->text = previous;
  result->operands.push_back(std::move(name));
  result->operands.push_back(make_integer(1, Type::i32, position));
  return result;
}

}  // namespace

std::size_t count_brackets(const antlr4::ParserRuleContext& context) {
  return static_cast<std::size_t>(std::ranges::count_if(context.children, [](antlr4::tree::ParseTree* child) {
    auto* word = dynamic_cast<antlr4::tree::TerminalNode*>(child);
    return word != nullptr && word->getSymbol()->getText() == "[";
  }));
}

FullType pointer_to(const TypeSpecification& type) {
  return {Type::pointer, type.structure, type.type, type.is_const};
}

void TypeReader::check_stars(CodParser::PointerContext* stars) {
  const std::string text = stars->getText();
  if (std::count(text.begin(), text.end(), '*') > 1)
    errors_.add(stars->getStart(), "pointers to pointers are not supported", "use an index instead");
}

FullType TypeReader::with_stars(const TypeSpecification& type, CodParser::PointerContext* stars) {
  if (stars == nullptr) return {type.type, type.structure, Type::none, false};
  check_stars(stars);
  return pointer_to(type);
}

FullType TypeReader::read_full(CodParser::TypeNameContext* context, CodParser::PointerContext* stars) {
  return with_stars(read(context), stars);
}

TypeSpecification TypeReader::read(CodParser::TypeNameContext* context) {
  Words words;
  TypeSpecification result;
  int count = 0;
  bool is_named = false;
  bool is_const = false;
  for (auto* word : context->typeWord()) {
    const std::string text = word->getStart()->getText();
    if (text == "const") {
      is_const = true;
    } else if (text == "volatile") {
      errors_.add(word->getStart(), "'volatile' is not supported",
                  "remove it; use the atomic functions for data that several threads modify");
    } else {
      ++words[text];
      ++count;
      is_named = is_named || word->FixedType() != nullptr || word->TypedefName() != nullptr ||
                 word->structure() != nullptr || word->enumeration() != nullptr;
      if (word->FixedType() != nullptr) result.type = fixed_type(text);
      if (word->TypedefName() != nullptr) result = typedefs_[text];
      if (word->structure() != nullptr) result = structure(word->structure());
      if (word->enumeration() != nullptr) result = enumeration(word->enumeration());
    }
  }
  if (!is_named) result.type = type_of_words(words, count);
  if (is_named && count != 1) result.type = Type::none;
  result.is_const = result.is_const || is_const;
  if (result.type == Type::none) {
    errors_.add(context->getStart(), "this is not a valid type",
                "for example, write 'unsigned long', 'int' or 'double'");
  }
  return result;
}

TypeSpecification TypeReader::structure(CodParser::StructureContext* context) {
  const bool is_definition = context->getStop()->getText() == "}";
  Structure result;
  antlr4::Token* place = context->tag() != nullptr ? context->tag()->getStart() : context->getStart();
  result.position = errors_.position_of(place);
  result.name = context->tag() != nullptr ? context->tag()->getText()
                                          : "<line " + std::to_string(result.position.file) + ":" +
                                                std::to_string(result.position.line) + ":" +
                                                std::to_string(result.position.column) + ">";
  const auto known = std::find_if(structures.begin(), structures.end(),
                                  [&](const Structure& each) { return each.name == result.name; });
  const TypeSpecification type{Type::structure, result.name, false};
  if (!is_definition) {
    if (known == structures.end()) {
      std::vector<std::string> tags;
      for (const Structure& each : structures) tags.push_back(each.name);
      const std::string match = closest_match(result.name, tags);
      errors_.add(place, "unknown type 'struct " + result.name + "'",
                  match.empty() ? "define it above: 'struct " + result.name + " { ... };'"
                                : "did you mean 'struct " + match + "'?");
    }
    return type;
  }
  if (known != structures.end()) errors_.add(place, "'struct " + result.name + "' is already defined");
  for (auto* field : context->field()) read_field(field, result);
  if (result.fields.empty()) errors_.add(place, "a structure needs at least one field");
  structures.push_back(std::move(result));
  return type;
}

void TypeReader::read_field(CodParser::FieldContext* context, Structure& structure) {
  const TypeSpecification type = read(context->typeName());
  if (type.type == Type::nothing) errors_.add(context->getStart(), "a field cannot have type 'void'");
  if (type.type == Type::structure && type.structure == structure.name)
    errors_.add(context->getStart(), "a structure cannot contain itself");
  for (auto* declarator : context->declarator()) {
    antlr4::Token* name = declarator->Identifier()->getSymbol();
    if (declarator->pointer() != nullptr) {
      errors_.add(declarator->pointer()->getStart(), "a structure cannot contain pointers",
                  "store an index; only variables, parameters and function results can be pointers");
    }
    if (declarator->initializer() != nullptr) errors_.add(name, "a field cannot have an initialiser");
    Field field{type.type, type.structure, name->getText(), errors_.position_of(name), {}};
    if (std::any_of(structure.fields.begin(), structure.fields.end(),
                    [&](const Field& each) { return each.name == field.name; })) {
      errors_.add(name, "the field '" + field.name + "' is already declared");
    }
    // One expression per pair of brackets, unless one is empty.
    for (auto* extent : declarator->expression()) field.dimensions.push_back(read_expression_(extent));
    if (count_brackets(*declarator) != field.dimensions.size())
      errors_.add(name, "an array in a structure needs an extent");
    structure.fields.push_back(std::move(field));
  }
}

/// Enumerators are constants of type int, and so is the enumeration.
TypeSpecification TypeReader::enumeration(CodParser::EnumerationContext* context) {
  std::string previous;
  for (auto* each : context->enumerator()) {
    auto statement = std::make_unique<Statement>();
    statement->kind = StatementKind::declaration;
    statement->type = Type::i32;
    statement->is_const = true;
    antlr4::Token* name = each->Identifier()->getSymbol();
    statement->position = errors_.position_of(name);
    Declarator declarator;
    declarator.name = name->getText();
    declarator.position = statement->position;
    if (each->expression() != nullptr) {
      declarator.initializer = read_expression_(each->expression());
    } else {
      declarator.initializer = previous.empty() ? make_integer(0, Type::i32, statement->position)
                                                : next_value(previous, statement->position);
    }
    previous = declarator.name;
    statement->declarators.push_back(std::move(declarator));
    enumerators.push_back(std::move(statement));
  }
  return {Type::i32, {}, false};
}

void mark_typedef_names(antlr4::CommonTokenStream& tokens, std::set<std::string>& names,
                        const std::function<void(antlr4::Token*)>& include) {
  tokens.fill();
  bool is_inside = false;
  int depth = 0;
  antlr4::Token* last_name = nullptr;
  antlr4::Token* previous = nullptr;
  for (antlr4::Token* token : tokens.getTokens()) {
    const std::string text = token->getText();
    if (token->getType() == CodParser::String && previous != nullptr && previous->getText() == "include")
      include(token);
    if (token->getType() == CodParser::Identifier) {
      const bool is_field =
          previous != nullptr && (previous->getText() == "." || previous->getText() == "->");
      if (names.contains(text) && !is_field) {
        static_cast<antlr4::WritableToken*>(token)->setType(CodParser::TypedefName);
      } else if (depth == 0) {
        last_name = token;
      }
    }
    if (is_inside && text == "{") ++depth;
    if (is_inside && text == "}") --depth;
    if (is_inside && text == ";" && depth <= 0) {
      if (last_name != nullptr) names.insert(last_name->getText());
      is_inside = false;
    }
    if (text == "typedef") {
      is_inside = true;
      depth = 0;
      last_name = nullptr;
    }
    previous = token;
  }
}

}  // namespace lynxpp::cod
