#include "ptx/passes/counting/emit/flush.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "ptx/passes/facts.h"

namespace lynxpp::ptx {
namespace {

using Storage = Counter::Storage;
using Line = std::span<const Counter* const>;

constexpr std::uint32_t warp_lanes = 32;
constexpr std::uint32_t byte_bits = 8;
constexpr std::uint32_t summed_bits = 4;  ///< bits that one reduction sums, each in a byte
/// Spreads four bits to the four bytes of a word, along with other bits that are masked out.
constexpr std::uint32_t spread = 0x00204081;
constexpr std::uint32_t one_of_each_byte = 0x01010101;
/// The largest value whose sum over 32 lanes fits in 32 bits.
constexpr std::uint32_t most_summed = 0xffffffff / warp_lanes;
constexpr std::uint32_t any_of_three = 0xfe;  ///< the lop3 lookup table

/// Flushes the registers and bits of one function.
class Flush {
 public:
  Flush(CodeBuilder& code, const CountContext& context) : code_(code), context_(context) {
    for (const Counter& counter : context.counters.counters) {
      if (counter.storage != Storage::memory) counters_.push_back(&counter);
    }
  }

  void append(const std::optional<CodePredicate>& guard) {
    if (counters_.empty()) return;
    const Label done = code_.fresh_label();
    if (guard) code_.branch_if(!*guard, done);
    mask_ = code_.active_mask();
    exit_unless_any(done);
    slots_ = slots_of_warp(code_, context_);
    if (context_.plan.sums_lanes) {
      add_large_values();
      add_together();
    } else {
      add_by_lane();
    }
    code_.place(done);
  }

 private:
  // ---- skip warps without counts

  void exit_unless_any(Label done) {
    std::set<VirtualRegister> numbers, words;
    for (const Counter* counter : counters_) {
      if (counter->storage == Storage::reg) numbers.insert(context_.number(counter->index));
      if (counter->storage == Storage::bit) words.insert(context_.bits_of(*counter));
    }
    std::vector<VirtualRegister> all(words.begin(), words.end());
    if (!numbers.empty()) {
      any_number_ = any_bit_of({numbers.begin(), numbers.end()});
      all.insert(all.begin(), *any_number_);
    }
    const char* const is_set = context_.plan.is_wide ? "setp.ne.u64" : "setp.ne.u32";
    const VirtualRegister is_any = code_.pred(is_set, {any_bit_of(all), 0});
    const VirtualRegister votes = code_.pred("vote.sync.any.pred", {is_any, mask_});
    code_.branch_if(!CodePredicate(votes), done);
  }

  /// Returns the bitwise or of registers of one type.
  VirtualRegister any_bit_of(const std::vector<VirtualRegister>& registers) {
    VirtualRegister all = registers.front();
    for (std::size_t i = 1; i < registers.size(); ++i) {
      if (all.type == RegisterType::b64) {
        all = code_.b64("or.b64", {all, registers[i]});
      } else if (i + 1 == registers.size()) {
        all = code_.b32("or.b32", {all, registers[i]});
      } else {
        all = code_.b32("lop3.b32", {all, registers[i], registers[i + 1], any_of_three});
        ++i;
      }
    }
    return all;
  }

  // ---- each lane separately

  /// If sums may overflow, each lane adds its registers by itself, so that none is left to sum.
  void add_large_values() {
    if (!any_number_) return;
    const Label small = code_.fresh_label();
    const VirtualRegister is_large = code_.pred("setp.gt.u32", {*any_number_, most_summed});
    const VirtualRegister votes = code_.pred("vote.sync.any.pred", {is_large, mask_});
    code_.branch_if(!CodePredicate(votes), small);
    for (const VirtualRegister number : add_by_lane()) code_.mov(number, 0);
    code_.place(small);
  }

  /// Adds each lane's registers. Returns the added registers.
  std::set<VirtualRegister> add_by_lane() {
    std::set<VirtualRegister> added;
    std::optional<CodePredicate> is_lane_0;
    for (const Counter* counter : counters_) {
      if (counter->storage != Storage::reg) continue;
      const bool is_converged = counter->kind == CounterKind::converged;
      if (is_converged && !is_lane_0) is_lane_0 = code_.pred("setp.eq.u32", {code_.special("%laneid"), 0});
      const VirtualRegister number = *added.insert(context_.number(counter->index)).first;
      append_flush_by_lane(code_, number, at_slot(*slots_, counter->slot),
                           is_converged ? is_lane_0 : std::nullopt);
    }
    return added;
  }

  // ---- lanes cooperatively

  /// Counters of a line that follow each other and are combined in one register, a field for each.
  struct Run {
    std::uint32_t first = 0;  ///< position in the line
    std::uint32_t count = 1;
    std::uint32_t width = word_bits;  ///< bits of a field
    std::uint32_t first_bit = 0;      ///< the position of the first field
    VirtualRegister value;
  };

  /// Each lane adds one counter in each round.
  void add_together() {
    const VirtualRegister rank = code_.b32("popc.b32", {code_.lanes_below(mask_)});
    lanes_ = code_.b32("popc.b32", {mask_});
    for (std::size_t first = 0; first < counters_.size(); first += warp_lanes)
      add_line(Line(counters_).subspan(first, std::min<std::size_t>(warp_lanes, counters_.size() - first)),
               rank);
  }

  void add_line(Line line, VirtualRegister rank) {
    std::vector<Run> runs;
    for (std::uint32_t first = 0; first < line.size(); first += runs.back().count)
      runs.push_back(combine(line, first));
    // If fewer than 32 lanes flush together, they take turns.
    const bool has_turns = line.size() != 1;
    const VirtualRegister turn = has_turns ? code_.b32("mov.b32", {rank}) : rank;
    const std::optional<Label> again = has_turns ? std::optional(code_.fresh_label()) : std::nullopt;
    if (again) code_.place(*again);
    const VirtualRegister amount = select(runs, turn);
    const VirtualRegister has_some = code_.pred("setp.lt.u32", {turn, line.size()});
    code_.emit("setp.ne.and.b32", {has_some, amount, 0, has_some});
    const VirtualRegister wide = code_.b64("cvt.u64.u32", {amount});
    const VirtualRegister slot = code_.b64("mad.wide.u32", {turn, 8, *slots_});
    code_.emit_if(CodePredicate(has_some), "red.global.add.u64", {at_slot(slot, line.front()->slot), wide});
    if (!again) return;
    code_.emit("add.u32", {turn, turn, lanes_});
    code_.branch_if(CodePredicate(code_.pred("setp.lt.u32", {turn, line.size()})), *again);
  }

  /// Combines the values of the warp's lanes, for a run of counters that starts at `first`.
  Run combine(Line line, std::uint32_t first) {
    const Counter& counter = *line[first];
    if (counter.storage == Storage::reg)
      return {.first = first, .value = combined(counter.kind, context_.number(counter.index))};
    const VirtualRegister word = context_.bits_of(counter);
    const std::uint32_t bit = counter.index % word_bits;
    const std::uint32_t count = run_length(line.subspan(first));
    if (counter.kind == CounterKind::converged) return {first, count, 1, bit, of_lane_0(word)};
    const VirtualRegister bits = code_.b32("bfe.u32", {word, bit, count});
    if (count == 1) return {.first = first, .value = sum_of(bits)};
    const VirtualRegister bytes = code_.b32("mul.lo.u32", {bits, spread});
    return {first, count, byte_bits, 0, sum_of(code_.b32("and.b32", {bytes, one_of_each_byte}))};
  }

  /// Returns the number of leading counters whose bits follow each other in one word and are combined by one
  /// operation.
  static std::uint32_t run_length(Line line) {
    const auto key_of = [](const Counter& counter) {
      return std::pair(counter.index / word_bits, counter.kind == CounterKind::converged);
    };
    const Counter& first = *line.front();
    const std::size_t most = first.kind == CounterKind::converged ? word_bits : summed_bits;
    std::uint32_t length = 1;
    while (length < std::min(most, line.size()) && key_of(*line[length]) == key_of(first)) ++length;
    return length;
  }

  VirtualRegister sum_of(VirtualRegister value) { return code_.b32("redux.sync.add.u32", {value, mask_}); }

  VirtualRegister combined(CounterKind kind, VirtualRegister value) {
    return kind == CounterKind::converged ? of_lane_0(value) : sum_of(value);
  }

  /// Returns a value that is equal in all lanes; 0 if lane 0 exits elsewhere.
  VirtualRegister of_lane_0(VirtualRegister value) {
    if (!lane_0_) lane_0_ = code_.b32("and.b32", {mask_, 1});
    return code_.b32("mul.lo.u32", {value, *lane_0_});
  }

  /// Returns the amount of the counter at position `turn`; unspecified if it has no counter.
  VirtualRegister select(const std::vector<Run>& runs, VirtualRegister turn) {
    const auto is_packed = [](const Run& run) { return run.width != word_bits; };
    const auto packed = std::ranges::find_if(runs, is_packed);
    const std::optional<VirtualRegister> number = select_number({runs.begin(), packed}, turn);
    if (number && packed == runs.end()) return *number;
    const VirtualRegister amount = code_.fresh(RegisterType::b32);
    if (number) code_.mov(amount, *number);
    for (const Run& run : std::ranges::subrange(packed, runs.end())) select_field(run, turn, amount);
    return amount;
  }

  /// Selects by one bit of `turn` after the other. Returns nullopt without values.
  std::optional<VirtualRegister> select_number(const std::vector<Run>& runs, VirtualRegister turn) {
    std::vector<VirtualRegister> left;
    for (const Run& run : runs) left.push_back(run.value);
    if (left.empty()) return std::nullopt;
    for (std::uint32_t bit = 1; left.size() > 1; bit *= 2) {
      const VirtualRegister is_odd = code_.pred("setp.ne.u32", {code_.b32("and.b32", {turn, bit}), 0});
      for (std::size_t i = 0; i + 1 < left.size(); i += 2)
        left[i / 2] = code_.b32("selp.b32", {left[i + 1], left[i], is_odd});
      if (left.size() % 2 != 0) left[left.size() / 2] = left.back();
      left.resize((left.size() + 1) / 2);
    }
    return left.front();
  }

  /// Sets the amount for lanes at or after the run's first counter; later runs overwrite it for later lanes.
  /// ptxas 13.0 miscompiles `bfe` with the position in a register (docs/design/splicing.md).
  void select_field(const Run& run, VirtualRegister turn, VirtualRegister amount) {
    std::optional<CodePredicate> is_here;
    if (run.first != 0) is_here = code_.pred("setp.ge.u32", {turn, run.first});
    if (run.width == word_bits) return code_.mov_if(is_here, amount, run.value);
    const std::int64_t offset = std::int64_t{run.first_bit} - std::int64_t{run.first} * run.width;
    const bool is_turn = run.width == 1 && offset == 0;
    const VirtualRegister shift = is_turn ? turn : code_.b32("mad.lo.s32", {turn, run.width, offset});
    const VirtualRegister field = code_.b32("shr.u32", {run.value, shift});
    code_.emit_if(is_here, "and.b32", {amount, field, (1u << run.width) - 1});
  }

  CodeBuilder& code_;
  const CountContext& context_;
  std::vector<const Counter*> counters_;       ///< in registers and bits, ascending in slots
  VirtualRegister mask_;                       ///< the lanes that flush together
  VirtualRegister lanes_;                      ///< their number
  std::optional<VirtualRegister> slots_;       ///< of the replica to which the warp adds
  std::optional<VirtualRegister> any_number_;  ///< the bitwise or of all registers
  std::optional<VirtualRegister> lane_0_;      ///< 1 if lane 0 is in the mask, otherwise 0
};

}  // namespace

void append_flush(CodeBuilder& code, const CountContext& context, const std::optional<CodePredicate>& guard) {
  Flush(code, context).append(guard);
}

void append_flush_by_lane(CodeBuilder& code, VirtualRegister number, CodeAddress slot,
                          const std::optional<CodePredicate>& guard) {
  const VirtualRegister wide = number.type == RegisterType::b64 ? number : code.b64("cvt.u64.u32", {number});
  VirtualRegister has_some = code.pred("setp.ne.u64", {wide, 0});
  if (guard) has_some = code.pred("and.pred", {has_some, *guard});
  code.emit_if(CodePredicate(has_some), "red.global.add.u64", {std::move(slot), wide});
}

void append_flush_of_sum(CodeBuilder& code, const CountContext& context, VirtualRegister number,
                         CodeAddress slot) {
  if (!context.plan.sums_lanes) return append_flush_by_lane(code, number, std::move(slot), {});
  // Sums the halves separately, so that neither overflows.
  const VirtualRegister mask = code.active_mask();
  const auto half = [&](const char* opcode, std::int64_t operand) {
    const VirtualRegister part = code.b32(opcode, {number, operand});
    return code.b32("redux.sync.add.u32", {part, mask});
  };
  const VirtualRegister low = code.b64("cvt.u64.u32", {half("and.b32", 0xffff)});
  const VirtualRegister sum = code.b64("mad.wide.u32", {half("shr.u32", 16), 0x10000, low});
  code.emit_if(CodePredicate(code.elect_leader(mask)), "red.global.add.u64", {std::move(slot), sum});
}

}  // namespace lynxpp::ptx
