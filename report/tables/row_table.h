// Rows of a table as aligned columns of text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/tables/tables.h"

namespace lynxpp::report {

/// Cells of a table. The first columns identify rows: by their keys, or by launch, if there are several, and
/// row number.
struct TableCells {
  struct Column {
    std::string name;
    std::string detail;  ///< unit and how launches were folded; may be empty
    bool is_index = false;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::uint64_t further = 0;  ///< rows that are not shown
};
/// Returns at most `most` rows.
TableCells cells_of(const TableTotals& table, std::size_t most);

/// Returns a heading and one line for each of the first `most` rows. `kernel` is its demangled name.
std::string render_rows(const std::string& kernel, const TableTotals& table, std::size_t width,
                        std::size_t most);

}  // namespace lynxpp::report
