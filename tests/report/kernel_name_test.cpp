#include "report/kernel_name.h"

#include <gtest/gtest.h>

namespace lynxpp::report {
namespace {

TEST(KernelName, DropsTheLeastDistinctivePartsFirst) {
  const std::string name = "void detail::reduce<128, float (*)(int)>(float const*, float*, int)";
  EXPECT_EQ(short_kernel_name(name, 100), name);
  EXPECT_EQ(short_kernel_name(name, name.size() - 1), "detail::reduce<128, float (*)(int)>");
  EXPECT_EQ(short_kernel_name(name, 25), "detail::reduce<...>");
  EXPECT_EQ(short_kernel_name(name, 12), "detai......>");
}

TEST(KernelName, NestedTemplateArgumentsCollapseOnce) {
  EXPECT_EQ(short_kernel_name("a<b<c>, d>::e<f>(int)", 15), "a<...>::e<...>");
}

TEST(KernelName, ControlCharactersNeverReachTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\xff"), "a?[2Jb??");
  EXPECT_EQ(printable("gr\xC3\xB6\xC3\x9F\x65"), "gr\xC3\xB6\xC3\x9F\x65");
  EXPECT_EQ(width_of("gr\xC3\xB6\xC3\x9F\x65"), 5u);
}

TEST(KernelName, CutsBetweenCharacters) {
  EXPECT_EQ(short_kernel_name("\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6", 5), "\xC3\xB6...\xC3\xB6");
  EXPECT_EQ(short_kernel_name("abcdef", 2), "..");
}

TEST(KernelName, EqualShortNamesAreNumberedAndExplained) {
  const ShortNames names =
      short_kernel_names({"k<short>(int*)", "k<float>(float*)", "k<short>(int*)", "other(int)"}, 7);
  EXPECT_EQ(names.names, (std::vector<std::string>{"... [1]", "... [2]", "... [1]", "other"}));
  EXPECT_EQ(names.legend, (std::vector<std::string>{"[1] k<short>(int*)", "[2] k<float>(float*)"}));
}

TEST(KernelName, VersionsShareTheBaseName) {
  EXPECT_EQ(base_name("void transpose<1>(float const*)"), "transpose");
  EXPECT_EQ(base_name("app::mm(float*, int)"), "mm");
  EXPECT_EQ(base_name("(anonymous namespace)::k(int)"), "k");
  EXPECT_EQ(base_name("triton_kernel_0"), "triton_kernel_0");
  EXPECT_EQ(without_signature("void app::f<int>(int*)"), "app::f<int>");
}

}  // namespace
}  // namespace lynxpp::report
