// The summary as one JSON object.
#include <nlohmann/json.hpp>

#include "report/findings/findings.h"
#include "report/hot_sites.h"
#include "report/json/number.h"
#include "report/sites.h"
#include "report/summary.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const FoldedNumber& value) { return json_number<Json>(value.value()); }

Json json_of(const LaunchExtent& extent) { return extent.differs ? Json(nullptr) : Json(extent.extent); }

Json json_of(const SiteLabel& label) {
  Json object{{"id", label.id}};
  if (label.ptx_line != 0) {
    object["function"] = label.function;
    object["block"] = label.block;
    if (!label.opcode.empty()) object["opcode"] = label.opcode;
    object["ptx_line"] = label.ptx_line;
  }
  if (!label.file.empty()) object["file"] = label.file;
  if (label.line != 0) object["line"] = label.line;
  if (!label.inlined_at.empty()) object["inlined_at"] = label.inlined_at;
  if (!label.object.empty()) object["object"] = label.object;
  return object;
}

Json json_of(const HotSites& hot) {
  Json object{{"by", hot.kind == SiteKind::instruction ? "instruction" : "basic_block"}};
  object["rows"] = Json::array();
  for (const SiteLabel& row : hot.rows) {
    Json entry = json_of(row);
    for (const ArrayTotals* array : hot.arrays) {
      if (row.id < array->each.size()) entry["values"][array->name] = json_of(array->each[row.id]);
    }
    object["rows"].push_back(std::move(entry));
  }
  object["further"] = hot.further;
  return object;
}

/// Includes the values unless there are too many or launches have different elements.
Json json_of(const ArrayTotals& array) {
  Json object{{"elements", array.elements},    {"sum", array.has_sum ? json_of(array.sum) : Json(nullptr)},
              {"least", json_of(array.least)}, {"greatest", json_of(array.greatest)},
              {"fold", name_of(array.fold)},   {"unit", array.unit}};
  if (!array.bounds.empty()) {
    object["bounds"] = array.bounds;
    object["below"] = array.below;
    object["beyond"] = array.beyond;
  }
  if (array.each.empty()) return object;
  object["extents"] = array.extents;
  if (!array.extent_names.empty()) object["names"] = array.extent_names;
  if (!array.labels.empty()) object["labels"] = array.labels;
  object["values"] = Json::array();
  for (const FoldedNumber& value : array.each) object["values"].push_back(json_of(value));
  return object;
}

Json json_of(const TableTotals& table) {
  Json object{{"name", table.name()},
              {"columns", Json::array()},
              {"folded", table.is_folded()},
              {"rows", Json::array()}};
  for (const TableTotals::Column& column : table.columns()) {
    Json& made = object["columns"].emplace_back(
        Json{{"name", column.name}, {"unit", column.unit}, {"fold", name_of(column.fold)}});
    if (column.is_text) made["text"] = true;
  }
  for (const TableTotals::Row& row : table.rows()) {
    Json& entry = object["rows"].emplace_back(Json::object());
    if (!table.is_folded()) entry["launch"] = row.launch;
    entry["values"] = Json::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      entry["values"].push_back(table.columns()[i].is_text ? Json(table.text_in(row, i))
                                                           : json_of(row.cells[i]));
  }
  object["further"] = table.further();
  return object;
}

Json json_of(const KernelTotals& kernel, const SpecificationTotals& totals, const Summary& summary,
             std::size_t listed_sites) {
  Json object{{"kernel", kernel.kernel},
              {"demangled", demangle(kernel.kernel)},
              {"launches", kernel.launches},
              {"grid", json_of(kernel.grid)},
              {"block", json_of(kernel.block)}};
  if (!kernel.module.empty()) object["module"] = kernel.module;
  if (!kernel.ranges.empty()) object["ranges"] = kernel.ranges;
  if (kernel.sites) object["sites"] = *kernel.sites;
  object["results"] = Json::object();
  for (const ScalarColumn& column : totals.columns) {
    const auto value = kernel.scalars.find(column.name);
    if (value == kernel.scalars.end()) continue;
    object["results"][column.name] = {
        {"value", json_of(value->second)}, {"fold", name_of(column.fold)}, {"unit", column.unit}};
  }
  object["arrays"] = Json::object();
  for (const ArrayTotals& array : kernel.arrays) {
    object["arrays"][array.name] = json_of(array);
  }
  object["tables"] = Json::array();
  for (const TableTotals& table : kernel.tables) object["tables"].push_back(json_of(table));
  object["hot_sites"] = Json::array();
  for (const HotSites& hot : hot_sites_of(kernel, summary.sites_of(kernel), listed_sites))
    object["hot_sites"].push_back(json_of(hot));
  object["notes"] = Json::array();
  for (const NoteTotals& note : kernel.notes) object["notes"].push_back(note.text);
  return object;
}

Json json_of(const std::optional<models::Occupancy>& occupancy, const models::LaunchProfile& profile) {
  if (!occupancy || !profile.resources) return nullptr;
  const std::uint64_t warps = (profile.threads + 31) / 32;
  return {{"blocks", occupancy->blocks},
          {"warps", occupancy->blocks * warps},
          {"most_warps", profile.resources->machine.residency.warps}};
}

Json json_of(const models::StagingAdvice& advice, const models::LaunchProfile& profile) {
  Json object{{"summary", advice.summary},
              {"is_well_used", advice.is_well_used},
              {"shared_bytes_now", advice.bytes_now},
              {"shared_bytes_then", advice.bytes_then},
              {"capacity", advice.capacity},
              {"occupancy_now", json_of(advice.now, profile)},
              {"occupancy_then", json_of(advice.then, profile)}};
  object["arrays"] = Json::array();
  for (std::size_t i = 0; i < advice.placements.size(); ++i) {
    const models::Placement& each = advice.placements[i];
    const bool is_shared = profile.arrays[i].space == models::ArrayProfile::Space::shared;
    object["arrays"].push_back({{"array", each.array},
                                {"space", is_shared ? "shared" : "device"},
                                {"advised", name_of(each.advised)},
                                {"bytes", each.bytes},
                                {"held", each.is_part ? "part" : "copy"},
                                {"saved_accesses", each.saved},
                                {"reason", each.reason}});
  }
  return object;
}

Json json_of(const LaunchAdvice& advice) {
  Json object{{"kernel", advice.kernel},
              {"demangled", demangle(advice.kernel)},
              {"device", advice.device},
              {"launch", advice.launch},
              {"launches", advice.launches}};
  if (advice.staging) object["staging"] = json_of(*advice.staging, advice.profile);
  object["findings"] = Json::array();
  for (const models::Finding& each : advice.findings) {
    object["findings"].push_back({{"rule", each.rule},
                                  {"array", each.array},
                                  {"sentence", each.sentence},
                                  {"what_to_try", each.what_to_try}});
  }
  return object;
}

Json json_of(const KernelFinding& finding) {
  Json object{{"rule", finding.rule},
              {"kernel", finding.kernel},
              {"demangled", demangle(finding.kernel)},
              {"device", finding.device}};
  if (!finding.ranges.empty()) object["ranges"] = finding.ranges;
  if (finding.location) object["place"] = json_of(*finding.location);  // english: ok
  object["benefit"] = finding.benefit ? Json(*finding.benefit) : Json(nullptr);
  object["basis"] = finding.benefit ? Json(text_of(finding.basis)) : Json(nullptr);
  if (finding.interval) object["interval"] = {finding.interval->first, finding.interval->second};
  object["weight"] = finding.weight;
  object["sentence"] = finding.sentence;
  object["why"] = finding.why;
  object["what_to_try"] = finding.what_to_try;
  return object;
}

}  // namespace

std::string to_json(const Summary& summary, std::size_t listed_sites) {
  Json object{{"record", "summary"}};
  object["specifications"] = Json::array();
  for (const SpecificationTotals& totals : summary.specifications) {
    Json entry{{"spec", totals.spec}, {"device", totals.device}, {"kernels", Json::array()}};
    for (const KernelTotals& kernel : totals.kernels)
      entry["kernels"].push_back(json_of(kernel, totals, summary, listed_sites));
    object["specifications"].push_back(std::move(entry));
  }
  object["advice"] = Json::array();
  for (const LaunchAdvice& advice : summary.words.advice()) object["advice"].push_back(json_of(advice));
  const RunFacts facts = facts_of(summary);
  object["findings"] = {{"shares_of", text_of(facts.weight)}, {"list", Json::array()}};
  for (const KernelFinding& finding : findings_of(facts))
    object["findings"]["list"].push_back(json_of(finding));
  object["totals"] = Json::array();
  for (const TotalRecord& record : summary.totals)
    object["totals"].push_back(Json::parse(json_line_of(record)));
  object["not_instrumented"] = Json::array();
  for (const CoverageRecord& record : summary.coverage) {
    const std::string gap = gap_of(record);
    if (gap.empty()) continue;
    object["not_instrumented"].push_back({{"kernel", record.kernel},
                                          {"demangled", demangle(record.kernel)},
                                          {"reason", gap},
                                          {"launches", record.launches},
                                          {"instrumented_launches", record.instrumented_launches}});
  }
  object["trust"] = trust_line_of(summary, !object["findings"]["list"].empty());
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lynxpp::report
