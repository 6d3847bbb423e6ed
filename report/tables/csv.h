// One line per number.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "report/record.h"

namespace lynxpp::report {

/// Writes comma-separated values (RFC 4180) as records arrive: a header line, then one line for each number
/// of each result of each launch. Elements of arrays have their position in `index` ("3" or "3 1"); those by
/// instruction or basic block also have their site; those whose first index has names have the name in
/// `label`. A histogram has two more lines: "below" and "beyond" its bins. Ratios also have `numerator` and
/// `denominator`. Values that ON_END emits have no kernel and no launch. Coverage and times are not written.
std::unique_ptr<Sink> make_csv_sink(std::function<void(std::string_view)> write);

enum class CsvQuotes { where_needed, always };

/// Returns the text as a cell. Text that a spreadsheet would take for a formula ("=…", "@…", and "+…" and
/// "-…" that are not numbers) is quoted and prefixed with an apostrophe, which marks it as text.
std::string csv_cell(std::string_view text, CsvQuotes quotes = CsvQuotes::where_needed);

}  // namespace lynxpp::report
