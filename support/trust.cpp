#include "support/trust.h"

#include <algorithm>

#include "support/text.h"

namespace lynxpp::trust {
namespace {

constexpr Row all[] = {
#define TRUST(id, basis, numbers, validated, error, does_not_hold, specifications, line) \
  {Basis::basis, numbers, validated, error, does_not_hold, specifications, line},
#include "support/trust.def"
#undef TRUST
};

constexpr std::string_view page = "; see docs/trust.md";

/// Returns the specifications of the row that are in `wanted`, separated by commas.
std::string chosen(const Row& row, std::span<const std::string> wanted) {
  std::string text;
  for (const std::string& name : split(std::string(row.specifications), ',')) {
    if (std::ranges::find(wanted, name) != wanted.end()) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string basis_of(const Row& row, Clock clock) {
  if (row.basis != Basis::measured || clock == Clock::device) return std::string(name_of(row.basis));
  return clock == Clock::modelled ? "modelled" : "measured by the host's clock, not a GPU's";
}

}  // namespace

std::string_view name_of(Basis basis) {
  switch (basis) {
    case Basis::counted: return "counted";
    case Basis::measured: return "measured";
    case Basis::modelled: return "modelled";
    case Basis::estimated: return "estimated";
  }
  return "";
}

std::span<const Row> rows() { return all; }

const Row& row_of(Number number) { return all[static_cast<std::size_t>(number)]; }

std::string line_of(std::initializer_list<Number> numbers) {
  std::string text = "Trust: ";
  const Row* before = nullptr;
  for (const Number number : numbers) {
    const Row& row = row_of(number);
    if (before != nullptr) text += "; ";
    if (before == nullptr || before->basis != row.basis) text += std::string(name_of(row.basis)) + "; ";
    text += row.line;
    before = &row;
  }
  return text + std::string(page);
}

std::string line_of(std::string_view basis, std::string_view text) {
  return "Trust: " + std::string(basis) + "; " + std::string(text) + std::string(page);
}

Clock clock_of(std::string_view device) {
  if (device.starts_with("cpu (")) return Clock::modelled;
  return device == "cpu" ? Clock::host : Clock::device;
}

std::string line_of(Number measured, Clock clock) {
  switch (clock) {
    case Clock::device: break;
    case Clock::modelled: return line_of({Number::clock_9_0});
    case Clock::host:
      return line_of("measured by the host's clock", "times of the cpu device say nothing about a GPU");
  }
  return line_of({measured});
}

std::string line_of_records(std::span<const std::string> specifications, Clock clock, Shown shown) {
  std::string text, basis;
  for (const Row& row : rows()) {
    const std::string names = chosen(row, specifications);
    if (names.empty()) continue;
    text += text.empty() ? "" : "; ";
    const bool is_inexact = shown.has_inexact_words && &row == &row_of(Number::words);
    const std::string here = is_inexact ? "estimated, by a scheme of counting words" : basis_of(row, clock);
    if (here != basis) text += (basis = here) + ": ";
    text += names;
    const bool is_about_a_gpu = row.basis == Basis::measured && clock != Clock::device;
    const std::string_view line = is_inexact ? row_of(Number::schemes).line : row.line;
    if (!line.empty() && !is_about_a_gpu) text += " (" + std::string(line) + ")";
  }
  const auto add = [&](const char* what, Number number) {
    text += (text.empty() ? "" : "; ") + std::string(what) + " (" + std::string(row_of(number).line) + ")";
  };
  if (shown.has_sharing_advice) add("advice on shared memory: estimated", Number::sharing_advice);
  if (shown.has_findings) add("findings: estimated unless they say otherwise", Number::findings);
  return text.empty() ? text : "Trust: " + text + std::string(page);
}

}  // namespace lynxpp::trust
