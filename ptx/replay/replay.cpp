#include "ptx/replay/replay.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "ptx/replay/arithmetic.h"
#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::int64_t lanes = 32;

/// Threads with the same history, at one operation.
struct Group {
  ThreadBox box;
  std::uint32_t block = 0;
  std::uint32_t at = 0;
  struct Register {
    ThreadForm form;
    bool is_known = false;
  };
  std::vector<Register> registers;
};

class Replayer {
 public:
  Replayer(const ReplayProgram& program, const ReplayLaunch& launch,
           const std::function<void(const ReplayedAccess&)>& visit)
      : program_(program), launch_(launch), visit_(visit) {}

  Status run(const ReplayLimits& limits) {
    Group all;
    for (std::size_t i = 0; i < 3; ++i) {
      all.box.last[i] = launch_.block[i] - 1;
      all.box.last[3 + i] = launch_.grid[i] - 1;
    }
    if (program_.splits_bits) {
      const auto bits = static_cast<std::size_t>(std::countr_zero(launch_.block[0]));
      const std::size_t split = std::min(bits, most_thread_bits);
      tid_x_ = thread_index_in_bits(split);
      all.box.last[0] = (launch_.block[0] >> split) - 1;
      for (std::size_t i = 0; i < split; ++i) all.box.last[first_bit_dimension + i] = 1;
    }
    all.registers.resize(program_.registers);
    if (!program_.blocks.empty()) {
      all.block = program_.entry;
      all.at = program_.blocks[program_.entry].begin;
      groups_.push_back(std::move(all));
    }
    while (!groups_.empty()) {
      group_ = std::move(groups_.back());
      groups_.pop_back();
      while (step()) {
        if (++steps_ > limits.operations) {
          return failure("replaying the launch takes more than " + std::to_string(limits.operations) +
                         " operations");
        }
      }
      if (problem_ != nullptr) return failure(problem_);
    }
    return success();
  }

 private:
  // Each of these returns true if the group continues.

  bool step() {
    const ReplayBlock& block = program_.blocks[group_.block];
    if (group_.at == block.end) return go_to(block.fall_through);
    const ReplayOperation& operation = program_.operations[group_.at];
    const bool leaves = operation.kind == ReplayKind::branch || operation.kind == ReplayKind::exit;
    bool is_executed = true;
    if (operation.guard != no_register) {
      const Group::Register& guard = group_.registers[operation.guard];
      if (!guard.is_known && leaves) return skip_over();
      if (!guard.is_known && operation.kind != ReplayKind::access) return forget(operation);
      if (!guard.is_known) return fail_if_predictable();
      is_executed = (guard.form.constant != 0) != operation.guard_negated;
    }
    if (!is_executed) return next();
    switch (operation.kind) {
      case ReplayKind::branch: return block.target == no_block ? skip_over() : go_to(block.target);
      case ReplayKind::exit: return false;
      case ReplayKind::call: return block.is_skipped_over ? skip_over() : forget(operation);
      case ReplayKind::access: return visit(operation);
      case ReplayKind::load_parameter: return load(operation);
      default: return compute(operation);
    }
  }

  bool next() {
    ++group_.at;
    return true;
  }

  bool go_to(std::uint32_t block) {
    if (block == no_block) return false;
    group_.block = block;
    group_.at = program_.blocks[block].begin;
    return true;
  }

  bool skip_over() {
    const ReplayBlock& block = program_.blocks[group_.block];
    if (!block.is_skipped_over) return fail("a branch depends on a value that replay cannot compute");
    for (const RegisterId each : block.written) group_.registers[each].is_known = false;
    return go_to(block.post_dominator);
  }

  bool forget(const ReplayOperation& operation) {
    for (const RegisterId each : operation.destinations) group_.registers[each].is_known = false;
    return next();
  }

  bool fail(const char* why) {
    problem_ = why;
    return false;
  }

  bool fail_if_predictable() {
    return program_.is_predictable[group_.at]
               ? fail("an access depends on a value that replay cannot compute")
               : next();
  }

  bool cut(Cut at) {
    const std::array<ThreadBox, 2> parts = divide(group_.box, at);
    groups_.push_back(group_);
    groups_.back().box = parts[1];
    group_.box = parts[0];
    return true;
  }

  ReplayedNumber read(const ReplayOperand& operand) const {
    using Kind = ReplayOperand::Kind;
    const auto dimension = [&](std::uint32_t first) {
      return ReplayedNumber::of(thread_index(static_cast<ThreadDimension>(first + operand.index)));
    };
    switch (operand.kind) {
      case Kind::constant: return ReplayedNumber::of(number(operand.number));
      case Kind::tid: return operand.index == 0 ? ReplayedNumber::of(tid_x_) : dimension(0);
      case Kind::ctaid: return dimension(3);
      case Kind::ntid: return ReplayedNumber::of(number(launch_.block[operand.index]));
      case Kind::nctaid: return ReplayedNumber::of(number(launch_.grid[operand.index]));
      case Kind::lane: return lane();
      case Kind::reg: {
        const Group::Register& reg = group_.registers[operand.index];
        return reg.is_known ? ReplayedNumber::of(reg.form) : ReplayedNumber{};
      }
      case Kind::variable: {
        const std::optional<std::uint64_t>& address = launch_.variables[operand.index];
        if (!address) return {};
        return ReplayedNumber::of(number(static_cast<std::int64_t>(*address) + operand.number));
      }
      case Kind::none: break;
    }
    return ReplayedNumber::of(number(0));
  }

  ReplayedNumber lane() const {
    ThreadForm index = tid_x_;
    index.coefficients[1] = launch_.block[0];
    index.coefficients[2] = std::int64_t{launch_.block[0]} * launch_.block[1];
    const Answer<Division> parts = divide(index, lanes, group_.box);
    return parts.value ? ReplayedNumber::of(parts.value->remainder) : ReplayedNumber::after(parts.cut);
  }

  bool compute(const ReplayOperation& operation) {
    if (operation.kind == ReplayKind::unknown) return forget(operation);
    std::array<ThreadForm, 3> sources;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const ReplayedNumber source = read(operation.source[i]);
      if (source.kind == ReplayedNumber::Kind::cut) return cut(source.cut);
      if (!source.is_known()) return forget(operation);
      sources[i] = source.form;
    }
    const ReplayedNumber result = evaluate(operation, sources, group_.box);
    if (result.kind == ReplayedNumber::Kind::cut) return cut(result.cut);
    if (!result.is_known()) return forget(operation);
    if (operation.destinations.size() == 2) {
      ReplayOperation opposite = operation;
      opposite.comparison = opposite_of(operation.comparison);
      const ReplayedNumber second = evaluate(opposite, sources, group_.box);
      if (second.kind == ReplayedNumber::Kind::cut) return cut(second.cut);
      group_.registers[operation.destinations[1]] = {second.form, second.is_known()};
    }
    group_.registers[operation.destinations[0]] = {result.form, true};
    return next();
  }

  bool load(const ReplayOperation& operation) {
    if (operation.destinations.empty()) return next();
    const auto offset = static_cast<std::uint64_t>(operation.source[0].number);
    if (offset > launch_.parameters.size() || launch_.parameters.size() - offset < operation.bytes)
      return forget(operation);
    std::uint64_t bits = 0;
    std::memcpy(&bits, launch_.parameters.data() + offset, operation.bytes);
    const unsigned unused = 64 - operation.bits;
    const auto high = static_cast<std::int64_t>(bits << unused);
    const std::int64_t value = operation.is_signed ? high >> unused : static_cast<std::int64_t>(bits);
    group_.registers[operation.destinations[0]] = {number(value), true};
    return next();
  }

  bool visit(const ReplayOperation& operation) {
    if (!program_.is_predictable[group_.at]) return next();
    std::uint32_t bytes = operation.bytes;
    if (operation.source[2].kind != ReplayOperand::Kind::none) {
      const ReplayedNumber read_size = read(operation.source[2]);
      if (!read_size.is_known()) return fail_if_predictable();
      const ThreadForm size = simplify(read_size.form, group_.box);
      if (!size.is_constant()) return cut(cut_towards_constant(size, group_.box));
      const auto number = static_cast<std::uint32_t>(size.constant);
      if (operation.lane_size == LaneSize::bytes) bytes = std::min(bytes, number);
      const bool takes_part = operation.lane_size == LaneSize::bytes ? bytes != 0 : number == 0;
      if (!takes_part) return next();
    }
    const ReplayedNumber base = read(operation.source[0]);
    if (!base.is_known()) return fail_if_predictable();
    const std::optional<ThreadForm> sum = add(base.form, number(operation.source[1].number));
    if (!sum) return fail_if_predictable();
    // Addresses in 32-bit registers wrap around.
    const ReplayedNumber address = read_number(*sum, operation.bits, operation.bits == 64, group_.box);
    if (address.kind == ReplayedNumber::Kind::cut) return cut(address.cut);
    if (!address.is_known()) return fail_if_predictable();
    visit_({operation.function, operation.instruction, operation.side, bytes, address.form, group_.box,
            operation.is_shared});
    return next();
  }

  const ReplayProgram& program_;
  const ReplayLaunch& launch_;
  const std::function<void(const ReplayedAccess&)>& visit_;
  std::vector<Group> groups_;
  Group group_;
  ThreadForm tid_x_ = thread_index(ThreadDimension::tid_x);
  std::uint64_t steps_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace

bool loads_equal_parameters(const ReplayProgram& program, std::span<const std::byte> left,
                            std::span<const std::byte> right) {
  LYNXPP_CHECK(left.size() == right.size(), "the buffers are of different kernels");
  return std::ranges::all_of(program.operations, [&](const ReplayOperation& operation) {
    if (operation.kind != ReplayKind::load_parameter) return true;
    const auto offset = std::min(static_cast<std::size_t>(operation.source[0].number), left.size());
    const std::size_t bytes = std::min<std::size_t>(operation.bytes, left.size() - offset);
    return std::ranges::equal(left.subspan(offset, bytes), right.subspan(offset, bytes));
  });
}

Status replay(const ReplayProgram& program, const ReplayLaunch& launch,
              const std::function<void(const ReplayedAccess&)>& visit, const ReplayLimits& limits) {
  return Replayer(program, launch, visit).run(limits);
}

}  // namespace lynxpp::ptx
