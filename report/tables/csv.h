// One line per number.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "report/record.h"

namespace lynxpp::report {

/// Writes comma-separated values (RFC 4180) as records come: a line with the names of the columns, then one
/// line for each number of each result of each launch. Elements of arrays have their position in `index` ("3"
/// or "3 1"), those by instruction or basic block their place besides, and those whose first index has names
/// that name in `label`. A histogram has two more: "below" and "beyond" its bins. Ratios have their
/// `numerator` and `denominator`, too. What ON_END emits has no kernel and no launch. Coverage and times have
/// no lines.
std::unique_ptr<Sink> make_csv_sink(std::function<void(std::string_view)> write);

enum class CsvQuotes { where_needed, always };

/// The text as a cell. What a spreadsheet would take for a formula ("=…", "@…", "+…" and "-…" that are not
/// numbers) is quoted and has an apostrophe in front, which makes it text there.
std::string csv_cell(std::string_view text, CsvQuotes quotes = CsvQuotes::where_needed);

}  // namespace lynxpp::report
