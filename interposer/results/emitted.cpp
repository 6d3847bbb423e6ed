#include "interposer/results/emitted.h"

#include <algorithm>
#include <optional>
#include <set>
#include <variant>

#include "report/number.h"
#include "report/tables/tables.h"

namespace lynxpp::interposer {
namespace {

std::optional<report::Fold> fold_of(cod::Folding folding) {
  switch (folding) {
    case cod::Folding::sum: return report::Fold::sum;
    case cod::Folding::mean: return report::Fold::mean;
    case cod::Folding::least: return report::Fold::minimum;
    case cod::Folding::greatest: return report::Fold::maximum;
    case cod::Folding::same: return report::Fold::same;
    case cod::Folding::key: return report::Fold::key;
    case cod::Folding::first: return report::Fold::first;
    case cod::Folding::last: return report::Fold::last;
    case cod::Folding::concatenate: return report::Fold::concatenate;
    case cod::Folding::by_name: break;
  }
  return std::nullopt;
}

}  // namespace

report::ResultValue result_of(cod::Emitted emitted) {
  report::ResultValue result{std::move(emitted.name),
                             std::move(emitted.dimensions),
                             std::move(emitted.values),
                             std::move(emitted.unit),
                             std::move(emitted.dimension_names),
                             std::move(emitted.table),
                             std::move(emitted.bounds),
                             std::move(emitted.underflow),
                             std::move(emitted.overflow),
                             std::move(emitted.labels),
                             std::move(emitted.texts)};
  result.denominators = std::move(emitted.denominators);
  result.fold = fold_of(emitted.folding);
  if (emitted.left_out != 0) result.left_out = emitted.left_out;
  return result;
}

bool are_sums(const cod::Specification& specification) {
  const auto& results = specification.added_results();
  return results && std::ranges::all_of(*results, [](const cod::AddedResult& each) {
           report::ResultValue result;
           result.name = each.name;
           result.unit = each.unit;
           if (each.is_array) result.extents = {1};
           return report::fold_of(result) == report::Fold::sum;
         });
}

std::vector<report::NamedAllocation> allocations_named_in(const std::vector<report::ResultValue>& results,
                                                          const device::LiveAllocations& live) {
  std::set<const device::LiveAllocation*> found;
  for (const report::ResultValue& result : results) {
    const auto* const addresses = std::get_if<std::vector<std::uint64_t>>(&result.values);
    if (result.table.empty() || addresses == nullptr || !report::is_of_bits(result.name, result.unit))
      continue;
    for (const std::uint64_t address : *addresses) {
      if (const device::LiveAllocation* const allocation = live.find(address)) found.insert(allocation);
    }
  }
  std::vector<report::NamedAllocation> named;
  for (const device::LiveAllocation* const each : found)  // in the order of `live`: by address
    named.push_back(
        {"#" + std::to_string(each->number), std::string(each->site.caller), each->address, each->bytes});
  return named;
}

report::LaunchRecord::Sampling sampling_of(const std::vector<cod::HandlerSampling>& handlers,
                                           std::vector<std::string>& notes) {
  const cod::Sampling rarest = cod::rarest(handlers);
  report::LaunchRecord::Sampling sampling{rarest.launches, rarest.blocks, rarest.warps, {}};
  if (sampling.is_whole()) return sampling;
  notes.push_back("sampled " + cod::describe(handlers));
  if (cod::are_sampled_equally(handlers)) return sampling;
  for (const auto& [line, own] : handlers) sampling.handlers.push_back({line, own.blocks, own.warps});
  return sampling;
}

void add_drops(const cod::Specification& specification, const std::vector<std::uint64_t>& counts,
               std::vector<std::string>& notes) {
  const std::vector<cod::CheckedAccess>& places = specification.checked_accesses();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const std::string many = std::to_string(counts[i]) + " accesses out of ";
    if (i == 0) {
      notes.push_back(many + "an array's bounds were dropped");
      continue;
    }
    const cod::CheckedAccess& place = places[i - 1];
    notes.push_back(many + "the bounds of '" + place.array + "' were dropped (" + place.location.file + ":" +
                    std::to_string(place.location.line) + ")");
  }
}

std::vector<std::string> mishaps_of(const Failure& failure) {
  std::vector<std::string> notes;
  for (const Diagnostic& diagnostic : failure.diagnostics) {
    const SourceLocation& place = diagnostic.location;
    std::string text = place.file;
    // A location in an included file is complete already.
    if (place.line != 0) text += ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
    if (!text.empty()) text += ": ";
    notes.push_back(text + diagnostic.message.substr(0, diagnostic.message.find('\n')));
  }
  return notes;
}

}  // namespace lynxpp::interposer
