#include "report/tables/row_table.h"

#include <algorithm>

#include "report/kernel_name.h"
#include "report/tables/text_table.h"
#include "support/text.h"

namespace lynxpp::report {

TableCells cells_of(const TableTotals& table, std::size_t most) {
  TableCells cells;
  const bool names_launches = table.launches() > 1 && !table.is_folded();
  const bool has_numbers = !table.has_keys();
  if (names_launches) cells.columns.push_back({"launch", "", true});
  if (has_numbers) cells.columns.push_back({"index", "", true});
  for (const TableTotals::Column& column : table.columns()) {
    std::string detail = column.name.find(column.unit) == std::string::npos ? column.unit : "";
    if (table.is_folded() && column.fold != Fold::key)
      detail += (detail.empty() ? "" : ", ") + std::string(name_of(column.fold));
    cells.columns.push_back({column.name, std::move(detail), false});
  }
  const std::vector<TableTotals::Row> rows = table.rows();
  const std::size_t shown = std::min(rows.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string>& row = cells.rows.emplace_back();
    if (names_launches) row.push_back(std::to_string(rows[i].launch));
    if (has_numbers) row.push_back(rows[i].index);
    for (std::size_t column = 0; column < rows[i].cells.size(); ++column) {
      const TableTotals::Column& of = table.columns()[column];
      row.push_back(of.is_text ? printable(table.text_in(rows[i], column))
                               : to_text(rows[i].cells[column], of.name, of.unit));
    }
  }
  cells.further = table.further() + (rows.size() - shown);
  return cells;
}

std::string render_rows(const std::string& kernel, const TableTotals& table, std::size_t width,
                        std::size_t most) {
  constexpr std::size_t indent = 2;
  const TableCells cells = cells_of(table, most);
  const std::string name = printable(table.name());
  const std::size_t taken = width_of(name) + 2;
  std::string text = short_kernel_name(kernel, width > taken + 12 ? width - taken : 12) + ": " + name + "\n";
  if (cells.rows.empty()) return text + "  no rows\n";
  std::vector<TextColumn> columns;
  for (std::size_t i = 0; i < cells.columns.size(); ++i) {
    const TableCells::Column& column = cells.columns[i];
    TextColumn& made = columns.emplace_back(TextColumn{{printable(column.name)}, {}});
    if (!column.detail.empty()) made.header.push_back("(" + printable(column.detail) + ")");
    for (const std::vector<std::string>& row : cells.rows) made.cells.push_back(row[i]);
  }
  text += render_columns(columns, indent);
  if (cells.further != 0) text += further_line(cells.further, most);
  return text;
}

}  // namespace lynxpp::report
