// Checks emitRanges(name, closed, open, left, last) and its arrays.
#include <algorithm>
#include <array>

#include "cod/sema/analyser.h"

namespace lynxpp::cod {
namespace {

constexpr std::array fields{"word", "block", "begin", "end", "left", "accesses"};

bool has_extents(const Symbol& array, std::initializer_list<Extent> extents) {
  return std::equal(array.dimensions.begin(), array.dimensions.end(), extents.begin(), extents.end(),
                    [](const Dimension& each, Extent extent) { return each.extent == extent; });
}

bool is_trace_of_ranges(const Collection* trace) {
  if (trace == nullptr || trace->kind != Collection::Kind::trace || !trace->leading.empty()) return false;
  const auto is_field = [&](const Symbol* leaf, const char* field) {
    return leaf->type == Type::u32 && leaf->name == trace->name + "." + field;
  };
  return std::equal(trace->leaves.begin(), trace->leaves.end(), fields.begin(), fields.end(), is_field);
}

}  // namespace

void Analyser::emit_ranges_call(Expression& expression) {
  Expression& name = *expression.operands[0];
  note_emitted(name);
  literal_text(name, "the name of a result", "write 'emitRanges(\"arrays\", closed, open, left, last)'");
  Expression& closed = *expression.operands[1];
  if (!is_trace_of_ranges(emitted_collection(closed)))
    error(closed.position, "emitRanges() needs a trace of ranges",
          "the entries need the unsigned int fields word, block, begin, end, left and accesses");
  const auto check = [&](std::size_t index, Type type, std::initializer_list<Extent> extents,
                         const char* declaration) {
    Expression& argument = *expression.operands[index];
    const std::size_t before = errors.size();
    argument.symbol = array_argument(argument);
    const Symbol* array = argument.symbol;
    const bool fits = array != nullptr && array->memory == Symbol::Memory::global && array->type == type &&
                      array->collection == nullptr && has_extents(*array, extents);
    if (!fits && errors.size() == before)
      error(argument.position, "emitRanges() needs an array of another type or extent here",
            std::string("declare 'global ") + declaration + ";'");
  };
  check(2, Type::u64, {Extent::blocks, Extent::shared_words}, "unsigned long open[BLOCKS][SHARED_WORDS]");
  check(3, Type::u32, {Extent::blocks, Extent::shared_words}, "unsigned int left[BLOCKS][SHARED_WORDS]");
  check(4, Type::u32, {Extent::blocks}, "unsigned int last[BLOCKS]");
}

}  // namespace lynxpp::cod
