// How far to trust each number that lynxpp prints: the source of docs/trust.md and of the last line of every
// command's output.
//
//   std::puts(trust::line_of({trust::Number::quality}).c_str());
//   // Trust: modelled; QM orders 13 of 27 pairs … (chance: half); see docs/trust.md
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp::trust {

enum class Basis { counted, measured, modelled, estimated };
/// "counted".
std::string_view name_of(Basis basis);

/// A row of docs/trust.md; support/trust.def lists them.
enum class Number : std::size_t {
#define TRUST(id, ...) id,
#include "support/trust.def"
#undef TRUST
};

struct Row {
  Basis basis = Basis::counted;
  std::string_view numbers, validated, error, does_not_hold;  ///< cells of the page, as Markdown
  std::string_view specifications;  ///< ready-made ones that print these numbers, separated by commas
  std::string_view line;            ///< plain text for line_of(); may be empty
};
/// Returns the rows in the order of Number and of the page.
std::span<const Row> rows();
const Row& row_of(Number number);

/// Returns "Trust: BASIS; TEXT; …; see docs/trust.md", a basis once for rows that follow each other. Without
/// an end of line. Precondition: there is a row.
std::string line_of(std::initializer_list<Number> numbers);
/// Same, for a text that a command computes.
std::string line_of(std::string_view basis, std::string_view text);

enum class Clock {
  device,    ///< a GPU's
  host,      ///< the cpu device's: the time that its execution takes
  modelled,  ///< the cpu device's under a machine's clock
};
/// Returns the clock that times launches on a device of records: "cpu", "cpu (compute_9_0)" or a GPU's name.
Clock clock_of(std::string_view device);
/// Returns the line of a measured row for times of this clock.
std::string line_of(Number measured, Clock clock);
/// Shown next to the results of specifications.
struct Shown {
  bool has_findings = false;
  bool has_sharing_advice = false;  ///< advice on shared memory
  bool has_inexact_words = false;   ///< a scheme of counting words estimates or limits their counts
};
/// Prefixes of the notes of such schemes.
inline constexpr std::string_view words_are_estimates = "word counts are estimates";
inline constexpr std::string_view words_are_limited = "word counts stop at ";
/// Returns the line for records of these specifications and what is shown with them; empty if none of the
/// specifications is ready-made and nothing is shown. The clock decides what measured times are called.
std::string line_of_records(std::span<const std::string> specifications, Clock clock, Shown shown);

}  // namespace lynxpp::trust
