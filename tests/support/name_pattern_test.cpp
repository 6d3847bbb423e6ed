#include "support/name_pattern.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <stdexcept>

#include "support/own_stack.h"
#include "support/text.h"

namespace lynxpp {
namespace {

/// Runs `body` on a stack of 64 KiB.
template <typename Body>
void on_small_stack(Body body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{64} << 10);
  pthread_t thread;
  const auto run = [](void* context) -> void* {
    (*static_cast<Body*>(context))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &body), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

bool matches(const std::string& pattern, const std::string& symbol) {
  return NamePattern::parse(pattern)->matches(symbol);
}

std::string problem(const std::string& pattern) {
  const Result<NamePattern> parsed = NamePattern::parse(pattern);
  return parsed ? "" : render(parsed.error().diagnostics, pattern);
}

TEST(NamePattern, FindsAMatchInTheSymbolOrItsName) {
  const std::string symbol = "_Z6matmulPKfS0_Pfi";
  EXPECT_TRUE(matches("^_Z6mat", symbol));
  EXPECT_TRUE(matches("^matmul\\(", symbol));
  EXPECT_TRUE(matches("float const\\*, float const\\*", symbol));
  EXPECT_FALSE(matches("^mul", symbol));
  EXPECT_TRUE(matches("", symbol));
  EXPECT_TRUE(matches("(?i)MATMUL", symbol));
}

TEST(NamePattern, RepeatedSearchesAgree) {
  const NamePattern pattern = *NamePattern::parse("^k[12]$");
  const NamePattern copy = pattern;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(pattern.matches("k1"));
    EXPECT_FALSE(copy.matches("k3"));
    EXPECT_TRUE(copy.matches("k1"));
  }
  EXPECT_EQ(copy.text(), "^k[12]$");
}

TEST(NamePattern, ReportsErrorsWithTheirColumn) {
  EXPECT_EQ(problem("matmul"), "");
  EXPECT_EQ(problem("("), "error: '(' is not a valid regular expression: missing )\n");
  EXPECT_EQ(problem("ab**"),
            "error: 'ab**' is not a valid regular expression: bad repetition operator '**' at character 3\n"
            "  ab**\n"
            "    ^~\n");
  EXPECT_EQ(problem("a(?!b)"),
            "error: 'a(?!b)' is not a valid regular expression: invalid perl operator '(?!' at character 2\n"
            "  a(?!b)\n"
            "   ^~~\n"
            "  hint: patterns have RE2's syntax, which has no look-ahead and no look-behind\n");
  EXPECT_EQ(
      problem("\\\\1(a)\\1"),
      "error: '\\\\1(a)\\1' is not a valid regular expression: invalid escape sequence '\\1' at character "
      "7\n"
      "  \\\\1(a)\\1\n"
      "        ^~\n"
      "  hint: patterns have RE2's syntax, which has no backreferences\n");
  EXPECT_NE(problem("(a{1000}){1000}"), "");
  EXPECT_NE(problem("\xff"), "");
}

TEST(NamePattern, UsesLittleStackForAnyPatternAndName) {
  const std::string deep = std::string(20'000, '(') + "a" + std::string(20'000, ')');
  const std::string letters = std::string(60'000, 'a') + "b";
  on_small_stack([&] {
    EXPECT_FALSE(matches(".*foo", letters));
    EXPECT_FALSE(matches("(a+)+$", letters));
    EXPECT_FALSE(matches("(a|aa)*c", letters));
    EXPECT_TRUE(matches(deep, letters));
  });
}

TEST(OwnStack, ExtendsASmallThreadStack) {
  const auto uses = [](std::size_t bytes) {
    auto* const taken = static_cast<volatile char*>(__builtin_alloca(bytes));
    for (std::size_t i = 0; i < bytes; i += 4096) taken[i] = 1;
    return taken;
  };
  const auto thread = pthread_self();
  on_small_stack([&] {
    int errors = 0;
    EXPECT_TRUE(run_with_stack(1 << 20, [&] {
      const volatile char* const outer = uses(1 << 20);
      EXPECT_FALSE(pthread_equal(thread, pthread_self()));
      EXPECT_TRUE(run_with_stack(1 << 20, [&] {
        const volatile char* const inner = uses(1 << 20);
        EXPECT_LT(outer - inner, 8 << 20) << "the same stack";
        EXPECT_GT(outer - inner, 0);
      }));
      errors = 1;
    }));
    EXPECT_EQ(errors, 1);
    EXPECT_THROW(run_with_stack(1 << 20, [] { throw std::runtime_error("passes through"); }),
                 std::runtime_error);
    const volatile char* const here = uses(1 << 10);
    EXPECT_TRUE(run_with_stack(1 << 10,
                               [&] { EXPECT_LT(here - uses(1 << 10), 64 << 10) << "needs no other stack"; }));
  });
}

TEST(NamePattern, UsesLittleStackForMangledNames) {
  const std::string pointer = "_Z1f" + std::string(900, 'P') + "i";
  const std::string name = std::string(990, 'n');
  const std::string too_long = "_Z1f" + std::string(60'000, 'P') + "i";
  on_small_stack([&] {
    EXPECT_EQ(demangle(pointer), "f(int" + std::string(900, '*') + ")");
    EXPECT_EQ(demangle("_Z990" + name + "v"), name + "()");
    EXPECT_EQ(demangle(too_long), too_long);
    EXPECT_EQ(demangle("_Z1fi"), "f(int)");
    EXPECT_EQ(demangle("_Zno"), "_Zno");
    EXPECT_EQ(demangle("f"), "f");
  });
  EXPECT_EQ(demangle(pointer), "f(int" + std::string(900, '*') + ")");
}

}  // namespace
}  // namespace lynxpp
