#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "models/cumapz/terms.h"
#include "models/machine.h"
#include "report/number.h"
#include "report/text_table.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using models::Machine;
using models::cumapz::Description;
using models::cumapz::ReferenceTotals;
using models::cumapz::Statement;
using models::cumapz::Terms;
using models::cumapz::Totals;
using models::cumapz::Variant;
using Values = std::map<std::string, std::int64_t>;

struct Estimated {
  std::string file;
  Variant variant;
  Totals totals;
  Terms terms;
};

/// A factor of equation 8, as it enters there: the larger the better.
struct Factor {
  const char* name;
  double (*of)(const Terms& terms);
  double best;  ///< that there can be; 0: of the variants'
};

constexpr Factor factors[] = {
    {"data_reuse", [](const Terms& t) { return t.data_reuse; }, 0},
    {"lat_hiding", [](const Terms& t) { return t.latency_hiding; }, 0},
    {"bw_util", [](const Terms& t) { return t.bandwidth_use; }, 1},
    {"ch_skew", [](const Terms& t) { return 1 / t.channel_skew; }, 1},
    {"branch_eff", [](const Terms& t) { return t.branch_efficiency; }, 1},
    {"shm_eff", [](const Terms& t) { return std::sqrt(t.shared_efficiency); }, 1},
};

std::string name_of(const Estimated& estimated, bool has_several_files) {
  std::string name = has_several_files ? estimated.file : "";
  for (const auto& [choice, value] : estimated.variant.choices)
    name += (name.empty() ? "" : " ") + choice + "=" + std::to_string(value);
  return name.empty() ? estimated.file : name;
}

/// The factor that is farthest below its best, and "-" when none is.
std::string what_hurts(const Estimated& estimated, const std::vector<Estimated>& all) {
  std::string worst = "-";
  double least = 0.995;  // what rounds to the best is no reason
  for (const Factor& factor : factors) {
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

std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value != 0 && value < 0.01 ? "%.2e" : "%.4f", value);
  return text;
}

void print_text(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_variants(const std::vector<Estimated>& all, bool has_several_files) {
  report::TextColumn name{{"variant"}, {}, false}, hurts{{"hurts most"}, {}, false};
  std::vector<report::TextColumn> numbers{{{"estimate"}, {}}, {{"data_reuse"}, {}}, {{"lat_hiding"}, {}},
                                          {{"bw_util"}, {}},  {{"ch_skew"}, {}},    {{"branch_eff"}, {}},
                                          {{"shm_eff"}, {}},  {{"accesses"}, {}},   {{"in shared"}, {}},
                                          {{"global"}, {}}};
  for (const Estimated& each : all) {
    const Terms& terms = each.terms;
    name.cells.push_back(name_of(each, has_several_files));
    hurts.cells.push_back(what_hurts(each, all));
    const std::string cells[] = {fixed(terms.estimate),
                                 fixed(terms.data_reuse),
                                 fixed(terms.latency_hiding),
                                 fixed(terms.bandwidth_use),
                                 fixed(terms.channel_skew),
                                 fixed(terms.branch_efficiency),
                                 fixed(terms.shared_efficiency),
                                 report::to_text(report::Number::of(terms.accesses)),
                                 report::to_text(report::Number::of(terms.hits)),
                                 report::to_text(report::Number::of(terms.global_accesses))};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i].cells.push_back(cells[i]);
  }
  std::vector<report::TextColumn> columns{std::move(name)};
  columns.insert(columns.end(), numbers.begin(), numbers.end());
  columns.push_back(std::move(hurts));
  print_text(report::render_columns(columns));
}

const char* word_of(Statement::Kind kind) {
  switch (kind) {
    case Statement::Kind::fetch: return "fetch";
    case Statement::Kind::store: return "store";
    case Statement::Kind::write: return "write";
    default: return "read";
  }
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

void print_json(const Estimated& estimated, const Machine& machine) {
  nlohmann::ordered_json object;
  object["file"] = estimated.file;
  object["machine"] = machine.name;
  object["choices"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : estimated.variant.choices) object["choices"][name] = value;
  const Terms& terms = estimated.terms;
  object["modelled"] = {{"estimate", terms.estimate},         {"data_reuse", terms.data_reuse},
                        {"lat_hiding", terms.latency_hiding}, {"bw_util", terms.bandwidth_use},
                        {"ch_skew", terms.channel_skew},      {"branch_eff", terms.branch_efficiency},
                        {"shm_eff", terms.shared_efficiency}};
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
                                    {"shared_requests", each.shared.requests},
                                    {"shared_served", each.shared.served}});
  }
  print_text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
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
      return failure("'" + definition + "' is no NAME=VALUE", "VALUE is an integer: -D N=1024");
    values[definition.substr(0, equals)] = value;
  }
  return values;
}

/// Appends the variants of one file; false when it has errors, which are printed.
bool estimate(const std::string& file, const Machine& machine, const Values& values,
              std::vector<Estimated>& all) {
  std::string text;
  if (!read_file(file, text)) {
    print_error(cannot_read(file));
    return false;
  }
  const Result<Description> description = models::cumapz::parse_description(text, file);
  if (!description) return print(description.error().diagnostics, text), false;
  Result<std::vector<Variant>> variants = models::cumapz::variants_of(*description, values);
  if (!variants) return print(variants.error().diagnostics, text), false;
  for (Variant& variant : *variants) {
    Result<Totals> totals = models::cumapz::execute(*description, variant, machine);
    if (!totals) return print(totals.error().diagnostics, text), false;
    const Terms terms = models::cumapz::terms_of(*totals, machine);
    all.push_back({file, std::move(variant), std::move(*totals), terms});
  }
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
  if (!arguments.command.empty()) return advise_program(arguments);
  const Result<Machine> machine = models::find_machine(arguments.machine);
  if (!machine) return print(machine.error().diagnostics), exit_input_error;
  const Result<Values> values = values_of(arguments.values);
  if (!values) return print(values.error().diagnostics), exit_usage_error;
  std::vector<Estimated> all;
  bool is_good = true;
  for (const std::string& file : arguments.files) is_good &= estimate(file, *machine, *values, all);
  std::ranges::stable_sort(all, std::greater(), [](const Estimated& each) { return each.terms.estimate; });
  if (arguments.json) {
    for (const Estimated& each : all) print_json(each, *machine);
  } else if (!all.empty()) {
    const bool has_several = arguments.files.size() > 1;
    print_text("modelled for " + machine->name + ", best first\n\n");
    print_variants(all, has_several);
    for (const Estimated& each : all) {
      if (arguments.references) print_references(each, has_several);
    }
  }
  return is_good ? exit_success : exit_input_error;
}

}  // namespace lynxpp::cli
