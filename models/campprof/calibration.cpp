#include "models/campprof/calibration.h"

#include <algorithm>

namespace lynxpp::models::campprof {
namespace {

constexpr double significance = 0.05;

std::size_t index_of(Direction direction, Placement placement) {
  return static_cast<std::size_t>(direction) * 2 + static_cast<std::size_t>(placement);
}

/// Returns the values of an equation's variables, in the order of their names.
std::vector<double> values_at(std::uint32_t type, double warps) {
  const double is_32 = type == 0 ? 1 : 0, is_64 = type == 1 ? 1 : 0;
  return {warps, is_32, is_64, warps * is_32, warps * is_64};
}
constexpr const char* variable_names[] = {"warps", "is_32", "is_64", "warps_if_32", "warps_if_64"};

std::size_t variables_of(Form form) { return form == Form::sums ? 3 : 5; }

constexpr Form forms[] = {Form::sums, Form::products, Form::samples};

template <typename Sampled>
bool is_of(const Sampled& sample, Direction direction, Placement placement, std::uint32_t type) {
  return sample.direction == direction && sample.placement == placement && sample.type == type;
}

/// Returns a benchmark's time, interpolated linearly between two measured numbers of warps; 0 outside the
/// measured range.
double time_between(const Calibration& calibration, Direction direction, Placement placement,
                    std::uint32_t type, double warps) {
  const Sample *below = nullptr, *above = nullptr;
  for (const Sample& each : calibration.samples) {
    if (!is_of(each, direction, placement, type)) continue;
    if (each.warps <= warps && (below == nullptr || each.warps > below->warps)) below = &each;
    if (each.warps >= warps && (above == nullptr || each.warps < above->warps)) above = &each;
  }
  if (below == nullptr || above == nullptr) return 0;
  if (below->warps == above->warps) return below->milliseconds;
  const double share = (warps - below->warps) / (above->warps - below->warps);
  return below->milliseconds + share * (above->milliseconds - below->milliseconds);
}

/// Checks that each of the twelve benchmarks has run.
Status check_samples(const Calibration& calibration) {
  for (const Direction direction : {Direction::read, Direction::write}) {
    for (const Placement placement : {Placement::spread, Placement::camped}) {
      for (std::uint32_t type = 0; type < transaction_bytes.size(); ++type) {
        const auto matches = [&](const Sample& each) { return is_of(each, direction, placement, type); };
        if (std::ranges::any_of(calibration.samples, matches)) continue;
        return failure("no times of " + std::string(name_of(direction)) + "s of " +
                       std::to_string(transaction_bytes[type]) + " bytes, " +
                       std::string(name_of(placement)));
      }
    }
  }
  return success();
}

}  // namespace

std::string_view name_of(Form form) {
  switch (form) {
    case Form::sums: return "sums";
    case Form::products: return "products";
    case Form::samples: break;
  }
  return "samples";
}

std::optional<Form> find_form(std::string_view name) {
  for (const Form form : forms) {
    if (name_of(form) == name) return form;
  }
  return std::nullopt;
}

std::string_view name_of(Direction direction) { return direction == Direction::read ? "read" : "write"; }
std::string_view name_of(Placement placement) { return placement == Placement::spread ? "spread" : "camped"; }

bool hashes_addresses(const Calibration& calibration) { return calibration.partitions == hashed_regions; }

std::vector<std::uint32_t> configurations(std::uint32_t most) {
  std::vector<std::uint32_t> result;
  for (std::uint32_t warps = 1; warps <= most; warps += warps < 16 ? 1 : 2) result.push_back(warps);
  return result;
}

Result<Equations> equations_of(const Calibration& calibration, Form form) {
  Equations equations;
  equations.form_ = form;
  if (form == Form::samples) {
    if (Status complete = check_samples(calibration); !complete) return complete.error();
    return equations;
  }
  for (const Direction direction : {Direction::read, Direction::write}) {
    for (const Placement placement : {Placement::spread, Placement::camped}) {
      std::vector<statistics::Variable> variables(variables_of(form));
      for (std::size_t i = 0; i < variables.size(); ++i) variables[i].name = variable_names[i];
      std::vector<double> times;
      for (const Sample& sample : calibration.samples) {
        if (sample.direction != direction || sample.placement != placement) continue;
        const std::vector<double> values = values_at(sample.type, sample.warps);
        for (std::size_t i = 0; i < variables.size(); ++i) variables[i].values.push_back(values[i]);
        times.push_back(sample.milliseconds);
      }
      Result<statistics::Regression> fit = statistics::regress_significant(variables, times, significance);
      if (!fit) {
        Failure problem = std::move(fit.error());
        for (Diagnostic& each : problem.diagnostics)
          each.message =
              std::string(name_of(direction)) + "s, " + std::string(name_of(placement)) + ": " + each.message;
        return problem;
      }
      equations.regressions_[index_of(direction, placement)] = std::move(*fit);
    }
  }
  return equations;
}

const statistics::Regression& Equations::of(Direction direction, Placement placement) const {
  return regressions_[index_of(direction, placement)];
}

std::optional<double> Equations::milliseconds_of_one(const Calibration& calibration, Direction direction,
                                                     Placement placement, std::uint32_t type,
                                                     double warps) const {
  const double time = form_ == Form::samples ? time_between(calibration, direction, placement, type, warps)
                                             : of(direction, placement).predict(values_at(type, warps));
  if (time <= 0) return std::nullopt;
  return time /
         (calibration.multiprocessors * warps * static_cast<double>(calibration.transactions_per_warp));
}

std::vector<Gap> gaps_of(const Calibration& calibration, const Equations& equations) {
  std::vector<Gap> gaps;
  for (const Sample& each : calibration.samples) {
    if (equations.milliseconds_of_one(calibration, each.direction, each.placement, each.type, each.warps))
      continue;
    const auto same = std::ranges::find_if(
        gaps, [&](const Gap& gap) { return is_of(gap, each.direction, each.placement, each.type); });
    if (same != gaps.end()) {
      same->warps.push_back(each.warps);
    } else {
      gaps.push_back({each.direction, each.placement, each.type, {each.warps}});
    }
  }
  return gaps;
}

Longest longest_of(const Calibration& calibration, Direction direction, std::uint32_t type) {
  Longest longest;
  for (const Sample& each : calibration.samples) {
    if (each.direction != direction || each.type != type || each.warps < longest.warps) continue;
    longest.warps = each.warps;
    (each.placement == Placement::spread ? longest.spread : longest.camped) = each.milliseconds;
  }
  return longest;
}

}  // namespace lynxpp::models::campprof
