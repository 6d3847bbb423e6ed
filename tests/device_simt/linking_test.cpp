// Links relocatable modules: the result must run as if a device linker had produced it.
#include "ptx/parser/linking.h"

#include <gmock/gmock.h>

#include <array>

#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string header = ".version 8.0\n.target sm_90\n.address_size 64\n";
const std::string newer = ".version 8.5\n.target sm_90a\n.address_size 64\n";

/// Both modules have a variable `own` and a weak function `shared_code` that returns 5; the first module
/// declares the second's function and variable.
const std::string first = header + R"(
.extern .func (.param .b32 r) doubled(.param .b32 x);
.extern .global .align 4 .u32 counter;
.global .align 4 .u32 own = 100;
.weak .func (.param .b32 r) shared_code() { st.param.b32 [r], 5; ret; }
.visible .entry test(.param .u64 out) {
  .reg .b32 %v, %w;
  .reg .b64 %p;
  ld.param.u64 %p, [out];
  ld.global.u32 %v, [own];
  { .param .b32 x; .param .b32 r; st.param.b32 [x], %v; call.uni (r), doubled, (x); ld.param.b32 %v, [r]; }
  { .param .b32 r; call.uni (r), shared_code; ld.param.b32 %w, [r]; }
  add.u32 %v, %v, %w;
  atom.global.add.u32 %w, [counter], 1;
  add.u32 %v, %v, %w;
  st.global.u32 [%p], %v;
  ret;
})";
const std::string second = newer + R"(
.file 1 "second.cu"
.visible .global .align 4 .u32 counter = 30000;
.global .align 4 .u32 own = 7000;
.weak .func (.param .b32 r) shared_code() { st.param.b32 [r], 6; ret; }
.visible .func (.param .b32 r) doubled(.param .b32 x) {
  .local .align 4 .b8 room[4];
  .reg .b32 %v, %o;
  .loc 1 4 2
  ld.param.b32 %v, [x];
  ld.global.u32 %o, [own];
  add.u32 %v, %v, %v;
  add.u32 %v, %v, %o;
  st.local.u32 [room], %v;
  ld.local.u32 %v, [room];
  st.param.b32 [r], %v;
  ret;
})";

TEST(Linking, RenamesPrivateSymbolsUniquely) {
  // nvcc numbers a module's strings: $str, $str$1, …
  const std::string one =
      header + ".global .align 1 .b8 $str[2] = {65};\n.global .align 1 .b8 $str$0[2] = {66};\n";
  const std::string other =
      header + ".global .align 1 .b8 $str[2] = {67};\n.global .align 1 .b8 $str$1[2] = {68};\n";
  const std::array texts = {one, other, other};
  const Result<std::string> linked = ptx::link_modules(texts);
  ASSERT_TRUE(linked) << linked.error().diagnostics.front().message;
  EXPECT_TRUE(load_module(*linked, "test.ptx"));
}

TEST(Linking, ResolvesDeclarationsAcrossModules) {
  const std::array texts = {first, second};
  const Result<std::string> linked = ptx::link_modules(texts);
  ASSERT_TRUE(linked);
  EXPECT_THAT(*linked, HasSubstr(".version 8.5"));
  EXPECT_THAT(*linked, Not(HasSubstr(".extern")));
  EXPECT_THAT(*linked, Not(HasSubstr(".loc "))) << "its file number is only valid in the second module";
  auto module = load_module(*linked, "test.ptx");
  ASSERT_TRUE(module);
  std::uint32_t out = 0;
  EXPECT_EQ(text_of((*module)->launch("test", {{1, 1, 1}, {1, 1, 1}, 0}, Arguments(&out).bytes(), nullptr)),
            "");
  EXPECT_EQ(out, 2 * 100 + 7000 + 5 + 30000u);
}

TEST(Linking, RejectsTwoDefinitions) {
  const std::array texts = {second, second};
  const Result<std::string> linked = ptx::link_modules(texts);
  ASSERT_FALSE(linked);
  EXPECT_THAT(linked.error().diagnostics.front().message, HasSubstr("define 'counter'"));
}

/// There is one dynamic shared array, whichever modules declare it; undefined symbols stay declared.
TEST(Linking, KeepsOneDeclaration) {
  const std::string dynamic = "\n.extern .shared .align 16 .b8 room[];\n.extern .func missing();\n";
  const std::array texts = {header + dynamic + ".visible .entry a() { ret; }",
                            header + dynamic + ".visible .entry b() { ret; }"};
  const Result<std::string> linked = ptx::link_modules(texts);
  ASSERT_TRUE(linked);
  EXPECT_EQ(linked->find("room[]"), linked->rfind("room[]"));
  EXPECT_THAT(*linked, HasSubstr("missing"));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
