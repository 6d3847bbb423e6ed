#include "device/cpu/simt/execute/counters/clock.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string_view>

#include "device/cpu/simt/compile/program.h"
#include "device/cpu/simt/execute/counters/counters.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "models/cumapz/transactions.h"

namespace lynxpp::device::cpu {
namespace {

using models::clock::Operation;
using models::clock::Step;

/// Granularity at which host addresses are mapped to modelled ones: the alignment of cudaMalloc.
constexpr std::uint64_t hashed_alignment = 512;

Operation operation_of(const ptx::Instruction& instruction) {
  using enum ptx::Op;
  const ptx::OpcodeTraits& traits = instruction.traits;
  if (traits.kind == ptx::OpcodeClass::arithmetic && traits.type == ptx::DataType::f64)
    return Operation::wide;
  constexpr ptx::Op special[] = {sqrt, rcp, rsqrt, ex2, lg2, sin, cos, tanh, div, rem};
  return std::ranges::find(special, traits.op) != std::end(special) ? Operation::special : Operation::simple;
}

void collect_names(const ptx::Operand& operand, std::vector<std::string_view>& names) {
  if (operand.kind == ptx::OperandKind::identifier) names.push_back(operand.name);
  for (const ptx::Operand& element : operand.elements) collect_names(element, names);
}

bool names_one_of(const ptx::Instruction& instruction, const std::vector<std::string_view>& registers) {
  std::vector<std::string_view> names{instruction.guard.predicate};
  for (const ptx::Operand& operand : instruction.operands) collect_names(operand, names);
  return std::ranges::any_of(
      names, [&](std::string_view name) { return std::ranges::find(registers, name) != registers.end(); });
}

bool reads(const ptx::Instruction& instruction) {
  return instruction.traits.reads_memory && instruction.traits.destinations != 0;
}

}  // namespace

// ---------------------------------------------------------------- addresses

ModelledAddresses::ModelledAddresses(const models::Machine& machine)
    : alignment_(machine.global.channel_width == 0
                     ? hashed_alignment
                     : std::uint64_t{machine.global.channels} * machine.global.channel_width) {}

std::uint64_t ModelledAddresses::of(const GlobalMemory& memory, std::uint64_t address) {
  if (memory.removals() != removals_) {
    removals_ = memory.removals();
    last_ = {};
  }
  if (!last_.holds(address, 1)) {
    last_ = memory.around(address);
    if (last_.bytes == 0) return address;  // the access will fail
    ModelledRange& range = ranges_[last_.begin];
    if (range.bytes != last_.bytes) {
      range = {last_.bytes, next_};
      next_ += (last_.bytes / alignment_ + 1) * alignment_;
    }
    last_begin_ = range.begin;
  }
  return last_begin_ + (address - last_.begin);
}

// ---------------------------------------------------------------- steps

StepTable::StepTable(const Program& program, const models::ArithmeticTiming& timing)
    : instructions_(program.site_count + 1) {
  std::uint64_t busy = 0;
  for (const CompiledFunction& function : program.functions) {
    const auto& body = function.function->body->instructions;
    for (const ptx::BasicBlock& block : function.graph.blocks) {
      for (std::uint32_t i = block.begin; i < block.end; ++i) {
        Instruction& entry = instructions_[function.site_base + i];
        entry.busy_before = busy;
        busy += busy_cycles(timing, operation_of(body[i]));
        if (!reads(body[i])) continue;
        std::vector<std::string_view> registers;
        for (std::size_t operand = 0;
             operand < body[i].traits.destinations && operand < body[i].operands.size(); ++operand)
          collect_names(body[i].operands[operand], registers);
        entry.first_use = i + 1;
        while (entry.first_use < block.end && !names_one_of(body[entry.first_use], registers))
          ++entry.first_use;
      }
    }
  }
  instructions_.back().busy_before = busy;
}

void StepRecorder::begin_segment(const CompiledFunction& function, const Segment& segment) {
  site_base_ = function.site_base;
  at_ = segment.begin;
  read_ = 0;
}

void StepRecorder::end_segment(const Segment& segment) {
  go_to(segment.end);
  if (!outstanding_.empty()) steps_->push_back({.kind = Step::Kind::wait});
  outstanding_.clear();
}

/// Records instructions without timed memory accesses up to `instruction`.
void StepRecorder::arithmetic_until(std::uint32_t instruction) {
  if (instruction <= at_) return;
  const std::uint64_t busy =
      table_->of(site_base_ + instruction).busy_before - table_->of(site_base_ + at_).busy_before;
  steps_->push_back({.kind = Step::Kind::arithmetic, .count = instruction - at_, .value = busy});
  at_ = instruction;
}

/// Records everything before `instruction`, with waits for reads whose results are used there.
void StepRecorder::go_to(std::uint32_t instruction) {
  for (;;) {
    const auto first = std::ranges::min_element(outstanding_, {}, &Read::first_use);
    if (first == outstanding_.end() || first->first_use > instruction) break;
    const Read read = *first;
    arithmetic_until(read.first_use);
    steps_->push_back({.kind = Step::Kind::wait, .count = read_ - 1 - read.number});
    std::erase_if(outstanding_, [&](const Read& each) { return each.number <= read.number; });
  }
  arithmetic_until(instruction);
}

void StepRecorder::note_read(std::uint32_t instruction, bool reads) {
  at_ = instruction + 1;
  if (!reads) return;
  outstanding_.push_back({table_->of(site_base_ + instruction).first_use, read_});
  ++read_;
}

void StepRecorder::global(std::uint32_t site, const std::uint64_t* addresses, std::uint32_t mask,
                          std::uint32_t bytes, Step::Access access, bool reads) {
  if (mask == 0) return;
  const std::uint32_t instruction = site - site_base_;
  go_to(instruction);
  const models::Machine& machine = clock_->device.machine();
  const std::size_t begin = steps_->size();
  steps_->push_back({.kind = Step::Kind::access,
                     .access = access,
                     .reads = reads,
                     .value = std::uint64_t{bytes} * static_cast<std::uint32_t>(std::popcount(mask))});
  const std::uint32_t group_lanes = machine.access_group;
  for (std::uint32_t first = 0; first < warp_size; first += group_lanes) {
    const std::uint32_t group = mask & (group_lanes == warp_size ? ~0u : ((1u << group_lanes) - 1) << first);
    std::array<std::int64_t, warp_size> of_lanes;
    std::size_t lanes = 0;
    for_each_lane(group, [&](std::uint32_t lane) {
      of_lanes[lanes++] = static_cast<std::int64_t>(clock_->addresses.of(*memory_, addresses[lane]));
    });
    const std::span<const std::int64_t> accessed(of_lanes.data(), lanes);
    for (const auto& each : models::cumapz::transactions(machine.global, accessed, bytes)) {
      const auto in_it = std::ranges::count_if(accessed, [&](std::int64_t address) {
        return address - each.address < each.bytes && address >= each.address;
      });
      steps_->push_back({.kind = Step::Kind::transaction,
                         .lanes = static_cast<std::uint8_t>(std::max<std::ptrdiff_t>(in_it, 1)),
                         .count = each.bytes,
                         .value = static_cast<std::uint64_t>(each.address)});
    }
  }
  (*steps_)[begin].count = static_cast<std::uint32_t>(steps_->size() - begin - 1);
  note_read(instruction, reads);
}

void StepRecorder::shared(std::uint32_t site, const std::uint64_t* offsets, std::uint32_t mask,
                          std::uint32_t bytes, Step::Access access, bool reads) {
  if (mask == 0) return;
  const std::uint32_t instruction = site - site_base_;
  go_to(instruction);
  const models::Machine& machine = clock_->device.machine();
  std::uint32_t turns = 0;
  for (std::uint32_t first = 0; first < warp_size; first += machine.access_group) {
    std::vector<std::int64_t> of_lanes;
    for (std::uint32_t lane = first; lane < first + machine.access_group; ++lane) {
      if ((mask >> lane & 1) != 0) of_lanes.push_back(static_cast<std::int64_t>(offsets[lane]));
    }
    if (!of_lanes.empty()) turns += models::cumapz::serialised(machine.shared, of_lanes, bytes);
  }
  steps_->push_back({.kind = Step::Kind::shared, .access = access, .reads = reads, .count = turns});
  note_read(instruction, reads);
}

void StepRecorder::barrier(std::uint32_t id, std::uint32_t warps, bool waits) {
  steps_->push_back({.kind = waits ? Step::Kind::barrier : Step::Kind::arrive, .count = id, .value = warps});
}

void record_access(WarpContext* warp, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t site,
                   std::uint32_t bytes, std::uint32_t space, std::uint32_t kind) {
  const bool has_result = (kind & reads_flag) != 0;
  const auto access_kind = static_cast<AccessKind>(kind & ~reads_flag);
  const Step::Access access = access_kind == AccessKind::load    ? Step::Access::load
                              : access_kind == AccessKind::store ? Step::Access::store
                                                                 : Step::Access::atomic;
  const SpacesOfLanes lanes = spaces_of(*warp, addresses, mask, static_cast<AccessSpace>(space));
  warp->recorder->global(site, addresses, lanes.global, bytes, access, has_result);
  warp->recorder->shared(site, lanes.offsets.data(), lanes.shared, bytes, access, has_result);
}

std::uint64_t read_modelled_clock(const WarpContext* warp) { return warp->modelled_cycles; }
std::uint64_t read_modelled_timer(const WarpContext* warp) { return warp->modelled_ns; }

}  // namespace lynxpp::device::cpu
