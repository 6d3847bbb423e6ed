#include "cli/quality/fit.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "cli/band/calibrations.h"
#include "report/tables/text_table.h"
#include "support/text.h"

namespace lynxpp::cli::rating {
namespace {

using models::proplusplus::FittedCriterion;
using models::proplusplus::Implementation;
using models::proplusplus::Ordering;
using models::proplusplus::WeightFit;
using models::proplusplus::Weights;

std::string weights_file(const std::string& device) { return device_file(data_folder("weights"), device); }

std::string todays_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

std::string figure_text(const char* format, double value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Returns 0 if a launch has no time or was not counted.
double seconds_of(const Subject& subject) {
  if (subject.left_out != 0) return 0;
  double sum = std::max(0.0, subject.primitive.between_seconds);
  for (const models::proplusplus::KernelRun& kernel : subject.primitive.kernels) {
    if (kernel.seconds <= 0) return 0;
    sum += kernel.seconds;
  }
  return sum;
}

std::string share_text(const Ordering& ordering) {
  return std::to_string(ordering.right) + " of " + std::to_string(ordering.pairs);
}

std::string weights_table(const WeightFit& fit) {
  const Weights papers = models::proplusplus::paper_weights();
  report::TextColumn name{{"criterion"}, {}, false}, weight{{"weight"}, {}}, paper{{"paper's"}, {}},
      coefficient{{"coefficient"}, {}}, why{{""}, {}, false};
  for (std::size_t i = 0; i < models::proplusplus::criterion_count; ++i) {
    const FittedCriterion& each = fit.criteria.values[i];
    const bool is_fitted = each.outcome == FittedCriterion::Outcome::fitted;
    name.cells.emplace_back(models::proplusplus::symbol_of(static_cast<Criterion>(i)));
    weight.cells.push_back(figure_text("%.1f", each.weight));
    paper.cells.push_back(figure_text("%g", papers.of.values[i]));
    coefficient.cells.push_back(is_fitted ? figure_text("%.3g", each.coefficient) : "-");
    why.cells.emplace_back(
        each.outcome == FittedCriterion::Outcome::same      ? "constant: the paper's weight is used"
        : each.outcome == FittedCriterion::Outcome::against ? "does not correlate with speed"
                                                            : "");
  }
  return report::render_columns({name, weight, paper, coefficient, why});
}

}  // namespace

Result<std::optional<Weights>> stored_weights(const std::string& device) {
  const std::string file = weights_file(device);
  std::error_code ignored;
  if (file.empty() || !std::filesystem::exists(file, ignored)) return std::optional<Weights>();
  std::string text;
  if (!read_file(file, text)) return failure(cannot_read(file));
  Result<Weights> weights = models::proplusplus::parse_weights(text, file);
  if (!weights) return weights.error();
  return std::optional<Weights>(std::move(*weights));
}

std::vector<Implementation> implementations_of(const Inputs& inputs) {
  std::vector<Implementation> found;
  for (const Subject& subject : inputs.subjects) {
    if (subject.path.size() != 2) continue;
    found.push_back({subject.path[0], subject.path[1], subject.criteria, seconds_of(subject)});
  }
  return found;
}

Result<KeptFit> fit_and_keep(const Inputs& inputs, const std::string& file) {
  Result<WeightFit> fit = models::proplusplus::fit_weights(implementations_of(inputs));
  if (!fit) return fit.error();
  KeptFit kept{std::move(*fit), {}, file.empty() ? weights_file(inputs.device) : file};
  if (kept.file.empty()) return failure("cannot store the weights: there is no home folder", "use -o FILE");
  const std::string text =
      models::proplusplus::to_json({inputs.device, todays_date(), inputs.times == Times::modelled, kept.fit});
  Result<Weights> weights = models::proplusplus::parse_weights(text, kept.file);
  if (!weights) return weights.error();
  kept.weights = std::move(*weights);
  if (const Status written = keep_file(kept.file, text); !written) return written.error();
  return kept;
}

std::string fit_text(const KeptFit& kept) {
  const WeightFit& fit = kept.fit;
  std::string text = "\nweights fitted to " + std::to_string(fit.used.size()) + " implementations of " +
                     std::to_string(fit.primitives) + " primitives";
  if (fit.left_out != 0)
    text += " (" + std::to_string(fit.left_out) + " left out: no alternative, time or criterion)";
  return text + "\n" + weights_table(fit) + "R² " + figure_text("%.3f", fit.r_squared) +
         " for the speeds within primitives; " + figure_text("%.3f", fit.validated_r_squared) +
         " if each primitive is predicted from the others\npairs ordered as their times: " +
         share_text(fit.fitted) + " by these weights, " + share_text(fit.validated.order) +
         " if each primitive is ordered by\nweights fitted to the others (rank correlation " +
         figure_text("%.2f", fit.validated.order.rank_correlation()) + ", 95 % interval " +
         figure_text("%.2f", fit.validated.low) + " to " + figure_text("%.2f", fit.validated.high) +
         (fit.validated.is_chance() ? ": no better than chance" : "") + "), " + share_text(fit.papers) +
         " by the paper's\nstored in " + kept.file + "\n";
}

}  // namespace lynxpp::cli::rating
