#include "tests/counting/fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <span>

#include "engine/instrument.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {

const char* const everything = R"(
global unsigned long thread_blocks[BASIC_BLOCKS];
global unsigned long warp_blocks[BASIC_BLOCKS];
global unsigned long executed[BASIC_BLOCKS];
global unsigned long threads[INSTRUCTIONS];
global unsigned long warps[INSTRUCTIONS];
global unsigned long divergent[INSTRUCTIONS];
ON_BASIC_BLOCK_ENTRY: {
  atomicAdd(&thread_blocks[basicBlockId()], 1);
  if (leastActiveThreadInWarp()) atomicAdd(&warp_blocks[basicBlockId()], 1);
}
ON_BASIC_BLOCK_EXIT: atomicAdd(&executed[basicBlockId()], basicBlockExecutedInstructionCount());
ON_INSTRUCTION: {
  atomicAdd(&threads[instructionId()], 1);
  if (leastActiveThreadInWarp()) atomicAdd(&warps[instructionId()], 1);
}
ON_INSTRUCTION: BRANCH: OPCODE("bra*"): {
  int divides = divergentWarp(branchTarget());
  if (divides && leastActiveThreadInWarp()) atomicAdd(&divergent[instructionId()], 1);
}
)";

const char* const only_sums = R"(
global unsigned long sums[6];
ON_BASIC_BLOCK_EXIT: {
  atomicAdd(&sums[0], basicBlockExecutedInstructionCount());
  if (leastActiveThreadInWarp()) atomicAdd(&sums[1], basicBlockInstructionCount());
}
ON_INSTRUCTION: BRANCH: atomicAdd(&sums[2], 1);
ON_INSTRUCTION: OPCODE("add.u32"): atomicAdd(&sums[3], 1);
ON_INSTRUCTION: OPCODE("add.u32"): { if (leastActiveThreadInWarp()) atomicAdd(&sums[4], 1); }
ON_INSTRUCTION: BRANCH: OPCODE("bra*"): {
  int divides = divergentWarp(branchTarget());
  if (divides && leastActiveThreadInWarp()) atomicAdd(&sums[5], 1);
}
)";

const char* const only_instructions = R"(
global unsigned long sums[2];
ON_BASIC_BLOCK_EXIT: {
  atomicAdd(&sums[0], basicBlockExecutedInstructionCount());
  if (leastActiveThreadInWarp()) atomicAdd(&sums[1], basicBlockInstructionCount());
}
)";

GoldenFile golden_kernel(const std::string& name) {
  return read_golden(LYNXPP_SOURCE_DIR "/tests/counting/golden/" + name + ".ptx");
}

std::string module_of(const std::string& functions, const std::string& body) {
  return ".version 8.0\n.target sm_75\n.address_size 64\n" + functions +
         ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n"
         "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
         "mad.lo.u32 %r4, %r2, %r3, %r1;\nmul.wide.u32 %rd2, %r4, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
         "mul.lo.u32 %r5, %r4, 2654435761;\nmov.u32 %r6, 12345;\nmov.u32 %r7, 0;\nmov.u32 %r8, 0;\n" +
         body + "\n}\n";
}

RandomKernels::RandomKernels(int usual_count, std::uint32_t usual_seed) {
  const auto value_of = [](const char* name, std::uint32_t usual) {
    const char* const text = std::getenv(name);
    return text == nullptr ? usual : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
  };
  const std::uint32_t seed = value_of("LYNXPP_RANDOM_SEED", usual_seed);
  count = static_cast<int>(value_of("LYNXPP_RANDOM_KERNELS", static_cast<std::uint32_t>(usual_count)));
  random.seed(seed);
  has_usual = seed == usual_seed && count >= usual_count;
}

void CountedLaunch::native() {
  const auto module = device::cpu::load_module(ptx_, "k.ptx");
  ASSERT_TRUE(module.ok()) << render(module.error().diagnostics, ptx_);
  run(**module, {}, &counters_);
  native_output_ = output_;
}

std::vector<std::vector<std::uint64_t>> CountedLaunch::count(const std::string& specification, Form form) {
  engine::Request request;
  request.ptx = &ptx_;
  request.kernel = "k";
  request.specifications = {compiled(specification)};
  request.device_sm = form == Form::before_sm_80 ? 75 : 90;
  request.launch = shape_;
  request.counting.plain = form == Form::plain;
  request.counting.wide = form == Form::wide;
  request.inspection.verify = true;
  const auto variant = engine::instrument(request);
  if (!variant) {
    ADD_FAILURE() << render(variant.error().diagnostics, ptx_);
    return {};
  }
  variant_ = variant->ptx;
  if (most_summed_)
    variant_ =
        std::regex_replace(variant_, std::regex(", 134217727;"), ", " + std::to_string(*most_summed_) + ";");
  sites_ = variant->sites;
  if (variant->counting != nullptr) counting_ = variant->counting;
  LaunchExtents extents;
  extents.basic_blocks = variant->size.basic_blocks;
  extents.instructions = variant->size.instructions;
  std::vector<std::vector<std::uint64_t>> arrays;
  for (const GlobalArray& array : request.specifications[0]->arrays())
    arrays.emplace_back(element_count(array, extents));
  std::vector<std::uint64_t> slots(variant->counting == nullptr ? 0 : variant->counting->plan->slots());
  std::vector<std::uint64_t> words;
  for (const engine::ProbeWord& word : variant->probe) {
    words.push_back(word.kind == engine::ProbeWord::Kind::counters
                        ? reinterpret_cast<std::uint64_t>(slots.data())
                        : reinterpret_cast<std::uint64_t>(arrays[word.word.index].data()));
  }
  const auto module = device::cpu::load_module(variant_, "variant.ptx");
  if (!module) {
    ADD_FAILURE() << render(module.error().diagnostics, variant_);
    return {};
  }
  run(**module, words, nullptr);
  EXPECT_EQ(output_, native_output_) << "the variant computes a different result";
  EXPECT_EQ(variant->counting == nullptr, form == Form::plain);
  if (variant->counting != nullptr) {
    std::vector<std::span<std::byte>> views;
    views.reserve(arrays.size());
    for (auto& array : arrays) views.push_back(std::as_writable_bytes(std::span(array)));
    const std::uint64_t blocks = std::uint64_t{grid_.blocks[0]} * grid_.blocks[1] * grid_.blocks[2];
    engine::fill_counted_arrays(*variant->counting, request.specifications, slots,
                                {blocks * threads_, blocks * ((threads_ + 31) / 32)}, {&views, 1});
  }
  return arrays;
}

bool CountedLaunch::is_exact(Form form) {
  const auto counted = count(everything, form);
  if (counted.size() != 6) return false;  // already reported
  if (form == Form::before_sm_80 && ptx_.find(".target sm_75") != std::string::npos) {
    EXPECT_EQ(variant_.find("redux"), std::string::npos) << variant_;
  }
  order_counters();
  const auto& blocks = counters_.blocks;
  const auto& sites = counters_.sites;
  if (counted[0].size() != blocks.size() || counted[3].size() != sites.size()) {
    ADD_FAILURE() << "the device has different blocks";
    return false;
  }
  const auto agrees = [&](int array, std::size_t at, std::uint64_t expected, const std::string& what) {
    if (counted[array][at] == expected) return true;
    ADD_FAILURE() << what << ": " << counted[array][at] << "; the device has " << expected;
    return false;
  };
  bool agree = true;
  for (std::size_t i = 0; agree && i < blocks.size(); ++i) {
    const std::string block = " of block " + std::to_string(i);
    agree = agrees(0, i, blocks[i].thread_executions, "threads" + block) &&
            agrees(1, i, blocks[i].warp_executions, "warps" + block) &&
            agrees(2, i, blocks[i].thread_instructions, "instructions" + block);
  }
  for (std::size_t i = 0; agree && i < sites.size(); ++i) {
    const std::string site = " of instruction " + std::to_string(i) + ", " + sites[i].opcode;
    const bool is_branch = sites[i].traits.kind == ptx::OpcodeClass::branch;
    const std::uint64_t divergent = sites[i].opcode.starts_with("bra") ? sites[i].divergent : 0;
    agree = agrees(3, i, is_branch ? sites[i].active_lanes : sites[i].thread_executions, "threads" + site) &&
            agrees(4, i, is_branch ? sites[i].warp_issues : sites[i].executing_warps, "warps" + site) &&
            agrees(5, i, divergent, "divergences" + site);
  }
  return agree;
}

bool CountedLaunch::has_exact_sums(Form form) {
  std::vector<std::uint64_t> expected(6);
  for (const device::cpu::BlockCounters& block : counters_.blocks) {
    expected[0] += block.thread_instructions;
    expected[1] += block.warp_instructions;
  }
  for (const device::cpu::SiteCounters& site : counters_.sites) {
    if (site.traits.kind == ptx::OpcodeClass::branch) expected[2] += site.active_lanes;
    if (site.opcode == "add.u32") expected[3] += site.thread_executions;
    if (site.opcode == "add.u32") expected[4] += site.executing_warps;
    if (site.opcode.starts_with("bra")) expected[5] += site.divergent;
  }
  return has_exact(only_sums, expected, form);
}

bool CountedLaunch::has_exact_instructions(Form form) {
  std::vector<std::uint64_t> expected(2);
  for (const device::cpu::BlockCounters& block : counters_.blocks) {
    expected[0] += block.thread_instructions;
    expected[1] += block.warp_instructions;
  }
  return has_exact(only_instructions, expected, form);
}

bool CountedLaunch::has_exact(const char* specification, const std::vector<std::uint64_t>& expected,
                              Form form) {
  const auto counted = count(specification, form);
  if (counted.size() != 1 || counted[0] != expected) {
    ADD_FAILURE() << testing::PrintToString(counted) << " instead of " << testing::PrintToString(expected);
    return false;
  }
  return true;
}

/// The device may have the functions in another order, and does not know functions that no thread has called.
void CountedLaunch::order_counters() {
  const std::vector<std::string>& functions = sites_->functions;
  const auto place = [&](const auto& of_function) {
    return std::ranges::find(functions, of_function.function) - functions.begin();
  };
  std::ranges::stable_sort(counters_.blocks, {}, place);
  std::ranges::stable_sort(counters_.sites, {}, place);
  for (std::uint32_t function = 0; function < functions.size(); ++function) {
    const auto is_of_it = [&](const auto& counted) { return counted.function == functions[function]; };
    if (std::ranges::any_of(counters_.blocks, is_of_it)) continue;
    const auto is_after = [&](const auto& counted) { return place(counted) > std::ptrdiff_t{function}; };
    device::cpu::BlockCounters block;
    device::cpu::SiteCounters site;
    block.function = site.function = functions[function];
    std::size_t blocks = 0, instructions = 0;
    for (const SiteTable::Block& each : sites_->blocks) {
      if (each.function != function) continue;
      ++blocks;
      instructions += each.instructions;
    }
    counters_.blocks.insert(std::ranges::find_if(counters_.blocks, is_after), blocks, block);
    counters_.sites.insert(std::ranges::find_if(counters_.sites, is_after), instructions, site);
  }
}

void CountedLaunch::run(device::cpu::LoadedModule& module, const std::vector<std::uint64_t>& words,
                        device::cpu::LaunchCounters* counters) {
  const auto& [blocks, threads] = grid_;
  output_.assign(std::size_t{blocks[0]} * blocks[1] * blocks[2] * threads_, 0);
  const std::uint32_t* data = output_.data();
  const std::size_t own_bytes = parameter_ ? 16 : 8;  // with padding up to the hidden parameter
  std::vector<std::byte> parameters(own_bytes + 8 * words.size());
  std::memcpy(parameters.data(), &data, 8);
  if (parameter_) std::memcpy(parameters.data() + 8, &*parameter_, 4);
  if (!words.empty()) std::memcpy(parameters.data() + own_bytes, words.data(), 8 * words.size());
  const Status status = module.launch(
      "k", {{blocks[0], blocks[1], blocks[2]}, {threads[0], threads[1], threads[2]}}, parameters, counters);
  EXPECT_TRUE(status.ok()) << render(status.error().diagnostics);
}

}  // namespace lynxpp::cod
