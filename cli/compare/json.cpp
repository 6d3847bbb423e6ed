// Prints differences as one JSON object.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/compare/output.h"
#include "report/json/number.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Adds the value; omits the member if the file lacks it.
void put_value(Json& object, const char* side, const std::optional<report::FoldedNumber>& value) {
  if (!value) return;
  Json& entry = object[side] = {{"value", report::json_number<Json>(value->value())}};
  if (const std::optional<report::Fraction> fraction = value->fraction()) {
    entry["numerator"] = report::json_number<Json>(fraction->numerator);
    entry["denominator"] = report::json_number<Json>(fraction->denominator);
  }
}

void put_change(Json& object, const Change& change) {
  object["fold"] = report::name_of(change.fold);
  put_value(object, "a", change.a);
  put_value(object, "b", change.b);
  object["ratio"] = report::json_number<Json>(change.ratio());
  object["difference"] = report::json_number<Json>(change.difference());
}

void put_site(Json& object, const report::SiteLabel& site, bool is_folded) {
  if (!is_folded) object["id"] = site.id;
  if (!site.function.empty()) object["function"] = site.function;
  if (!site.opcode.empty()) object["opcode"] = site.opcode;
  if (site.ptx_line != 0 && !is_folded) object["ptx_line"] = site.ptx_line;
  if (is_folded && !site.object.empty()) object["object"] = site.object;
  if (!site.file.empty()) object["file"] = site.file;
  if (site.line != 0) object["line"] = site.line;
}

/// Adds the first `top` of them, and the number of the rest.
template <typename T, typename Put>
void put_list(Json& object, const char* name, const std::vector<T>& all, std::size_t top, Put put) {
  Json& list = object[name] = Json::array();
  const std::size_t shown = top == 0 ? all.size() : std::min(all.size(), top);
  for (std::size_t i = 0; i < shown; ++i) list.push_back(put(all[i]));
  object[std::string("further_") + name] = all.size() - shown;
}

Json json_of(const ArrayChange& array, std::size_t top) {
  Json object{{"name", array.name}, {"unit", array.unit}};
  const bool is_instruction = array.kind == report::SiteKind::instruction;
  object["by"] = !array.kind ? "element" : is_instruction ? "instruction" : "basic_block";
  if (array.kind) object["same_code"] = !array.is_folded;
  put_list(object, "elements", array.elements, top, [&](const ElementChange& element) {
    Json entry = Json::object();
    if (element.site) {
      put_site(entry, *element.site, array.is_folded);
    } else {
      entry["key"] = element.key;
    }
    put_change(entry, element.change);
    return entry;
  });
  object["unchanged"] = array.unchanged;
  return object;
}

Json json_of(const report::LaunchExtent& extent) {
  return extent.differs ? Json(nullptr) : Json(extent.extent);
}

Json name_of(const report::KernelTotals& kernel) {
  Json object{{"kernel", kernel.kernel}, {"demangled", demangle(kernel.kernel)}};
  if (!kernel.ranges.empty()) object["ranges"] = kernel.ranges;
  return object;
}

Json json_of(const KernelChange& change, std::size_t top) {
  const report::KernelTotals& a = *change.kernel.a;
  const report::KernelTotals& b = *change.kernel.b;
  Json object = name_of(b);
  object["launches"] = {{"a", a.launches}, {"b", b.launches}};
  object["grid"] = {{"a", json_of(a.grid)}, {"b", json_of(b.grid)}};
  object["block"] = {{"a", json_of(a.block)}, {"b", json_of(b.block)}};
  put_list(object, "results", change.results, top, [](const ResultChange& result) {
    Json entry{{"name", result.name}, {"unit", result.unit}};
    put_change(entry, result.change);
    return entry;
  });
  object["unchanged"] = change.unchanged;
  object["arrays"] = Json::array();
  for (const ArrayChange& array : change.arrays) object["arrays"].push_back(json_of(array, top));
  object["notes"] = {{"a", change.notes.a}, {"b", change.notes.b}};
  object["not_compared"] = change.not_compared;
  return object;
}

Json json_of(const std::vector<UnpairedKernel>& kernels) {
  Json list = Json::array();
  for (const UnpairedKernel& each : kernels) {
    list.push_back(name_of(*each.kernel));
    if (!each.reason.empty()) list.back()["reason"] = each.reason;
  }
  return list;
}

Json json_of(const std::vector<CostChange>& costs) {
  Json list = Json::array();
  for (const CostChange& each : costs)
    list.push_back({{"cost", each.name}, {"a", each.value.a}, {"b", each.value.b}});
  return list;
}

Json json_of(const std::vector<FindingChange>& findings) {
  Json list = Json::array();
  for (const FindingChange& each : findings) {
    list.push_back({{"id", each.finding.id}, {"number", each.number}, {"rule", each.finding.rule}});
  }
  return list;
}

Json json_of(const Verdict& verdict) {
  Json object{{"text", to_text(verdict)}, {"kernels", Json::array()}};
  for (const KernelVerdict& each : verdict.kernels) {
    object["kernels"].push_back({{"demangled", each.kernel},
                                 {"better", json_of(each.better)},
                                 {"worse", json_of(each.worse)},
                                 {"gone", json_of(each.gone)},
                                 {"new", json_of(each.appeared)}});
  }
  return object;
}

Json json_of(const std::string& file, const std::vector<BudgetRow>& rows) {
  Json object{{"file", file}, {"exceeded", exceeded(rows)}, {"rows", Json::array()}};
  for (const BudgetRow& row : rows) {
    Json entry{{"line", row.budget->line},
               {"kernel", row.kernel},
               {"metric", row.budget->metric()},
               {"launches", row.launches},
               {"value", row.value ? report::json_number<Json>(*row.value) : Json(nullptr)}};
    if (row.budget->at_most) entry["at_most"] = report::json_number<Json>(*row.budget->at_most);
    if (row.budget->at_least) entry["at_least"] = report::json_number<Json>(*row.budget->at_least);
    entry["problem"] = row.problem;
    object["rows"].push_back(std::move(entry));
  }
  return object;
}

}  // namespace

std::string to_json(const DiffResult& result, std::size_t top) {
  const Comparison& comparison = result.comparison;
  Json object{{"record", "diff"}, {"a", result.files.a}};
  if (!result.files.b.empty()) {
    object["b"] = result.files.b;
    object["verdict"] = json_of(result.verdict);
  }
  object["trust"] = result.trust;
  object["failures"] = result.failures;
  if (!result.budget_file.empty()) object["budgets"] = json_of(result.budget_file, result.budgets);
  object["specifications"] = Json::array();
  for (const SpecificationChange& change : comparison.specifications) {
    Json entry{{"spec", change.spec}, {"device", {{"a", change.device.a}, {"b", change.device.b}}}};
    put_list(entry, "kernels", change.kernels, top,
             [top](const KernelChange& kernel) { return json_of(kernel, top); });
    entry["unchanged"] = Json::array();
    for (const report::KernelTotals* kernel : change.unchanged)
      entry["unchanged"].push_back(name_of(*kernel));
    entry["only"] = {{"a", json_of(change.only.a)}, {"b", json_of(change.only.b)}};
    object["specifications"].push_back(std::move(entry));
  }
  object["only"] = {{"a", comparison.only.a}, {"b", comparison.only.b}};
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lynxpp::cli
