#include "models/campprof/calibration.h"

namespace lynxpp::models::campprof {
namespace {

constexpr double significance = 0.05;

std::size_t index_of(Direction direction, Placement placement) {
  return static_cast<std::size_t>(direction) * 2 + static_cast<std::size_t>(placement);
}

/// The values of an equation's variables, in the order of their names.
std::vector<double> values_at(std::uint32_t type, double warps) {
  const double is_32 = type == 0 ? 1 : 0, is_64 = type == 1 ? 1 : 0;
  return {warps, is_32, is_64, warps * is_32, warps * is_64};
}
constexpr const char* variable_names[] = {"warps", "is_32", "is_64", "warps_if_32", "warps_if_64"};

std::size_t variables_of(Form form) { return form == Form::sums ? 3 : 5; }

}  // namespace

std::string_view name_of(Direction direction) { return direction == Direction::read ? "read" : "write"; }
std::string_view name_of(Placement placement) { return placement == Placement::spread ? "spread" : "camped"; }

std::vector<std::uint32_t> configurations(std::uint32_t most) {
  std::vector<std::uint32_t> result;
  for (std::uint32_t warps = 1; warps <= most; warps += warps < 16 ? 1 : 2) result.push_back(warps);
  return result;
}

Result<Equations> equations_of(const Calibration& calibration, Form form) {
  Equations equations;
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
  const double time = of(direction, placement).predict(values_at(type, warps));
  if (time <= 0) return std::nullopt;
  return time /
         (calibration.multiprocessors * warps * static_cast<double>(calibration.transactions_per_warp));
}

}  // namespace lynxpp::models::campprof
