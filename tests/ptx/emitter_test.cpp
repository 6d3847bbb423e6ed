#include "ptx/emitter/emitter.h"

#include <gtest/gtest.h>

#include "parse.h"

namespace lynxpp::ptx {
namespace {

std::uint32_t place(const Module& module, std::string_view text) {
  return static_cast<std::uint32_t>(module.source().find(text));
}
TextRange range(const Module& module, std::string_view text) {
  const std::uint32_t begin = place(module, text);
  return {begin, begin + static_cast<std::uint32_t>(text.size())};
}

class Emitter : public testing::Test {
 protected:
  Module module = module_of(".entry k() { one; two; three; }");
  EditList edits;
  std::string body() const { return emit(module, edits).substr(header.size()); }
};

TEST_F(Emitter, WithoutEditsTextIsUnchanged) { EXPECT_EQ(emit(module, edits), module.source()); }

TEST_F(Emitter, InsertionsAtOnePositionKeepTheirOrder) {
  edits.insert_before(place(module, "two"), "a; ");
  edits.insert_before(place(module, "one"), "z; ");
  edits.insert_before(place(module, "two"), "b; ");
  EXPECT_EQ(body(), ".entry k() { z; one; a; b; two; three; }");
}

TEST_F(Emitter, ReplacesAndErases) {
  edits.replace(range(module, "three"), "3");
  edits.erase(range(module, "one; "));
  EXPECT_EQ(body(), ".entry k() { two; 3; }");
}

TEST_F(Emitter, EditsInsideAnErasureAreDropped) {
  edits.insert_before(place(module, "two"), "a; ");
  edits.insert_before(place(module, "wo;"), "b");
  edits.replace(range(module, "wo"), "c");
  edits.erase(range(module, "two; "));
  EXPECT_EQ(body(), ".entry k() { one; a; three; }");
}

TEST_F(Emitter, InsertionPrecedesAReplacementAtTheSamePosition) {
  edits.replace(range(module, "two;"), "2;");
  edits.insert_before(place(module, "two"), "before ");
  edits.insert_before(range(module, "two;").end, " after");
  EXPECT_EQ(body(), ".entry k() { one; before 2; after three; }");
}

TEST_F(Emitter, EditsAtBothEndsApply) {
  edits.insert_before(0, "// first\n");
  edits.insert_before(static_cast<std::uint32_t>(module.source().size()), "\n// last");
  EXPECT_EQ(emit(module, edits), "// first\n" + module.source() + "\n// last");
}

TEST_F(Emitter, RangesApplyTheEditsInside) {
  edits.insert_before(place(module, "one"), "outside ");
  edits.insert_before(place(module, "two"), "x ");
  edits.replace(range(module, "two"), "2");
  edits.insert_before(range(module, "two;").end, " outside");
  EXPECT_EQ(emit_range(module, range(module, "two;"), edits), "x 2;");
  EXPECT_EQ(emit_range(module, range(module, "three"), edits), "three");
}

TEST_F(Emitter, AdjacentRangesShareNoEdit) {
  const TextRange whole = module.functions.at(0).text;
  edits.insert_before(place(module, "two"), "x ");
  const std::uint32_t middle = place(module, "two");
  EXPECT_EQ(emit_range(module, {whole.begin, middle}, edits) + emit_range(module, {middle, whole.end}, edits),
            emit_range(module, whole, edits));
}

TEST(EmitterSize, ManyEditsAreLinear) {
  const Module module = module_of("//" + std::string(2000000, 'x'));
  EditList edits;
  for (std::uint32_t at = 2000000; at > 1000; at -= 4) edits.insert_before(at, "-");
  EXPECT_EQ(emit(module, edits).size(), module.source().size() + edits.edits().size());
}

}  // namespace
}  // namespace lynxpp::ptx
