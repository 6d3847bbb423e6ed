#include "tests/cod/lane_values_fixture.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "ptx/emitter/code_printer.h"
#include "ptx/passes/memory/lane_value_plan.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

constexpr const char* specification = R"(
global unsigned long sectors[INSTRUCTIONS];
global unsigned long wavefronts[INSTRUCTIONS];
global unsigned long conflicts[INSTRUCTIONS];
ON_INSTRUCTION: MEM_READ: MEM_WRITE: GLOBAL: {
  int first = firstInSector();
  if (first) atomicAdd(&sectors[instructionId()], 1);
}
ON_INSTRUCTION: MEM_READ: MEM_WRITE: SHARED: {
  unsigned int made = bankWavefronts();
  unsigned int avoidable = bankConflicts();
  if (leastActiveThreadInWarp()) {
    atomicAdd(&wavefronts[instructionId()], made);
    if (avoidable) atomicAdd(&conflicts[instructionId()], avoidable);
  }
}
)";
constexpr std::uint32_t blocks = 2;
constexpr std::size_t data_words = 34000;  // of `data`
constexpr std::size_t middle = 65536;      // bytes before %rd1

/// Maps memory with a multiple of 4 GiB one kilobyte after %rd1, identical for every launch.
std::uint64_t* memory_across() {
  static std::byte* const mapped = []() -> std::byte* {
    constexpr std::size_t bytes = 1u << 20;
    for (std::uintptr_t high = 0x1000; high < 0x1100; ++high) {
      void* const wanted = reinterpret_cast<void*>((high << 32) - bytes / 2);
      void* const found = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (found == wanted) return static_cast<std::byte*>(found) + bytes / 2;
      if (found != MAP_FAILED) munmap(found, bytes);
    }
    ADD_FAILURE() << "no room for memory on both sides of a multiple of 4 GiB";
    return nullptr;
  }();
  return mapped == nullptr ? nullptr : reinterpret_cast<std::uint64_t*>(mapped - middle - 1024);
}

}  // namespace

std::string access_module(const std::string& body, const std::string& functions) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + functions +
         ".visible .entry k(.param .u64 data)\n{\n.shared .align 16 .b8 tile[40000];\n.reg .pred "
         "%p<30>;\n.reg "
         ".b32 %r<90>;\n.reg .b16 %rs<9>;\n.reg .b64 %rd<90>;\nld.param.u64 %rd1, [data];\nadd.s64 %rd1, "
         "%rd1, 65536;\n"
         "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\nmov.u32 %r4, %ntid.x;\n"
         "mov.u32 %r5, tile;\nmov.u32 %r6, 0;\n" +
         body + "\n}\n";
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

MeasuredLaunch::MeasuredLaunch(const std::string& ptx, const Shape& shape, Memory memory)
    : ptx_(ptx), shape_(shape), memory_(memory) {
  const auto module = device::cpu::load_module(ptx_, "k.ptx");
  if (!module) {
    ADD_FAILURE() << render(module.error().diagnostics, ptx_);
    return;
  }
  run(**module, {}, &counters_);
  native_ = data_;
}

std::string MeasuredLaunch::check(bool lane_values) {
  engine::Request request;
  request.ptx = &ptx_;
  request.kernel = "k";
  request.specifications = {compiled(specification)};
  request.device_sm = 90;
  if (!lane_values) request.limits.without.insert(ptx::Refinement::lane_values);
  request.launch.has_full_warps = knows_rows && shape_.threads() % 32 == 0;
  request.launch.has_whole_rows = knows_rows && shape_.x % 32 == 0;
  request.inspection.verify = true;
  request.counting.wide = wide_counters;
  std::shared_ptr<const ptx::LaneValuePlan> plan;
  request.inspection.observer.after = [&](std::string_view, const ptx::InstrumentationUnit& unit) {
    plan = unit.memory.lane_values;
  };
  const auto variant = engine::instrument(request);
  if (!variant) {
    ADD_FAILURE() << render(variant.error().diagnostics, ptx_);
    return {};
  }
  look_at_lanes(plan.get(), variant->ptx);
  const std::uint64_t instructions = variant->size.instructions;
  std::vector<std::vector<std::uint64_t>> arrays(3, std::vector<std::uint64_t>(instructions));
  std::vector<std::uint64_t> slots(variant->counting->plan->slots());
  std::vector<std::uint64_t> words;
  for (const engine::ProbeWord& word : variant->probe) {
    words.push_back(reinterpret_cast<std::uint64_t>(
        word.kind == engine::ProbeWord::Kind::counters ? slots.data() : arrays[word.word.index].data()));
  }
  const auto module = device::cpu::load_module(variant->ptx, "variant.ptx");
  if (!module) {
    ADD_FAILURE() << render(module.error().diagnostics, variant->ptx);
    return {};
  }
  run(**module, words, nullptr);
  EXPECT_EQ(data_, native_) << "the variant computes a different result";
  std::vector<std::span<std::byte>> views;
  views.reserve(arrays.size());
  for (auto& array : arrays) views.push_back(bytes_of_vector(array));
  const std::uint64_t warps = std::uint64_t{blocks} * ((shape_.threads() + 31) / 32);
  engine::fill_counted_arrays(*variant->counting, request.specifications, slots,
                              {std::uint64_t{blocks} * shape_.threads(), warps}, {&views, 1});
  EXPECT_EQ(engine::may_wrap_indices(*variant->counting, slots), wraps_indices);
  if (!wraps_indices) compare(*variant, arrays);
  const auto is_number = [](const auto& each) { return !each.first.is_exception; };
  tallies = static_cast<std::size_t>(std::ranges::count_if(variant->counting->plan->tallies, is_number));
  exceptions = variant->counting->plan->tallies.size() - tallies;
  adds_nothing = std::ranges::count(slots, 0u) == std::ssize(slots);
  return variant->ptx;
}

void MeasuredLaunch::look_at_lanes(const ptx::LaneValuePlan* plan, const std::string& text) {
  std::set<ptx::VirtualRegister> registers, banks;
  if (plan != nullptr) {
    for (const auto& [at, reg] : plan->registers) {
      const auto& [site, value] = at;
      const bool is_of_some = plan->find(site, ptx::bank_lanes_value) != nullptr;
      if (is_of_some && value == ptx::hoisted_banks_value) banks.insert(reg);
      if (!banks.contains(reg) && value != ptx::lane_row_value) registers.insert(reg);
    }
  }
  lane_registers = static_cast<int>(registers.size());
  banks_of_some = 0;
  for (const ptx::VirtualRegister reg : banks)
    banks_of_some += count_of(text, "mov.b32 " + ptx::print(reg) + ",");
}

void MeasuredLaunch::compare(const engine::Instrumented& variant,
                             const std::vector<std::vector<std::uint64_t>>& arrays) {
  const auto& functions = variant.sites->functions;
  const auto place = [&](const device::cpu::SiteCounters& site) {
    return std::ranges::find(functions, site.function) - functions.begin();
  };
  std::ranges::stable_sort(counters_.sites, {}, place);
  ASSERT_EQ(counters_.sites.size(), variant.size.instructions);
  for (std::size_t i = 0; i < counters_.sites.size(); ++i) {
    const device::cpu::SiteCounters& site = counters_.sites[i];
    const auto what = [&] {
      return std::to_string(i) + " " + site.opcode + ", block of " + std::to_string(shape_.x) + " x " +
             std::to_string(shape_.y) + " x " + std::to_string(shape_.z) + "\n" + variant.ptx;
    };
    ASSERT_EQ(arrays[0][i], site.global.sectors) << what();
    ASSERT_EQ(arrays[1][i], site.shared.wavefronts) << what();
    ASSERT_EQ(arrays[2][i], site.shared.wavefronts - site.shared.least_wavefronts) << what();
  }
}

void MeasuredLaunch::run(device::cpu::LoadedModule& module, const std::vector<std::uint64_t>& words,
                         device::cpu::LaunchCounters* counters) {
  std::uint64_t* const data = this->data();
  std::vector<std::byte> parameters(8 + 8 * words.size());
  std::memcpy(parameters.data(), &data, 8);
  if (!words.empty()) std::memcpy(parameters.data() + 8, words.data(), 8 * words.size());
  const Status status =
      module.launch("k", {{blocks, 1, 1}, {shape_.x, shape_.y, shape_.z}}, parameters, counters);
  EXPECT_TRUE(status.ok()) << render(status.error().diagnostics) << ptx_;
  data_.assign(data, data + 16384);
}

/// Zeros, always at the same offset in a sector, because the number of touched sectors depends on it.
std::uint64_t* MeasuredLaunch::data() {
  if (memory_ == Memory::across) {
    std::uint64_t* const memory = memory_across();
    if (memory != nullptr) std::fill_n(memory, data_words, 0);
    return memory;
  }
  storage_.assign(data_words + 16, 0);
  std::uint64_t* data = storage_.data();
  while (reinterpret_cast<std::uintptr_t>(data) % 128 != 0) ++data;
  return data;
}

}  // namespace lynxpp::cod
