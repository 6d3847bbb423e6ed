#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/advise/advice_page.h"
#include "cli/advise/arguments.h"
#include "cli/advise/bounds_output.h"
#include "cli/advise/words.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "models/cumapz/exploration.h"
#include "models/cumapz/terms.h"
#include "models/machine.h"
#include "report/number.h"
#include "report/tables/text_table.h"
#include "support/text.h"
#include "support/trust.h"

namespace lynxpp::cli {
namespace {

using models::Machine;
using models::cumapz::Alternative;
using models::cumapz::Description;
using models::cumapz::Exploration;
using models::cumapz::ReferenceTotals;
using models::cumapz::Statement;
using models::cumapz::Terms;
using models::cumapz::Totals;
using models::cumapz::Variant;
using Values = std::map<std::string, std::int64_t>;

/// A variant of a description, or an explored alternative to one.
struct Estimated : Alternative {
  std::string file;
  std::int64_t rank = 0;
};

/// A factor of equation 8. Larger is better.
struct Factor {
  const char* name;
  double (*of)(const Terms& terms);
  double best;  ///< the best possible value; 0: the best value among the variants
};

constexpr Factor factors[] = {
    {"data_reuse", [](const Terms& t) { return t.data_reuse; }, 0},
    {"lat_hiding", [](const Terms& t) { return t.latency_hiding; }, 0},
    {"bw_util", [](const Terms& t) { return t.bandwidth_use; }, 1},
    {"ch_skew", [](const Terms& t) { return 1 / t.channel_skew; }, 1},
    {"branch_eff", [](const Terms& t) { return t.branch_efficiency; }, 1},
    {"shm_eff", [](const Terms& t) { return std::sqrt(t.shared_efficiency); }, 1},
    {"tex_reuse", [](const Terms& t) { return t.texture_reuse; }, 0},
    {"const_eff", [](const Terms& t) { return std::sqrt(t.constant_efficiency); }, 1},
};

std::string name_of(const Estimated& estimated, bool has_several_files) {
  std::string name = has_several_files ? estimated.file : "";
  for (const auto& [choice, value] : estimated.variant.choices)
    name += (name.empty() ? "" : " ") + choice + "=" + std::to_string(value);
  for (const auto& [change, value] : estimated.changes)
    name += (name.empty() ? "" : " ") + change + "=" + value;
  return name.empty() ? estimated.file : name;
}

/// Returns the factor that is farthest below its best, among those that the machine advises, or "-" if all
/// are near it.
std::string worst_term(const Estimated& estimated, const std::vector<Estimated>& all,
                       const Machine& machine) {
  std::string worst = "-";
  double least = 0.995;  // ignores factors that round to their best
  for (const Factor& factor : factors) {
    if (!machine.advises(factor.name)) continue;
    double best = factor.best;
    for (const Estimated& each : all) {
      if (factor.best == 0) best = std::max(best, factor.of(each.terms));
    }
    const double share = best == 0 ? 1 : factor.of(estimated.terms) / best;
    if (share >= least) continue;
    least = share;
    worst = factor.name;
  }
  return worst;
}

/// A column of the table of variants. Rare terms are shown only if a kernel has them.
struct ShownTerm {
  const char* name;
  double (*of)(const Terms& terms);
  bool is_rare = false;
};

constexpr ShownTerm shown_terms[] = {
    {"estimate", [](const Terms& t) { return t.estimate; }},
    {"data_reuse", [](const Terms& t) { return t.data_reuse; }},
    {"lat_hiding", [](const Terms& t) { return t.latency_hiding; }},
    {"bw_util", [](const Terms& t) { return t.bandwidth_use; }},
    {"ch_skew", [](const Terms& t) { return t.channel_skew; }},
    {"branch_eff", [](const Terms& t) { return t.branch_efficiency; }},
    {"shm_eff", [](const Terms& t) { return t.shared_efficiency; }},
    {"arith_hiding", [](const Terms& t) { return t.arithmetic_hiding; }, true},
    {"tex_reuse", [](const Terms& t) { return t.texture_reuse; }, true},
    {"const_eff", [](const Terms& t) { return t.constant_efficiency; }, true},
};

/// Prints `rows`; each is compared with all variants.
void print_variants(const std::vector<Estimated>& rows, const std::vector<Estimated>& all,
                    const Machine& machine, bool has_several_files, bool has_ranks) {
  std::vector<report::TextColumn> columns;
  if (has_ranks) {
    columns.push_back({{"rank"}, {}});
    for (const Estimated& each : rows) columns.back().cells.push_back(std::to_string(each.rank));
  }
  columns.push_back({{"variant"}, {}, false});
  for (const Estimated& each : rows) columns.back().cells.push_back(name_of(each, has_several_files));
  if (models::cumapz::has_bounds(machine)) {
    report::TextColumn time{{"µs"}, {}}, by{{"bound by"}, {}, false};
    for (const Estimated& each : rows) {
      time.cells.push_back(microseconds_text(*each.bounds, machine));
      by.cells.emplace_back(name_of(each.bounds->slowest()));
    }
    columns.push_back(std::move(time));
    columns.push_back(std::move(by));
  }
  for (const ShownTerm& term : shown_terms) {
    if (term.is_rare &&
        std::ranges::all_of(all, [&](const Estimated& each) { return term.of(each.terms) == 1; }))
      continue;
    columns.push_back({{term.name}, {}});
    for (const Estimated& each : rows) columns.back().cells.push_back(term_text(term.of(each.terms)));
  }
  const std::pair<const char*, std::int64_t Terms::*> counts[] = {
      {"accesses", &Terms::accesses}, {"in shared", &Terms::hits}, {"global", &Terms::global_accesses}};
  for (const auto& [heading, count] : counts) {
    columns.push_back({{heading}, {}});
    for (const Estimated& each : rows)
      columns.back().cells.push_back(report::to_text(report::Number::of(each.terms.*count)));
  }
  columns.push_back({{"hurts most"}, {}, false});
  for (const Estimated& each : rows) columns.back().cells.push_back(worst_term(each, all, machine));
  print_text(report::render_columns(columns) + withheld_terms(machine));
}

void print_references(const Estimated& estimated, bool has_several_files) {
  print_text("\n" + name_of(estimated, has_several_files) + "\n");
  report::TextColumn line{{"line"}, {}}, kind{{"does"}, {}, false}, text{{"element"}, {}, false};
  std::vector<report::TextColumn> numbers{{{"warps"}, {}},        {{"diverged"}, {}}, {{"accesses"}, {}},
                                          {{"in shared"}, {}},    {{"bytes"}, {}},    {{"moved"}, {}},
                                          {{"transactions"}, {}}, {{"requests"}, {}}, {{"served"}, {}}};
  for (const ReferenceTotals& each : estimated.totals.references) {
    if (each.warps == 0) continue;
    line.cells.push_back(std::to_string(each.position.line));
    kind.cells.emplace_back(word_of(each.kind));
    text.cells.push_back(each.text);
    const std::int64_t cells[] = {each.warps,
                                  each.diverged,
                                  each.accesses,
                                  each.hits,
                                  each.global.requested_bytes,
                                  each.global.transferred_bytes,
                                  each.global.transactions,
                                  each.shared.requests,
                                  each.shared.served};
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i].cells.push_back(report::to_text(report::Number::of(cells[i])));
  }
  std::vector<report::TextColumn> columns{std::move(line), std::move(kind), std::move(text)};
  columns.insert(columns.end(), numbers.begin(), numbers.end());
  print_text(report::render_columns(columns, 2));
}

/// Returns how far to trust the times, which were compared with an H100's, or the estimates.
std::string trust_of(const Machine& machine) {
  using trust::Number;
  if (!models::cumapz::has_bounds(machine)) return trust::line_of({Number::advised_estimate});
  const bool was_compared = machine.name == "h100" || machine.name == "compute_9_0";
  return trust::line_of(
      {was_compared ? Number::advised_time : Number::advised_other, Number::advised_estimate});
}

/// Compares the variant with all others to find the term that lowers its estimate most.
nlohmann::ordered_json json_of(const Estimated& estimated, const std::vector<Estimated>& all,
                               const Machine& machine) {
  nlohmann::ordered_json object;
  object["file"] = estimated.file;
  object["machine"] = machine.name;
  object["trust"] = trust_of(machine);
  object["choices"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : estimated.variant.choices) object["choices"][name] = value;
  object["changes"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : estimated.changes) object["changes"][name] = value;
  const Terms& terms = estimated.terms;
  for (const ShownTerm& term : shown_terms) object["modelled"][term.name] = term.of(terms);
  if (estimated.bounds) object["bounds"] = bounds_json(*estimated.bounds, machine);
  object["hurts"] = {{"term", worst_term(estimated, all, machine)}};
  object["occupancy"] = estimated.totals.occupancy.share;
  object["accesses"] = terms.accesses;
  object["in_shared"] = terms.hits;
  object["global_accesses"] = terms.global_accesses;
  object["references"] = nlohmann::ordered_json::array();
  for (const ReferenceTotals& each : estimated.totals.references) {
    if (each.warps == 0) continue;
    object["references"].push_back({{"line", each.position.line},
                                    {"does", word_of(each.kind)},
                                    {"element", each.text},
                                    {"warps", each.warps},
                                    {"diverged", each.diverged},
                                    {"accesses", each.accesses},
                                    {"in_shared", each.hits},
                                    {"bytes", each.global.requested_bytes},
                                    {"moved_bytes", each.global.transferred_bytes},
                                    {"transactions", each.global.transactions},
                                    {"global_requests", each.global.requests},
                                    {"shared_requests", each.shared.requests},
                                    {"shared_served", each.shared.served},
                                    {"texture_bytes", each.cached.requested_bytes},
                                    {"texture_moved_bytes", each.cached.moved_bytes},
                                    {"constant_requests", each.cached.requests},
                                    {"constant_served", each.cached.served}});
  }
  return object;
}

/// Returns the first `best` variants and all that are unchanged from their description.
std::vector<Estimated> best_of(const std::vector<Estimated>& all, std::size_t best) {
  std::vector<Estimated> result;
  for (const Estimated& each : all) {
    if (result.size() < best || each.changes.empty()) result.push_back(each);
  }
  return result;
}

/// Shows the variants as text, JSON or a page. If the page cannot be written, prints an error and returns
/// false.
bool show(const std::vector<Estimated>& all, const Machine& machine, const AdviseArguments& arguments) {
  const std::vector<Estimated> rows = arguments.explore ? best_of(all, arguments.best) : all;
  if (arguments.json) {
    for (const Estimated& each : all) print_line(json_of(each, all, machine));
  } else if (!all.empty()) {
    const bool has_several = arguments.files.size() > 1;
    print_text("modelled for " + machine.name + ", best first\n\n");
    print_variants(rows, all, machine, has_several, arguments.explore);
    for (const Estimated& each : rows) {
      if (arguments.references) print_references(each, has_several);
    }
    print_text("\n" + trust_of(machine) + "\n");
  }
  if (arguments.html.empty()) return true;
  std::vector<nlohmann::ordered_json> objects;
  for (const Estimated& each : rows) objects.push_back(json_of(each, all, machine));
  return write_advice_page(arguments.html, machine.name, objects);
}

Result<Values> values_of(const std::vector<std::string>& definitions) {
  Values values;
  for (const std::string& definition : definitions) {
    const std::size_t equals = definition.find('=');
    std::int64_t value = 0;
    const char* const begin = definition.data() + (equals == std::string::npos ? 0 : equals + 1);
    const char* const end = definition.data() + definition.size();
    const auto [stop, problem] = std::from_chars(begin, end, value);
    if (equals == std::string::npos || equals == 0 || problem != std::errc() || stop != end)
      return failure("'" + definition + "' is not NAME=VALUE", "VALUE is an integer: -D N=1024");
    values[definition.substr(0, equals)] = value;
  }
  return values;
}

/// Returns alternatives to the description.
Result<std::vector<Alternative>> explored(const Description& description, const Machine& machine,
                                          const Values& values) {
  Result<Exploration> found = models::cumapz::explore(description, values, machine);
  if (!found) return found.error();
  std::string note = description.file + ": " + std::to_string(found->alternatives.size()) + " ways";
  if (found->left_out != 0)
    note += ", " + std::to_string(found->left_out) + " more do not fit or have different accesses";
  if (!found->is_complete)
    note += "; too many to try all: the search starts at each variant and makes one change at a time";
  std::fprintf(stderr, "%s\n", note.c_str());
  return std::move(found->alternatives);
}

Result<std::vector<Alternative>> as_described(const Description& description, const Machine& machine,
                                              const Values& values) {
  Result<std::vector<Variant>> variants = models::cumapz::variants_of(description, values);
  if (!variants) return variants.error();
  std::vector<std::optional<Result<Alternative>>> analysed(variants->size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < analysed.size(); i = next++)
      analysed[i] = models::cumapz::alternative_of(description, std::move((*variants)[i]), machine);
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
    while (helpers.size() + 1 < std::min(analysed.size(), processors)) helpers.emplace_back(work);
    work();
  }
  std::vector<Alternative> alternatives;
  for (std::optional<Result<Alternative>>& each : analysed) {
    if (!*each) return each->error();
    alternatives.push_back(std::move(**each));
  }
  return alternatives;
}

/// Appends the variants of one file. If the file has errors, prints them and returns false.
bool estimate(const std::string& file, const Machine& machine, const Values& values, bool explores,
              std::vector<Estimated>& all) {
  std::string text;
  if (!read_file(file, text)) {
    print_error(cannot_read(file));
    return false;
  }
  const Result<Description> description = models::cumapz::parse_description(text, file);
  if (!description) return print(description.error().diagnostics, text), false;
  Result<std::vector<Alternative>> alternatives =
      explores ? explored(*description, machine, values) : as_described(*description, machine, values);
  if (!alternatives) return print(alternatives.error().diagnostics, text), false;
  for (Alternative& alternative : *alternatives) all.push_back({std::move(alternative), file});
  return true;
}

int list_machines() {
  for (const std::string& name : models::machine_names()) {
    const Result<Machine> machine = models::find_machine(name);
    print_text(name + "  " + (machine ? machine->source : "") + "\n");
  }
  return exit_success;
}

}  // namespace

int advise(const AdviseArguments& arguments) {
  if (arguments.machine == "list") return list_machines();
  if (!arguments.command.empty() || !arguments.observed.from.empty()) return advise_program(arguments);
  Result<Machine> machine = models::find_machine(arguments.machine);
  if (!machine) return print(machine.error().diagnostics), exit_input_error;
  if (arguments.by_estimate) machine->timing.reset();
  const Result<Values> values = values_of(arguments.values);
  if (!values) return print(values.error().diagnostics), exit_usage_error;
  std::vector<Estimated> all;
  bool is_good = true;
  for (const std::string& file : arguments.files)
    is_good &= estimate(file, *machine, *values, arguments.explore, all);
  std::ranges::stable_sort(all, std::greater(), [](const Estimated& each) { return each.merit(); });
  for (std::size_t i = 0; i < all.size(); ++i) all[i].rank = static_cast<std::int64_t>(i) + 1;
  is_good &= show(all, *machine, arguments);
  return is_good ? exit_success : exit_input_error;
}

}  // namespace lynxpp::cli
