#include "ptx/replay/possible_bits.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ptx/replay/thread_box.h"

namespace lynxpp::ptx {
namespace {

using Kind = ReplayOperand::Kind;

constexpr std::uint64_t of_other_thread_index = bits_below(most_thread_bits);
constexpr std::uint64_t of_block_index = bits_below(31);
constexpr std::uint64_t of_lane = bits_below(5);

constexpr PossibleBits unknown{~std::uint64_t{0}, false};
/// A register gains at least one bit per round; loops in long chains may take more rounds than this.
constexpr int most_rounds = 300;

unsigned width_of(std::uint64_t bits) { return static_cast<unsigned>(std::bit_width(bits)); }

/// Returns the bits of a sum whose terms have these bits.
PossibleBits sum_of(const PossibleBits& left, const PossibleBits& right) {
  const std::uint64_t both = left.possible | right.possible;
  if ((left.possible & right.possible) == 0) return {both, left.are_apart && right.are_apart};
  const auto low = static_cast<unsigned>(std::countr_zero(both));
  return {bits_below(width_of(both) + 1) & ~bits_below(low), false};
}

PossibleBits product_of(const PossibleBits& left, const PossibleBits& right) {
  if (left.possible == 0 || right.possible == 0) return {};
  const auto low = static_cast<unsigned>(std::countr_zero(left.possible) + std::countr_zero(right.possible));
  // A power of two only moves the bits.
  for (const auto& [factor, other] : {std::pair(&left, &right), std::pair(&right, &left)}) {
    if (std::has_single_bit(factor->possible) && factor->are_apart)
      return {other->possible << std::countr_zero(factor->possible), other->are_apart};
  }
  return {bits_below(width_of(left.possible) + width_of(right.possible)) & ~bits_below(low), false};
}

/// Returns the bits of a number of `width` bits that is extended to 64.
PossibleBits extended(PossibleBits bits, unsigned width, bool is_signed) {
  const bool may_be_negative = is_signed && (bits.possible >> (width - 1) & 1) != 0;
  return may_be_negative ? PossibleBits{bits.possible | ~bits_below(width), false} : bits;
}

}  // namespace

/// Returns the bits of the operation's result before they are cut to its width.
PossibleBits PossibleBitsOfRegisters::result_of(const ReplayOperation& operation) const {
  const auto source = [&](std::size_t i) { return of(operation.source[i], operation.bits); };
  const ReplayOperand& second = operation.source[1];
  const auto amount = second.kind == Kind::constant ? static_cast<std::uint32_t>(second.number) : 64;
  switch (operation.kind) {
    case ReplayKind::move: return source(0);
    case ReplayKind::convert: return extended(source(0), operation.bits, operation.is_signed);
    case ReplayKind::select: {
      const PossibleBits first = source(0), other = source(1);
      return {first.possible | other.possible, first.are_apart && other.are_apart};
    }
    case ReplayKind::add: return sum_of(source(0), source(1));
    case ReplayKind::multiply: {
      const bool has_sum = operation.source[2].kind != Kind::none;
      const PossibleBits added = has_sum ? of(operation.source[2], operation.result_bits) : PossibleBits{};
      const auto factor = [&](std::size_t i) {
        return extended(source(i), operation.bits, operation.is_signed);
      };
      return sum_of(product_of(factor(0), factor(1)), added);
    }
    case ReplayKind::shift_left:
      return amount < 64 ? PossibleBits{source(0).possible << amount, source(0).are_apart} : unknown;
    case ReplayKind::shift_right: {
      const PossibleBits from = extended(source(0), operation.bits, operation.is_signed);
      // The sign alone is 0 or -1: copies of one bit of the source.
      if (operation.is_signed && amount == operation.bits - 1u)
        return {bits_below(operation.bits), source(0).are_apart};
      return amount < 64 ? PossibleBits{from.possible >> amount, from.are_apart} : unknown;
    }
    case ReplayKind::bit_and: {
      const PossibleBits left = source(0), right = source(1);
      return {left.possible & right.possible, left.are_apart && right.are_apart};
    }
    case ReplayKind::bit_or:
    case ReplayKind::bit_xor: {
      const PossibleBits left = source(0), right = source(1);
      return {left.possible | right.possible, left.are_apart && right.are_apart};
    }
    case ReplayKind::compare: return {1, true};
    default: return unknown;
  }
}

PossibleBits PossibleBitsOfRegisters::of(const ReplayOperand& operand, unsigned width) const {
  PossibleBits bits = unknown;
  switch (operand.kind) {
    case Kind::reg: bits = registers_[operand.index]; break;
    case Kind::constant: bits = {static_cast<std::uint64_t>(operand.number), true}; break;
    case Kind::tid:
      bits = {operand.index == 0 ? of_thread_index_ : of_other_thread_index, operand.index == 0};
      break;
    case Kind::ctaid: bits = {of_block_index, false}; break;
    case Kind::lane: bits = {of_lane, false}; break;
    case Kind::none:
    case Kind::variable:
    case Kind::ntid:
    case Kind::nctaid: break;
  }
  bits.possible &= bits_below(width);
  return bits;
}

PossibleBitsOfRegisters::PossibleBitsOfRegisters(const ReplayProgram& program, std::uint32_t threads)
    : of_thread_index_(bits_below(width_of(std::max(threads, 1u) - 1))), registers_(program.registers) {
  int rounds = 0;
  for (bool changed = true; changed;) {
    if (++rounds > most_rounds) {
      registers_.assign(program.registers, unknown);
      return;
    }
    changed = false;
    for (const ReplayOperation& operation : program.operations) {
      if (operation.kind == ReplayKind::access) continue;
      PossibleBits result = result_of(operation);
      if (result.possible != unknown.possible) result.possible &= bits_below(operation.result_bits);
      for (const RegisterId each : operation.destinations) {
        PossibleBits& known = registers_[each];
        const PossibleBits joined{known.possible | result.possible, known.are_apart && result.are_apart};
        changed |= joined.possible != known.possible || joined.are_apart != known.are_apart;
        known = joined;
      }
    }
  }
}

}  // namespace lynxpp::ptx
