#include "tests/perturb/fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "device/cpu/simt/execute/executor.h"
#include "ptx/perturb/memory_regions.h"

namespace lynxpp::ptx::testing {
namespace {

constexpr std::size_t test_map_bytes = 1 << 16;  // of one map: 512 KiB

}  // namespace

std::vector<Perturbation> all_perturbations() {
  std::vector<Perturbation> all;
  for (const OperationDescription& each : operation_table()) {
    if (adds_code(each.operation)) all.push_back({each.operation, Form::again, {}});
    if (has_harmless(each.operation)) all.push_back({each.operation, Form::harmless, {}});
  }
  return all;
}

engine::Instrumented perturbed(const std::string& ptx, const std::string& kernel,
                               const Perturbation& perturbation, const PassObserver& observer) {
  engine::Request request;
  request.ptx = &ptx;
  request.kernel = kernel;
  request.perturbation = perturbation;
  request.limits = {};
  request.inspection.verify = true;
  request.inspection.observer = observer;
  Result<engine::Instrumented> made = engine::instrument(request);
  if (made) return std::move(*made);
  ADD_FAILURE() << to_text(perturbation) << ": " << render(made.error().diagnostics, ptx);
  return {};
}

std::vector<std::vector<std::byte>> buffers_after(const KernelRun& run, const std::string& text,
                                                  const std::vector<engine::ProbeWord>& words,
                                                  std::vector<std::uint64_t>* results) {
  std::vector<std::vector<std::byte>> buffers = run.buffers;
  static std::vector<std::byte> storage(least_scratch_bytes + 256);
  const Scratch scratch{(reinterpret_cast<std::uint64_t>(storage.data()) + 255) / 256 * 256,
                        least_scratch_bytes};
  const bool marks = std::ranges::any_of(
      words, [](const engine::ProbeWord& word) { return word.kind == HiddenSlot::Kind::map_mask; });
  std::vector<std::uint64_t> counted(marks ? 2 * test_map_bytes / 8 : result_words), parameters;
  for (std::vector<std::byte>& each : buffers)
    parameters.push_back(reinterpret_cast<std::uint64_t>(each.data()));
  for (const engine::ProbeWord& word : words) {
    if (word.kind == HiddenSlot::Kind::map_mask) {
      parameters.push_back(test_map_bytes - 4);
      continue;
    }
    if (word.kind == HiddenSlot::Kind::results) {
      parameters.push_back(reinterpret_cast<std::uint64_t>(counted.data()));
      continue;
    }
    const std::size_t pointer = word.parameter_offset / 8;
    const bool is_known = pointer < buffers.size();
    const MemoryRegion region = is_known ? region_of(parameters[pointer], buffers[pointer].size(), scratch)
                                         : region_of(0, 0, scratch);
    parameters.push_back(word_of(word.kind, region, scratch));
  }
  const auto module = device::cpu::load_module(text, "variant.ptx");
  if (!module) return ADD_FAILURE() << render(module.error().diagnostics, text), buffers;
  const Status launched =
      (*module)->launch(run.kernel, {{run.blocks, 1, 1}, {run.threads[0], run.threads[1], 1}},
                        std::as_bytes(std::span(parameters)), nullptr);
  EXPECT_TRUE(launched.ok()) << render(launched.error().diagnostics, text);
  if (results != nullptr) *results = counted;
  return buffers;
}

}  // namespace lynxpp::ptx::testing
