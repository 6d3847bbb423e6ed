// Fitted weights as a JSON file.
#include <nlohmann/json.hpp>

#include "models/proplusplus/fit.h"

namespace lynxpp::models::proplusplus {
namespace {

using OrderedJson = nlohmann::ordered_json;

const char* word_of(FittedCriterion::Outcome outcome) {
  switch (outcome) {
    case FittedCriterion::Outcome::fitted: return "fitted";
    case FittedCriterion::Outcome::against: return "does not go with speed";
    case FittedCriterion::Outcome::same: return "does not vary, the paper's weight";
  }
  return "";
}

OrderedJson json_of(const Ordering& ordering) {
  return {{"pairs", ordering.pairs}, {"right", ordering.right}};
}

OrderedJson json_of(const Evidence& evidence) {
  OrderedJson object = json_of(evidence.order);
  object["rank_correlation"] = evidence.order.rank_correlation();
  object["low"] = evidence.low;
  object["high"] = evidence.high;
  return object;
}

OrderedJson criteria_json(const WeightFit& fit) {
  OrderedJson all = OrderedJson::array();
  for (std::size_t i = 0; i < criterion_count; ++i) {
    const FittedCriterion& each = fit.criteria.values[i];
    OrderedJson entry{{"criterion", symbol_of(static_cast<Criterion>(i))},
                      {"outcome", word_of(each.outcome)}};
    if (each.outcome == FittedCriterion::Outcome::fitted) entry["coefficient"] = each.coefficient;
    all.push_back(std::move(entry));
  }
  return all;
}

OrderedJson implementations_json(const WeightFit& fit) {
  OrderedJson all = OrderedJson::array();
  for (const Implementation& each : fit.used) {
    OrderedJson entry{{"primitive", each.primitive}, {"name", each.name}, {"seconds", each.seconds}};
    for (std::size_t i = 0; i < criterion_count; ++i)
      entry["criteria"][symbol_of(static_cast<Criterion>(i))] = each.criteria.values[i].value_or(0);
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace

std::string to_json(const StoredWeights& stored) {
  const WeightFit& fit = stored.fit;
  const std::string source = stored.device + (stored.is_modelled ? " (modelled)" : "") + ", fitted on " +
                             stored.date + " to " + std::to_string(fit.used.size()) + " implementations of " +
                             std::to_string(fit.primitives) + " primitives";
  OrderedJson object{{"lynxpp_weights", weights_version},
                     {"source", source},
                     {"device", stored.device},
                     {"date", stored.date},
                     {"modelled", stored.is_modelled}};
  for (std::size_t i = 0; i < criterion_count; ++i)
    object["weights"][symbol_of(static_cast<Criterion>(i))] = fit.criteria.values[i].weight;
  object["fit"] = {{"primitives", fit.primitives},
                   {"implementations", fit.used.size()},
                   {"left_out", fit.left_out},
                   {"r_squared", fit.r_squared},
                   {"validated_r_squared", fit.validated_r_squared},
                   {"validated_rmse", fit.validated_rmse},
                   {"order", json_of(fit.fitted)},
                   {"validated_order", json_of(fit.validated)},
                   {"order_by_the_paper", json_of(fit.papers)},
                   {"criteria", criteria_json(fit)}};
  object["implementations"] = implementations_json(fit);
  return object.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace lynxpp::models::proplusplus
