#include "cli/quality/quality_output.h"

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "report/kernel_name.h"
#include "report/number.h"
#include "report/tables/text_table.h"
#include "support/trust.h"

namespace lynxpp::cli::rating {
namespace {

using models::proplusplus::Counts;
using models::proplusplus::criterion_count;
using models::proplusplus::Gap;
using models::proplusplus::KernelRun;
using models::proplusplus::Weights;
using Json = nlohmann::ordered_json;

constexpr std::size_t name_width = 40;

std::string fixed(const std::optional<double>& value, int digits = 2) {
  if (!value) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, *value);
  return text;
}

const char* word_of(Subject::Kind kind) {
  switch (kind) {
    case Subject::Kind::program: return "program";
    case Subject::Kind::range: return "range";
    case Subject::Kind::kernel: return "kernel";
  }
  return "";
}

/// Sums over a subject's launches.
struct Totals {
  Counts counts;
  double seconds = 0;
  std::uint64_t copied = 0;
  std::uint64_t overlapped = 0;
};

Totals totals_of(const Primitive& primitive) {
  Totals totals;
  for (const KernelRun& kernel : primitive.kernels) {
    for (std::uint64_t Counts::*member :
         {&Counts::lane_instructions, &Counts::warp_instructions, &Counts::integers, &Counts::singles,
          &Counts::doubles, &Counts::textures, &Counts::locals, &Counts::shared, &Counts::globals,
          &Counts::moved_bytes})
      totals.counts.*member += kernel.counts.*member;
    totals.counts.matrix += kernel.counts.matrix;
    totals.seconds += kernel.seconds;
  }
  for (const models::proplusplus::Copy& copy : primitive.copies) {
    totals.copied += copy.bytes;
    if (copy.overlaps) totals.overlapped += copy.bytes;
  }
  return totals;
}

std::string advice(const Subject& subject, const Weights& weights) {
  const std::vector<Gap> found = gaps(subject.criteria, weights);
  if (found.empty()) return "-";
  const Criterion first = found.front().criterion;
  std::string text = std::string(symbol_of(first)) + " (" + fixed(found.front().size) + ")";
  if (!subject.sites[first].empty()) text += ": " + subject.sites[first];
  return text;
}

/// Returns how well the weights order implementations.
std::string evidence_text(const Weights& weights) {
  if (!weights.evidence) return "QM by these weights has not been compared with times";
  const models::proplusplus::Evidence& evidence = *weights.evidence;
  char text[160];
  std::snprintf(
      text, sizeof text,
      "rank correlation of QM with speed %.2f (95 %% interval %.2f to %.2f): %zu of %zu pairs in order",
      evidence.order.rank_correlation(), evidence.low, evidence.high, evidence.order.right,
      evidence.order.pairs);
  return std::string(text) + ", " + report::printable(evidence.source);
}

/// Returns why no criterion is named as the first to improve; empty if one is.
std::string why_withheld(const Weights& weights) {
  if (!weights.evidence) return "what to improve first is withheld: nothing is known about these weights";
  return weights.evidence->is_chance()
             ? "what to improve first is withheld: QM orders implementations no better than chance"
             : "";
}

std::string trust_of(const Inputs& inputs, const Weights& weights) {
  const char* const basis = inputs.clocks_warps ? "counted and measured"
                            : inputs.times == Times::measured
                                ? "counted, measured (times) and modelled (LB, SO)"
                                : "modelled";
  std::string text = evidence_text(weights);
  for (const trust::Number number : {trust::Number::balance, trust::Number::criteria}) {
    const bool is_measured = number == trust::Number::balance && inputs.clocks_warps;
    if (!is_measured) text += "; " + std::string(trust::row_of(number).line);
  }
  return trust::line_of(basis, text);
}

std::string criteria_table(const Inputs& inputs, Subject::Kind kind, const Weights& weights) {
  std::vector<std::string> names;
  report::TextColumn launches{{"launches"}, {}};
  std::vector<report::TextColumn> columns;
  for (std::size_t i = 0; i < criterion_count; ++i)
    columns.push_back({{symbol_of(static_cast<Criterion>(i))}, {}});
  report::TextColumn quality{{"QM"}, {}};
  report::TextColumn first{{"improve first"}, {}, false};
  for (const Subject& subject : inputs.subjects) {
    if (subject.kind != kind) continue;
    names.push_back(subject.name);
    launches.cells.push_back(std::to_string(subject.launches));
    for (std::size_t i = 0; i < criterion_count; ++i)
      columns[i].cells.push_back(fixed(subject.criteria.values[i]));
    quality.cells.push_back(fixed(models::proplusplus::quality(subject.criteria, weights)));
    first.cells.push_back(report::printable(advice(subject, weights)));
  }
  if (names.empty()) return {};
  report::ShortNames shown{names, {}};
  if (kind == Subject::Kind::kernel) shown = report::short_kernel_names(names, name_width);
  std::vector<report::TextColumn> all{{{word_of(kind)}, {}, false}, launches};
  for (const std::string& name : shown.names) all.front().cells.push_back(report::printable(name));
  all.insert(all.end(), columns.begin(), columns.end());
  all.push_back(quality);
  if (why_withheld(weights).empty()) all.push_back(first);
  std::string text = "\n" + report::render_columns(all);
  for (const std::string& line : shown.legend) text += "  " + line + "\n";
  return text;
}

/// A raw input of Table I for one subject.
struct RawInput {
  const char* name;
  std::string value;
  std::string source;
};

std::string count(std::uint64_t value) { return report::to_text(report::Number::of(value)); }

std::vector<RawInput> raw_inputs(const Subject& subject, const Inputs& inputs) {
  const Primitive& primitive = subject.primitive;
  const Totals totals = totals_of(primitive);
  const Counts& counts = totals.counts;
  const bool is_measured = inputs.times == Times::measured;
  const std::string driver = !is_measured              ? "the file of " + inputs.device
                             : inputs.assumes_hardware ? "driver; clock and memory assumed"
                                                       : "driver";
  const std::string timer =
      is_measured ? "events around the original kernels" : "modelled, the clock of " + inputs.device;
  const KernelRun& first = primitive.kernels.front();
  const std::string warps = inputs.clocks_warps ? "measured by the GPU's clocks with probes"
                                                : "modelled from the instructions of warps";
  std::vector<RawInput> raw{
      {"#SM", count(inputs.hardware.multiprocessors), driver},
      {"total_warps", count(inputs.hardware.machine.residency.warps), driver},
      {"block_size", count(first.configuration.block_size), "first launch"},
      {"grid_size", count(first.configuration.grid_size), "first launch"},
      {"#registers", count(first.configuration.registers),
       inputs.estimates_registers ? "first launch, live registers of the PTX (estimate)"
                                  : "first launch, driver"},
      {"Static_SMem + Dynamic_SMem", count(first.configuration.shared_bytes), "first launch"},
      {"active_warps / total_warps", fixed(subject.criteria[Criterion::load_balancing], 4), warps},
      {"threads (instructions of lanes)", count(counts.lane_instructions), "counted"},
      {"warps (instructions of warps)", count(counts.warp_instructions), "counted"},
      {"stall_sync", first.stalled < 0 ? "-" : fixed(first.stalled, 4), "first launch, " + warps},
      {"Int_instr", count(counts.integers), "counted"},
      {"SP_instr", count(counts.singles), "counted"},
      {"DP_instr", count(counts.doubles), "counted"},
      {"products of matrix instructions", count(static_cast<std::uint64_t>(counts.matrix)),
       "counted, in units of one with f16"},
      {"local_accesses", count(counts.locals), "counted"},
      {"shared_accesses", count(counts.shared), "counted"},
      {"texture_accesses", count(counts.textures), "counted"},
      {"global_accesses", count(counts.globals), "counted"},
      {"DRAM bytes", count(counts.moved_bytes),
       is_measured ? "modelled: counted sectors of 32 bytes, at most the arrays once: caches serve the rest"
                   : "modelled, past the caches of " + inputs.device},
      {"Available_mem_throughput", fixed(inputs.hardware.memory_rate / 1e9, 1) + " GB/s", driver},
      {"kernel_time", fixed(totals.seconds * 1e6, 3) + " us", timer},
  };
  if (subject.kind != Subject::Kind::kernel) {
    raw.push_back({"Kernel_synch_time", fixed(primitive.between_seconds * 1e6, 3) + " us",
                   is_measured ? "clock of the host" : "assumed for each launch and copy"});
    raw.push_back({"cuda_copy_size", count(totals.copied), "calls of copies"});
    raw.push_back({"overlapping copies", count(totals.overlapped), "order of streams"});
    raw.push_back(
        {"problem_size", count(primitive.problem_bytes),
         "the launches' " + std::to_string(subject.problem_arrays) + " arrays, or --problem-bytes"});
  }
  return raw;
}

std::string inputs_table(const Subject& subject, const Inputs& inputs) {
  report::TextColumn name{{"input"}, {}, false}, value{{"value"}, {}}, source{{"source"}, {}, false};
  for (const RawInput& each : raw_inputs(subject, inputs)) {
    name.cells.emplace_back(each.name);
    value.cells.push_back(each.value);
    source.cells.push_back(each.source);
  }
  return "\n" + report::printable(std::string(word_of(subject.kind)) + " " + subject.name) + "\n" +
         report::render_columns({name, value, source}, 2);
}

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace

std::string to_text(const Inputs& inputs, const Weights& weights, bool shows_inputs) {
  std::string text = "== lynxpp: quality on " + report::printable(inputs.device) +
                     (inputs.times == Times::modelled ? " (modelled)" : "") + " ==\nweights of " +
                     report::printable(weights.source) + ":";
  for (std::size_t i = 0; i < criterion_count; ++i) {
    char each[64];
    std::snprintf(each, sizeof each, " %s %g", symbol_of(static_cast<Criterion>(i)), weights.of.values[i]);
    text += each;
  }
  text += "\n";
  for (const Subject::Kind kind : {Subject::Kind::program, Subject::Kind::range, Subject::Kind::kernel})
    text += criteria_table(inputs, kind, weights);
  text += "\n";
  text += inputs.times == Times::measured
              ? "note: times are of the original kernels, measured in a separate run\n"
              : "note: times are modelled, by the cpu device's clock of " + report::printable(inputs.device) +
                    "\n";
  text += inputs.clocks_warps
              ? "note: balance (LB) and stalls (SO) are measured by clocks in instrumented kernels\n"
              : "note: balance (LB) and stalls (SO) are modelled from counted warp instructions\n";
  if (const std::string reason = why_withheld(weights); !reason.empty()) text += "note: " + reason + "\n";
  if (inputs.assumes_hardware)
    text += "note: clock, bandwidth or arithmetic rates are unknown; those of another device are assumed\n";
  if (inputs.estimates_registers) text += "note: registers are estimated from the PTX\n";
  for (const Subject& subject : inputs.subjects) {
    if (subject.left_out != 0 && subject.kind == Subject::Kind::kernel)
      text += "note: " + std::to_string(subject.left_out) + " launches of " +
              report::printable(subject.name) + " were not counted\n";
  }
  for (const Subject& subject : inputs.subjects) {
    if (shows_inputs) text += inputs_table(subject, inputs);
  }
  return text + trust_of(inputs, weights) + "\n";
}

std::string to_json(const Inputs& inputs, const Weights& weights) {
  Json object{{"record", "quality"},
              {"device", inputs.device},
              {"times", inputs.times == Times::measured ? "measured" : "modelled"},
              {"assumes_hardware", inputs.assumes_hardware},
              {"weights", Json::parse(models::proplusplus::to_json(weights))},
              {"evidence", nullptr},
              {"improve_withheld", nullptr},
              {"trust", trust_of(inputs, weights)},
              {"subjects", Json::array()}};
  if (const auto& evidence = weights.evidence) {
    object["evidence"] = {
        {"source", evidence->source},     {"pairs", evidence->order.pairs},
        {"right", evidence->order.right}, {"rank_correlation", evidence->order.rank_correlation()},
        {"low", evidence->low},           {"high", evidence->high}};
  }
  const std::string withheld = why_withheld(weights);
  if (!withheld.empty()) object["improve_withheld"] = withheld;
  for (const Subject& subject : inputs.subjects) {
    Json entry{{"kind", word_of(subject.kind)},
               {"name", subject.name},
               {"launches", subject.launches},
               {"launches_not_counted", subject.left_out},
               {"criteria", Json::object()},
               {"quality", json_of(models::proplusplus::quality(subject.criteria, weights))},
               {"kernel_seconds", totals_of(subject.primitive).seconds},
               {"between_seconds", subject.primitive.between_seconds},
               {"improve", Json::array()},
               {"inputs", Json::array()}};
    for (std::size_t i = 0; i < criterion_count; ++i)
      entry["criteria"][symbol_of(static_cast<Criterion>(i))] = json_of(subject.criteria.values[i]);
    for (const Gap& gap : withheld.empty() ? gaps(subject.criteria, weights) : std::vector<Gap>())
      entry["improve"].push_back({{"criterion", symbol_of(gap.criterion)},
                                  {"gap", gap.size},
                                  {"site", subject.sites[gap.criterion]}});
    for (const RawInput& raw : raw_inputs(subject, inputs))
      entry["inputs"].push_back({{"name", raw.name}, {"value", raw.value}, {"source", raw.source}});
    object["subjects"].push_back(std::move(entry));
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lynxpp::cli::rating
