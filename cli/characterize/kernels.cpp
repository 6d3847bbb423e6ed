#include "cli/characterize/kernels.h"

#include <algorithm>
#include <map>

#include "models/statistics/correlation.h"
#include "report/number.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

/// A kernel's results, summed over all its launches.
struct Sums {
  std::uint64_t launches = 0;
  std::map<std::string, double> of;

  double at(const std::string& name) const {
    const auto found = of.find(name);
    return found == of.end() ? 0 : found->second;
  }
};

void add(const report::LaunchRecord& launch, Sums& sums) {
  if (launch.spec == "instruction_count") ++sums.launches;
  for (const report::ResultValue& result : launch.results) {
    const bool is_amount = result.extents.empty() && !result.denominators;
    if (is_amount) sums.of[result.name] += report::number_at(result, 0).as_double();
  }
}

std::optional<double> ratio(double numerator, double denominator) {
  if (denominator == 0) return std::nullopt;
  return numerator / denominator;
}

KernelCharacter character_of(const std::string& program, const std::string& kernel, const Sums& sums) {
  KernelCharacter character{program, demangle(kernel), sums.launches, 0, 0, {}};
  character.thread_instructions = sums.at("thread_instructions");
  character.warp_instructions = sums.at("warp_instructions");
  const double asked = sums.at("load_bytes_asked") + sums.at("store_bytes_asked");
  const double moved = sums.at("load_bytes_moved") + sums.at("store_bytes_moved");
  character.measures = {ratio(character.thread_instructions, 32 * character.warp_instructions),
                        ratio(sums.at("total_divergent"), sums.at("total_branches")), ratio(asked, moved),
                        ratio(sums.at("memory"), character.thread_instructions)};
  return character;
}

/// Rounding errors of equal values are not variation.
bool varies(const std::vector<double>& values) {
  const auto [least, greatest] = std::ranges::minmax(values);
  return greatest - least > 1e-12 * std::max(1.0, greatest);
}

}  // namespace

std::vector<KernelCharacter> characters_of(const std::string& program,
                                           const std::vector<report::Record>& records) {
  std::vector<std::string> order;
  std::map<std::string, Sums> kernels;
  for (const report::Record& record : records) {
    const auto* launch = std::get_if<report::LaunchRecord>(&record);
    if (launch == nullptr) continue;
    const auto [entry, is_new] = kernels.try_emplace(launch->kernel);
    if (is_new) order.push_back(launch->kernel);
    add(*launch, entry->second);
  }
  std::vector<KernelCharacter> characters;
  for (const std::string& kernel : order)
    characters.push_back(character_of(program, kernel, kernels.at(kernel)));
  return characters;
}

std::vector<MeasureCorrelation> correlations_of(const std::vector<KernelCharacter>& kernels) {
  std::vector<MeasureCorrelation> correlations;
  for (std::size_t one = 0; one < measure_names.size(); ++one) {
    for (std::size_t other = one + 1; other < measure_names.size(); ++other) {
      std::vector<double> a, b;
      for (const KernelCharacter& kernel : kernels) {
        if (!kernel.measures[one] || !kernel.measures[other]) continue;
        a.push_back(*kernel.measures[one]);
        b.push_back(*kernel.measures[other]);
      }
      MeasureCorrelation& each = correlations.emplace_back();
      each.one = one;
      each.other = other;
      each.kernels = a.size();
      if (a.size() < 3 || !varies(a) || !varies(b)) continue;
      const Result<double> pearson = models::statistics::pearson(a, b);
      if (pearson) each.value = *pearson;
    }
  }
  return correlations;
}

}  // namespace lynxpp::cli
