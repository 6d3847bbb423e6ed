#include "tests/passes/shown_passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "engine/instrument.h"
#include "instrumentors/catalogue.h"
#include "instrumentors/gmprof/schemes.h"
#include "ptx/emitter/emitter.h"
#include "ptx/passes/pipeline.h"
#include "support/text.h"
#include "tests/passes/splice_fixture.h"

namespace lynxpp::engine {
namespace {

void expect_assembles(const std::string& text) {
  std::string messages;
  bool available = false;
  const bool accepted = ptx::testing::assemble(text, messages, available);
  if (!available) std::printf("ptxas is not installed: the text was compared, not assembled\n");
  EXPECT_TRUE(accepted || !available) << messages;
}

/// Returns the list's KEY=VALUE elements.
std::vector<std::pair<std::string, std::string>> pairs_in(const std::string& list) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (list.empty()) return pairs;
  for (const std::string& each : split(list, ' ')) {
    const std::vector<std::string> sides = split(each, '=');
    pairs.emplace_back(sides.at(0), sides.at(1));
  }
  return pairs;
}

std::string shown_variant(const GoldenFile& file) {
  static const std::map<std::string, ptx::ProbePoint> points{
      {"kernel_entry", ptx::ProbePoint::kernel_entry},
      {"kernel_exit", ptx::ProbePoint::kernel_exit},
      {"block_entry", ptx::ProbePoint::basic_block_entry},
      {"block_exit", ptx::ProbePoint::basic_block_exit},
      {"instruction", ptx::ProbePoint::instruction}};
  std::vector<ptx::testing::NamedProbe> probes;
  for (const auto& [point, routine] : pairs_in(file.value("probes")))
    probes.push_back({points.at(point), routine});
  ptx::SharedVariables shared;
  for (const auto& [variable, position] : pairs_in(file.value("share")))
    shared[variable] = static_cast<std::uint32_t>(std::stoul(position));
  const auto spliced = ptx::testing::splice(file.input, "k", probes, shared);
  if (!spliced) return ADD_FAILURE() << render(spliced.error().diagnostics, file.input), "";
  expect_assembles(spliced->text);
  return golden_section("variant", changed_lines(file.input, spliced->text));
}

/// The request that the file's keys describe.
Result<Request> request_of(const GoldenFile& file) {
  Request request;
  request.ptx = &file.input;
  request.kernel = "k";
  request.limits = {};
  const auto loaded = instrumentors::parse_list(file.value("specification"));
  if (!loaded) return loaded.error();
  for (const instrumentors::LoadedSpecification& each : *loaded) {
    auto compiled = cod::compile(each.source, each.path);
    if (!compiled) return compiled.error();
    request.specifications.push_back(std::move(*compiled));
  }
  const Result<cod::WordScheme> words = gmprof::parse_schemes(file.value("words"), file.path);
  if (!words) return words.error();
  request.words.scheme = *words;
  const std::string launch = file.value("launch");
  if (launch != "any" && launch != "full_warps" && launch != "whole_rows")
    return failure("the key 'launch' must be any, full_warps or whole_rows, and is '" + launch + "'");
  request.launch = {launch != "any", launch == "whole_rows"};
  if (const std::string address = file.value("address"); !address.empty())
    request.variable_address = [=](const std::string&) { return std::stoull(address); };
  return request;
}

/// Collects plans and changes while the pipeline runs.
struct PassRecorder {
  std::string before;                        ///< the module
  std::map<std::string, std::string> shown;  ///< by pass

  ptx::PassObserver observer() {
    return {[this](std::string_view, const ptx::InstrumentationUnit& unit) {
              before = ptx::emit(unit.module, unit.edits);
            },
            [this](std::string_view pass, const ptx::InstrumentationUnit& unit) {
              const auto description =
                  std::ranges::find(ptx::pass_table(), pass, &ptx::PassDescription::name);
              shown[std::string(pass)] = description->plan_text != nullptr
                                             ? description->plan_text(unit)
                                             : changed_lines(before, ptx::emit(unit.module, unit.edits));
            }};
  }
};

}  // namespace

std::string shown_passes(const GoldenFile& file) {
  const std::string names = file.value("show");
  if (names.empty()) return "";
  if (names == "variant") return shown_variant(file);
  Result<Request> request = request_of(file);
  if (!request) return ADD_FAILURE() << file.path << ": " << render(request.error().diagnostics), "";
  PassRecorder recorder;
  request->inspection.observer = recorder.observer();
  request->inspection.verify = true;
  const Result<Instrumented> result = instrument(*request);
  if (!result) return ADD_FAILURE() << render(result.error().diagnostics, file.input), "";
  expect_assembles(result->ptx);
  std::string sections;
  for (const std::string& pass : split(names, ' ')) {
    EXPECT_FALSE(recorder.shown[pass].empty()) << "pass '" << pass << "' has nothing to do in " << file.path;
    sections += golden_section(pass, recorder.shown[pass]);
  }
  return sections;
}

}  // namespace lynxpp::engine
