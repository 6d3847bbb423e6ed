#include "report/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/totals.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

TEST(Number, IntegersHaveSeparators) {
  EXPECT_EQ(to_text(Number::of(0)), "0");
  EXPECT_EQ(to_text(Number::of(999)), "999");
  EXPECT_EQ(to_text(Number::of(1000)), "1,000");
  EXPECT_EQ(to_text(Number::of(-1234567)), "-1,234,567");
  EXPECT_EQ(to_text(Number::of(-123)), "-123");
  EXPECT_EQ(to_text(Number::of(std::numeric_limits<std::uint64_t>::max())), "18,446,744,073,709,551,615");
}

TEST(Number, SumsOfCountsDoNotOverflow) {
  const Number most = Number::of(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(to_text(most + most), "36,893,488,147,419,103,230");
}

TEST(Number, RealsKeepSignificantDigits) {
  EXPECT_EQ(to_text(Number::of_real(0)), "0");
  EXPECT_EQ(to_text(Number::of_real(0.5)), "0.500");
  EXPECT_EQ(to_text(Number::of_real(18.84)), "18.840");
  EXPECT_EQ(to_text(Number::of_real(12345.678)), "12,345.7");
  EXPECT_EQ(to_text(Number::of_real(1e-9)), "1e-09");
  EXPECT_EQ(to_text(Number::of_real(-2.5e20)), "-2.5e+20");
  EXPECT_EQ(to_text(Number::of_real(std::nan(""))), "-");
  EXPECT_EQ(to_text(Number::of_real(-HUGE_VAL)), "-inf");
}

TEST(Number, CompactHasFourDigits) {
  EXPECT_EQ(to_text(Number::of(999), NumberStyle::compact), "999");
  EXPECT_EQ(to_text(Number::of(1234), NumberStyle::compact), "1.234k");
  EXPECT_EQ(to_text(Number::of(999'999), NumberStyle::compact), "1M");
  EXPECT_EQ(to_text(Number::of(12'345'678'901), NumberStyle::compact), "12.35G");
  EXPECT_EQ(to_text(Number::of_real(0.25), NumberStyle::compact), "0.250");
}

TEST(Fold, FollowsTheName) {
  EXPECT_EQ(fold_of("thread_instructions"), Fold::sum);
  EXPECT_EQ(fold_of("mean_cycles"), Fold::mean);
  EXPECT_EQ(fold_of("average"), Fold::mean);
  EXPECT_EQ(fold_of("global_load_efficiency"), Fold::mean);
  EXPECT_EQ(fold_of("sm_imbalance"), Fold::mean);
  EXPECT_EQ(fold_of("instructions_per_thread"), Fold::mean);
  EXPECT_EQ(fold_of("max_cycles"), Fold::maximum);
  EXPECT_EQ(fold_of("min_cycles"), Fold::minimum);
  EXPECT_EQ(fold_of("max.s32"), Fold::sum) << "executions of an opcode";
  EXPECT_EQ(fold_of("min.f32"), Fold::sum);
}

TEST(Fold, RatiosAreSumOverSum) {
  FoldedNumber folded(Fold::ratio);
  folded.add(ratio("r", 1, 8), 0);
  folded.add(ratio("r", 0, 0), 0);
  folded.add(ratio("r", 990, 992), 0);
  EXPECT_EQ(to_text(folded), "0.991");
  FoldedNumber nothing(Fold::ratio);
  nothing.add(ratio("r", 5, 0), 0);
  EXPECT_EQ(to_text(nothing), "-");
}

TEST(Fold, NonQuantitiesAreShownIfLaunchesAgree) {
  EXPECT_EQ(fold_of(number<std::uint64_t>("first", 7, "address")), Fold::same);
  EXPECT_EQ(fold_of(number<std::uint64_t>("sm", 7, "id")), Fold::same);
  FoldedNumber address(Fold::same);
  address.add(Number::of(7));
  address.add(Number::of(7));
  EXPECT_EQ(to_text(address), "7");
  address.add(Number::of(8));
  EXPECT_EQ(to_text(address), "varies");
}

TEST(Number, AddressesAndMasksAreBitPatterns) {
  EXPECT_TRUE(is_of_bits("address", ""));
  EXPECT_TRUE(is_of_bits("lane_mask", ""));
  EXPECT_TRUE(is_of_bits("trace.address", ""));
  EXPECT_TRUE(is_of_bits("lanes", "mask"));
  EXPECT_FALSE(is_of_bits("unmask", "")) << "a word of its own";
  EXPECT_FALSE(is_of_bits("address", "bytes")) << "its unit says otherwise";
  EXPECT_FALSE(is_of_bits("addresses", ""));
}

TEST(Fold, MeansIgnoreNaN) {
  FoldedNumber mean(Fold::mean);
  EXPECT_EQ(to_text(mean.value()), "-");
  mean.add(Number::of_real(std::nan("")));
  mean.add(Number::of(1));
  mean.add(Number::of(2));
  EXPECT_EQ(to_text(mean.value()), "1.500");
}

TEST(Fold, SumsPropagateNaN) {
  FoldedNumber sum(Fold::sum);
  sum.add(Number::of(1));
  sum.add(Number::of_real(std::nan("")));
  EXPECT_EQ(to_text(sum.value()), "-");
}

}  // namespace
}  // namespace lynxpp::report
