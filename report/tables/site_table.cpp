#include "report/tables/site_table.h"

#include <algorithm>
#include <set>

#include "report/kernel_name.h"
#include "report/tables/text_table.h"

namespace lynxpp::report {
namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t widest_function = 24;
constexpr std::size_t widest_source = 28;

/// Keeps the end of a file's name, which distinguishes it from others.
std::string shortened_source(const SiteLabel& label) {
  const std::string text = printable(label.source());
  const std::size_t width = width_of(text);
  return width <= widest_source ? text : "..." + text.substr(text.size() - (widest_source - 3));
}

/// Returns columns that describe the sites; omits empty ones.
std::vector<TextColumn> site_columns(const HotSites& hot) {
  const bool by_instruction = hot.kind == SiteKind::instruction;
  TextColumn id{{by_instruction ? "instruction" : "block"}, {}};
  TextColumn opcode{{"opcode"}, {}, false};
  TextColumn block{{"block"}, {}};
  TextColumn function{{"function"}, {}, false};
  TextColumn ptx{{"PTX", "line"}, {}};
  TextColumn source{{"source"}, {}, false};
  std::set<std::string> functions;
  bool has_opcode = false;
  bool has_ptx = false;
  bool has_source = false;
  for (const SiteLabel& row : hot.rows) {
    functions.insert(row.function);
    has_opcode |= !row.opcode.empty();
    has_ptx |= row.ptx_line != 0;
    has_source |= !row.file.empty();
    id.cells.push_back(std::to_string(row.id));
    opcode.cells.push_back(printable(row.opcode));
    block.cells.push_back(std::to_string(row.block));
    function.cells.push_back(short_kernel_name(row.function, widest_function));
    ptx.cells.push_back(row.ptx_line == 0 ? "" : std::to_string(row.ptx_line));
    source.cells.push_back(shortened_source(row));
  }
  std::vector<TextColumn> columns{id};
  if (has_opcode) columns.insert(columns.end(), {opcode, block});
  if (functions.size() > 1) columns.push_back(function);
  if (has_ptx) columns.push_back(ptx);
  if (has_source) columns.push_back(source);
  return columns;
}

TextColumn value_column(const ArrayTotals& array, const HotSites& hot, NumberStyle style) {
  TextColumn column{{printable(array.name)}, {}};
  for (const SiteLabel& row : hot.rows) {
    column.cells.push_back(
        row.id < array.each.size() ? to_text(array.each[row.id], array.name, array.unit, style) : "");
  }
  return column;
}

std::size_t width_with(const std::vector<TextColumn>& columns, const TextColumn& further) {
  std::size_t width = indent + width_between(columns.size() + 1) + further.width();
  for (const TextColumn& column : columns) width += column.width();
  return width;
}

/// Drops columns that the instruction's number implies, until the widest value fits next to the rest.
void drop_until_one_fits(std::vector<TextColumn>& sites, const HotSites& hot, std::size_t width) {
  std::size_t widest = 0;
  for (const ArrayTotals* array : hot.arrays)
    widest = std::max(widest, width_with(sites, value_column(*array, hot, NumberStyle::compact)));
  for (const char* name : {"block", "PTX", "function"}) {
    for (std::size_t i = 1; i < sites.size() && widest > width; ++i) {
      if (sites[i].header[0] != name) continue;
      widest -= sites[i].width() + width_between(2);
      sites.erase(sites.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

}  // namespace

std::string render_hot_sites(const std::string& kernel, const HotSites& hot, std::size_t width) {
  const std::string what = hot.kind == SiteKind::instruction ? "instructions" : "basic blocks";
  std::string text = short_kernel_name(kernel, width > 30 ? width - 30 : width) + ": ";
  if (hot.rows.empty()) return text + "all zero over its " + what + "\n";
  text += "the hottest " + what + "\n";
  std::vector<TextColumn> sites = site_columns(hot);
  drop_until_one_fits(sites, hot, width);
  std::vector<TextColumn> columns = sites;
  for (const ArrayTotals* array : hot.arrays) {
    TextColumn column = value_column(*array, hot, NumberStyle::exact);
    if (width_with(columns, column) > width) column = value_column(*array, hot, NumberStyle::compact);
    if (columns.size() > sites.size() && width_with(columns, column) > width) {
      text += render_columns(columns, indent) + "\n";
      columns = sites;
      column = value_column(*array, hot, NumberStyle::exact);
    }
    columns.push_back(std::move(column));
  }
  text += render_columns(columns, indent);
  if (hot.further != 0) text += further_line(hot.further, hot.rows.size());
  return text;
}

}  // namespace lynxpp::report
