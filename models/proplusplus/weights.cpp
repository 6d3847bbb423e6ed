#include "models/proplusplus/weights.h"
#include "support/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

namespace lynxpp::models::proplusplus {
namespace {

using Json = nlohmann::ordered_json;

constexpr double greatest_weight = 1e9;

std::vector<std::string> symbols() {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < criterion_count; ++i) all.emplace_back(symbol_of(static_cast<Criterion>(i)));
  return all;
}

/// Returns the evidence of a file of fitted weights; nullopt if it is incomplete.
std::optional<Evidence> evidence_in(const Json& object) {
  const Json& fit = object["fit"];
  if (!fit.is_object() || !fit.contains("validated_order")) return std::nullopt;
  const Json& order = fit["validated_order"];
  for (const char* const member : {"pairs", "right", "low", "high"}) {
    if (!order.is_object() || !order.contains(member) || !order[member].is_number()) return std::nullopt;
  }
  const std::string source = object.value("device", "") + ", " + object.value("date", "");
  return Evidence{source,
                  {order["pairs"].get<std::size_t>(), order["right"].get<std::size_t>()},
                  order["low"].get<double>(),
                  order["high"].get<double>()};
}

/// Returns the sum of the weights of criteria that have a value.
double total_weight(const Criteria& criteria, const Weights& weights) {
  double total = 0;
  for (std::size_t i = 0; i < criterion_count; ++i) {
    if (criteria.values[i]) total += weights.of.values[i];
  }
  return total;
}

}  // namespace

double Ordering::rank_correlation() const {
  return pairs == 0 ? 0 : 2 * static_cast<double>(right) / static_cast<double>(pairs) - 1;
}

Ordering ordering_of(std::span<const double> qualities, std::span<const double> speeds) {
  constexpr double same_speed = 0.05;  // relative to the faster one: runs of a program differ that much
  Ordering ordering;
  for (std::size_t a = 0; a < speeds.size(); ++a) {
    for (std::size_t b = a + 1; b < speeds.size(); ++b) {
      const double faster = speeds[a] - speeds[b];
      if (std::abs(faster) <= same_speed * std::max(speeds[a], speeds[b])) continue;
      ++ordering.pairs;
      if (faster * (qualities[a] - qualities[b]) > 0) ++ordering.right;
    }
  }
  return ordering;
}

Evidence evidence_of(std::string source, std::span<const Ordering> primitives) {
  constexpr std::size_t samples = 4000;
  Evidence evidence{std::move(source), {}};
  for (const Ordering& each : primitives) {
    evidence.order.pairs += each.pairs;
    evidence.order.right += each.right;
  }
  if (evidence.order.pairs == 0) return evidence;
  std::mt19937_64 random(1);  // NOLINT(bugprone-random-generator-seed,cert-msc*): the same interval each time
  std::vector<double> correlations;
  while (correlations.size() < samples) {
    Ordering drawn;
    for (std::size_t i = 0; i < primitives.size(); ++i) {
      const Ordering& each = primitives[random() % primitives.size()];
      drawn.pairs += each.pairs;
      drawn.right += each.right;
    }
    correlations.push_back(drawn.rank_correlation());
  }
  std::ranges::sort(correlations);
  evidence.low = correlations[samples / 40];
  evidence.high = correlations[samples - 1 - samples / 40];
  return evidence;
}

Weights paper_weights() {
  // From docs/measurements/data/primitives-h100.csv, as a test checks.
  return {"Table III of the paper",
          {{30, 30, 15, 10, 70, 100, 100, 50}},
          Evidence{"NVIDIA H100 80GB HBM3, 2026-11-26", {19, 9}, -1, 0.625}};
}

Result<Weights> parse_weights(std::string_view text, const std::string& file) {
  Diagnostics problems;
  const auto complain = [&](std::string message, std::string hint = {}) {
    problems.push_back({Severity::error, {file, 0, 0, 1}, std::move(message), std::move(hint)});
  };
  const Result<Json> parsed = parse_json<Json>(text, {file, 1, 1, 1});
  if (!parsed) return parsed.error();
  const Json& object = *parsed;
  const bool is_object = object.is_object() && object.contains("weights") && object["weights"].is_object();
  if (!is_object) {
    complain("the file has no object 'weights'",
             R"({"weights": {"OC": 30, "LB": 30, …}}, as docs/quality.md shows it)");
    return Failure{problems};
  }
  if (object.contains("lynxpp_weights") && object["lynxpp_weights"] != weights_version) {
    complain("the weights have version " + object["lynxpp_weights"].dump() + "; this lynxpp reads version " +
                 std::to_string(weights_version),
             "fit them again with `lynxpp quality --fit`");
    return Failure{problems};
  }
  Weights weights{file, {}};
  if (object.contains("source") && object["source"].is_string())
    weights.source = object["source"].get<std::string>();
  const Json& given = object["weights"];
  for (const auto& [symbol, value] : given.items()) {
    const std::optional<Criterion> criterion = find_criterion(symbol);
    if (!criterion) {
      const std::string close = closest_match(symbol, symbols());
      complain("there is no criterion '" + symbol + "'",
               close.empty() ? "" : "did you mean '" + close + "'?");
      continue;
    }
    const bool fits = value.is_number() && value.get<double>() >= 0 && value.get<double>() <= greatest_weight;
    if (!fits) complain("the weight of " + symbol + " must be a non-negative number");
    if (fits) weights.of[*criterion] = value.get<double>();
  }
  for (const std::string& symbol : symbols()) {
    if (!given.contains(symbol)) complain("the weight of " + symbol + " is missing");
  }
  if (object.contains("fit")) weights.evidence = evidence_in(object);
  double sum = 0;
  for (const double weight : weights.of.values) sum += weight;
  if (problems.empty() && sum == 0) complain("all weights are 0");
  if (!problems.empty()) return Failure{problems};
  return weights;
}

std::string to_json(const Weights& weights) {
  Json object;
  object["source"] = weights.source;
  for (std::size_t i = 0; i < criterion_count; ++i)
    object["weights"][symbol_of(static_cast<Criterion>(i))] = weights.of.values[i];
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<double> quality(const Criteria& criteria, const Weights& weights) {
  const double total = total_weight(criteria, weights);
  if (!(total > 0)) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < criterion_count; ++i)
    sum += criteria.values[i].value_or(0) * weights.of.values[i];
  return sum / total;
}

std::vector<Gap> gaps(const Criteria& criteria, const Weights& weights) {
  const double total = total_weight(criteria, weights);
  std::vector<Gap> found;
  for (std::size_t i = 0; i < criterion_count; ++i) {
    if (!criteria.values[i]) continue;
    const double size = weights.of.values[i] * (1 - *criteria.values[i]);
    if (size > 0) found.push_back({static_cast<Criterion>(i), size / total});
  }
  std::ranges::stable_sort(found, std::greater(), &Gap::size);
  return found;
}

}  // namespace lynxpp::models::proplusplus
