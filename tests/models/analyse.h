// A description's text ▶ its analysis.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/cumapz/terms.h"

namespace lynxpp::models::cumapz {

using Given = std::map<std::string, std::int64_t>;

inline const Machine& paper_machine() {
  static const Machine machine = *find_machine("compute_1_3");
  return machine;
}
inline const Machine& machine_of_today() {
  static const Machine machine = *find_machine("compute_9_0");
  return machine;
}

struct Analysed {
  Totals totals;
  Terms terms;
};

/// Analyses a description with one variant.
inline Analysed analyse(const std::string& text, const Given& given = {},
                        const Machine& machine = paper_machine()) {
  const Result<Description> description = parse_description(text, "d.access");
  EXPECT_TRUE(description) << (description ? "" : render(description.error().diagnostics, text));
  const auto variants = variants_of(*description, given);
  EXPECT_TRUE(variants);
  EXPECT_EQ(variants->size(), 1u);
  const Result<Totals> totals = execute(*description, variants->front(), machine);
  EXPECT_TRUE(totals) << (totals ? "" : render(totals.error().diagnostics, text));
  return {*totals, terms_of(*totals, machine)};
}

/// "line:column message" if a description with one variant cannot be analysed; otherwise empty.
inline std::string failure_of(const std::string& text) {
  const Result<Description> description = parse_description(text, "d.access");
  EXPECT_TRUE(description);
  const auto variants = variants_of(*description, {});
  EXPECT_TRUE(variants);
  const Result<Totals> totals = execute(*description, variants->front(), paper_machine());
  if (totals) return "";
  const Diagnostic& first = totals.error().diagnostics.front();
  return std::to_string(first.location.line) + ":" + std::to_string(first.location.column) + " " +
         first.message;
}

}  // namespace lynxpp::models::cumapz
