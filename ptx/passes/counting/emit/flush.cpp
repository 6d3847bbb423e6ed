#include "ptx/passes/counting/emit/flush.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ptx/passes/counting/storage/assign.h"

namespace lynxpp::ptx {
namespace {

using Combine = Counter::Combine;
using Storage = Accumulator::Storage;

constexpr std::uint32_t warp_lanes = 32;
constexpr std::size_t few = 2;              // counters that the leader adds alone
constexpr std::uint32_t bits_of_group = 4;  // bits summed by one reduction
/// The largest value whose sum over 32 lanes fits in 32 bits.
constexpr std::uint32_t most_summed = 0xffffffff / warp_lanes;
/// Spreads four bits to the four bytes of a word, along with other bits that are masked out.
constexpr std::uint32_t spread = 0x00204081;
constexpr std::uint32_t one_of_each_byte = 0x01010101;
constexpr std::uint32_t any_of_three = 0xfe;  ///< the lop3 lookup table

/// The state of lanes whose sums may overflow 32 bits: see Flush::part_lanes().
struct Apart {
  CodePredicate is_apart;
  VirtualRegister rank;  ///< the lane's rank before the lanes were separated
  std::optional<VirtualRegister> lanes_together = {};
  std::optional<VirtualRegister> leads = {};  ///< 1 in the lane that adds per-warp values, otherwise 0
};

/// Flushes the registers and bits of one function.
class Flush {
 public:
  Flush(CodeBuilder& code, const CountContext& context)
      : code_(code), context_(context), done_(code.fresh_label()) {
    for (const Counter& counter : context.counters.counters) {
      const Accumulator& each = accumulator(counter);
      if (each.storage != Storage::memory) counters_.push_back(&counter);
      if (each.storage == Storage::reg) numbers_.insert(each.index);
    }
  }

  void append(const std::optional<CodePredicate>& guard) {
    if (counters_.empty()) return;
    if (guard) code_.branch_if(!*guard, done_);
    mask_ = lanes_here();
    leave_unless_any();
    slots_ = slots_of_warp(code_, context_);
    if (context_.sums_lanes()) {
      rank_lanes();
      part_lanes();
      append_together();
    } else {
      append_each_lane();
    }
    code_.place(done_);
  }

 private:
  /// Consecutive counters of a line whose values are in one register.
  struct Totals {
    enum class Kind : std::uint8_t { number, bytes, bits };
    Kind kind = Kind::number;
    std::uint32_t first = 0;  ///< position in the line
    VirtualRegister value;
    BitUse use = BitUse::any;     ///< for bits
    std::uint32_t first_bit = 0;  ///< for bits
    std::uint32_t count = 1;
  };

  const Accumulator& accumulator(const Counter& counter) const { return context_.accumulator(counter); }

  /// Returns all launched lanes if they converge at the exit, otherwise the active lanes.
  CodeOperand lanes_here() {
    if (!context_.counters.converges_at_exit) return code_.active_mask();
    if (context_.unit.options.launch.has_full_warps) return -1;
    return *context_.registers.launched;
  }

  void rank_lanes() {
    rank_ = code_.fresh(RegisterType::b32);
    if (mask_ == CodeOperand(-1)) {
      code_.mov(*rank_, SpecialRegister{"%laneid"});
      lanes_ = warp_lanes;
      return;
    }
    code_.emit("popc.b32", {*rank_, code_.lanes_below(mask_)});
    lanes_ = code_.b32("popc.b32", {mask_});
  }

  // ---- skip warps without counts

  std::vector<VirtualRegister> words() const {
    std::set<VirtualRegister> found;
    for (const Counter* counter : counters_) {
      const Accumulator& each = accumulator(*counter);
      if (each.is_bit()) found.insert(context_.bits_of(each));
      if (each.storage == Storage::bit_pair) {
        found.insert(context_.registers.holds[each.index / word_bits]);
        found.insert(context_.registers.fails[each.index / word_bits]);
      }
    }
    return {found.begin(), found.end()};
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

  /// `any_number_` covers register accumulators only, so that part_lanes() can test their magnitude.
  void leave_unless_any() {
    std::vector<VirtualRegister> numbers;
    for (const std::uint32_t each : numbers_) numbers.push_back(context_.number(each));
    std::vector<VirtualRegister> narrow = words();
    std::optional<CodePredicate> is_any;
    if (!numbers.empty()) {
      any_number_ = any_bit_of(numbers);
      if (context_.plan.is_wide) {
        is_any = CodePredicate(code_.pred("setp.ne.u64", {*any_number_, 0}));
      } else {
        narrow.insert(narrow.begin(), *any_number_);
      }
    }
    if (!narrow.empty()) {
      const VirtualRegister all = any_bit_of(narrow);
      is_any = is_any ? code_.pred("setp.ne.or.u32", {all, 0, *is_any}) : code_.pred("setp.ne.u32", {all, 0});
    }
    const VirtualRegister votes = code_.pred("vote.sync.any.pred", {*is_any, mask_});
    code_.branch_if(!CodePredicate(votes), done_);
  }

  // ---- each lane separately

  /// Each lane adds its own register values and bits.
  void append_each_lane() {
    std::optional<CodePredicate> is_lane_0;
    for (const Counter* counter : counters_) {
      const Accumulator& each = accumulator(*counter);
      if (counter->combine == Combine::lane_0 && !is_lane_0)
        is_lane_0 = code_.pred("setp.eq.u32", {code_.special("%laneid"), 0});
      const VirtualRegister amount =
          each.storage == Storage::reg
              ? context_.number(each.index)
              : code_.b32("bfe.u32", {context_.bits_of(each), each.index % word_bits, 1});
      append_flush_by_lane(code_, amount, at_slot(*slots_, counter->slot),
                           counter->combine == Combine::lane_0 ? is_lane_0 : std::nullopt);
    }
  }

  /// If sums may overflow, no lane adds for others: each lane handles all counters in turn, as if it were
  /// alone.
  void part_lanes() {
    if (!any_number_) return;
    const CodePredicate is_great = code_.pred("setp.gt.u32", {*any_number_, most_summed});
    apart_ = {code_.pred("vote.sync.any.pred", {is_great, mask_}), *rank_};
    rank_ = code_.b32("selp.b32", {0, *rank_, apart_->is_apart});
  }

  /// Returns the number of lanes that each lane adds for.
  CodeOperand lanes_together() {
    if (!apart_) return *lanes_;
    if (!apart_->lanes_together)
      apart_->lanes_together = code_.b32("selp.b32", {1, *lanes_, apart_->is_apart});
    return *apart_->lanes_together;
  }

  // ---- lanes cooperatively

  void append_together() {
    for (std::size_t first = 0; first < counters_.size(); first += warp_lanes) {
      const std::size_t last = std::min(counters_.size(), first + warp_lanes);
      append_line({counters_.begin() + static_cast<std::ptrdiff_t>(first),
                   counters_.begin() + static_cast<std::ptrdiff_t>(last)});
    }
  }

  /// Distributes the counters over the active lanes; each lane handles one per round.
  void append_line(const std::vector<const Counter*>& line) {
    std::vector<Totals> totals;
    for (std::uint32_t i = 0; i < line.size(); ++i) {
      const Accumulator& each = accumulator(*line[i]);
      if (each.storage == Storage::reg) {
        totals.push_back({Totals::Kind::number, i, total_of(*line[i], each)});
      } else if (each.is_bit() && bit_use(*line[i], each) == BitUse::sum) {
        totals.push_back(total_of_group(line, i));
        i += totals.back().count - 1;
      } else {
        add_bits(i, *line[i], each, totals);
      }
    }
    const auto others =
        std::ranges::find_if(totals, [](const Totals& each) { return each.kind != Totals::Kind::number; });
    if (line.size() <= few && others == totals.end()) return append_few(line, totals);
    // With all 32 lanes, each lane handles at most one counter.
    const bool is_full = lanes_ == CodeOperand(warp_lanes);
    const bool has_turns = (!is_full || apart_) && line.size() != 1;
    VirtualRegister turn = *rank_;
    const Label again = has_turns ? code_.fresh_label() : done_;
    if (has_turns) {
      if (!apart_ || counters_.size() > warp_lanes) turn = code_.b32("mov.b32", {turn});
      code_.place(again);
    }
    const std::optional<VirtualRegister> number = number_in_turn({totals.begin(), others}, turn);
    const VirtualRegister amount =
        number && others == totals.end() ? *number : code_.fresh(RegisterType::b32);
    if (number && amount != *number) code_.mov(amount, *number);
    for (const Totals& each : std::ranges::subrange(others, totals.end())) take(each, turn, amount);
    VirtualRegister has_some = code_.fresh(RegisterType::pred);
    code_.emit("setp.lt.u32", {has_some, turn, line.size()});
    code_.emit("setp.ne.and.b32", {has_some, amount, 0, has_some});
    const VirtualRegister wide = code_.b64("cvt.u64.u32", {amount});
    const VirtualRegister slot = code_.b64("mad.wide.u32", {turn, 8, *slots_});
    code_.emit_if(CodePredicate(has_some), "red.global.add.u64", {at_slot(slot, line.front()->slot), wide});
    if (!has_turns) return;
    code_.emit("add.u32", {turn, turn, is_full ? 1 : lanes_together()});
    const VirtualRegister goes_on = is_full
                                        ? code_.pred("setp.lt.and.u32", {turn, line.size(), apart_->is_apart})
                                        : code_.pred("setp.lt.u32", {turn, line.size()});
    code_.branch_if(goes_on, again);
  }

  /// Selects the value whose position is `turn`, bit by bit; unspecified if `turn` is out of range. Returns
  /// nullopt if there are no values.
  std::optional<VirtualRegister> number_in_turn(const std::vector<Totals>& totals, VirtualRegister turn) {
    std::vector<VirtualRegister> left;
    for (const Totals& each : totals) left.push_back(each.value);
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

  /// Sets the amount for lanes at or after the first of these counters; later calls overwrite it for later
  /// lanes.
  void take(const Totals& totals, VirtualRegister turn, VirtualRegister amount) {
    std::optional<CodePredicate> is_here;
    if (totals.first != 0) is_here = code_.pred("setp.ge.u32", {turn, totals.first});
    switch (totals.kind) {
      case Totals::Kind::number: return code_.mov_if(is_here, amount, totals.value);
      case Totals::Kind::bytes: {
        const VirtualRegister position =
            totals.first == 0 ? turn : code_.b32("sub.u32", {turn, totals.first});
        const VirtualRegister shift = code_.b32("shl.b32", {position, 3});
        return code_.emit_if(is_here, "and.b32", {amount, at(totals.value, shift), 255});
      }
      case Totals::Kind::bits: break;
    }
    const std::int64_t distance = std::int64_t{totals.first_bit} - totals.first;
    const VirtualRegister index = distance == 0 ? turn : code_.b32("add.s32", {turn, distance});
    VirtualRegister bit = code_.b32("and.b32", {at(totals.value, index), 1});
    if (totals.use == BitUse::lane_0 && !context_.counters.converges_at_exit)
      bit = code_.b32("and.b32", {bit, lane_0_is_here()});
    bit = totals.use == BitUse::uniform_sum ? code_.b32("mul.lo.u32", {bit, lanes_together()}) : once(bit);
    code_.mov_if(is_here, amount, bit);
  }

  /// Returns the bits from `position` on. ptxas 13.0 miscompiles `bfe` with the position in a register
  /// (docs/design/splicing.md).
  VirtualRegister at(CodeOperand value, VirtualRegister position) {
    return code_.b32("shr.u32", {std::move(value), position});
  }

  /// The warp's leader adds the counters one by one.
  void append_few(const std::vector<const Counter*>& line, const std::vector<Totals>& totals) {
    const CodePredicate leads = code_.pred("setp.eq.u32", {*rank_, 0});
    for (const Totals& each : totals) {
      const VirtualRegister wide = code_.b64("cvt.u64.u32", {each.value});
      code_.emit_if(leads, "red.global.add.u64", {at_slot(*slots_, line[each.first]->slot), wide});
    }
  }

  /// Returns the sum, or the lane's own value if lanes are separated. Overwrites `value`, which nothing else
  /// may read.
  VirtualRegister sum_over_lanes(VirtualRegister value) {
    std::optional<CodePredicate> is_together;
    if (apart_) is_together = !apart_->is_apart;
    code_.emit_if(is_together, "redux.sync.add.u32", {value, value, mask_});
    return value;
  }

  /// Returns a per-warp value in the lane that adds it.
  VirtualRegister once(VirtualRegister value) {
    if (!apart_) return value;
    if (!apart_->leads) {
      const VirtualRegister follows = code_.pred("setp.ne.and.u32", {apart_->rank, 0, apart_->is_apart});
      apart_->leads = code_.b32("selp.b32", {0, 1, follows});
    }
    return code_.b32("mul.lo.u32", {value, *apart_->leads});
  }

  /// 1 if lane 0 is active, otherwise 0. Only lane 0 counts what all lanes execute together; it may exit
  /// elsewhere.
  VirtualRegister lane_0_is_here() {
    if (!lane_0_) lane_0_ = code_.b32("and.b32", {mask_, 1});
    return *lane_0_;
  }

  VirtualRegister total_of(const Counter& counter, const Accumulator& each) {
    const VirtualRegister number = context_.number(each.index);
    switch (counter.combine) {
      case Combine::max: return once(code_.b32("redux.sync.max.u32", {number, mask_}));
      case Combine::lane_0:
        return once(context_.counters.converges_at_exit
                        ? number
                        : code_.b32("mul.lo.u32", {number, lane_0_is_here()}));
      case Combine::sum:
      case Combine::any: break;
    }
    return each.is_warp_uniform ? code_.b32("mul.lo.u32", {number, lanes_together()})
                                : sum_over_lanes(is_shared(each) ? code_.b32("mov.b32", {number}) : number);
  }

  /// True if several counters read the accumulator.
  bool is_shared(const Accumulator& number) const {
    return std::ranges::count_if(context_.counters.counters, [&](const Counter& counter) {
             const Accumulator& other = accumulator(counter);
             return other.storage == Storage::reg && other.index == number.index;
           }) > 1;
  }

  /// Returns the size of the group of summed bits that starts at a position of the line.
  std::uint32_t size_of_group(const std::vector<const Counter*>& line, std::uint32_t first) const {
    const std::uint32_t bit = accumulator(*line[first]).index;
    std::uint32_t size = 0;
    while (size < bits_of_group && first + size < line.size()) {
      const Accumulator& each = accumulator(*line[first + size]);
      if (!each.is_bit() || bit_use(*line[first + size], each) != BitUse::sum ||
          each.index / word_bits != bit / word_bits)
        break;
      ++size;
    }
    return size;
  }

  Totals total_of_group(const std::vector<const Counter*>& line, std::uint32_t first) {
    const Accumulator& each = accumulator(*line[first]);
    const std::uint32_t size = size_of_group(line, first);
    const VirtualRegister bits = code_.b32("bfe.u32", {context_.bits_of(each), each.index % word_bits, size});
    if (size == 1) return {Totals::Kind::number, first, sum_over_lanes(bits)};
    const VirtualRegister bytes = code_.b32("mul.lo.u32", {bits, spread});
    const VirtualRegister sums = sum_over_lanes(code_.b32("and.b32", {bytes, one_of_each_byte}));
    return {Totals::Kind::bytes, first, sums, BitUse::sum, 0, size};
  }

  // ---- bits that are uniform, or become so by a vote

  /// Takes adjacent bits of a word from one register.
  void add_bits(std::uint32_t position, const Counter& counter, const Accumulator& each,
                std::vector<Totals>& totals) {
    const bool is_pair = each.storage == Storage::bit_pair;
    const BitUse use = is_pair ? BitUse::any : bit_use(counter, each);
    if (!totals.empty() && totals.back().kind == Totals::Kind::bits) {
      Totals& last = totals.back();
      const bool follows = last.use == use && last.first_bit + last.count == each.index % word_bits &&
                           is_pair == last_is_pair_;
      if (follows) {
        ++last.count;
        return;
      }
    }
    last_is_pair_ = is_pair;
    totals.push_back({Totals::Kind::bits, position, uniform_word(each, use), use, each.index % word_bits, 1});
  }

  /// Returns the bits that are set in any lane.
  VirtualRegister uniform_word(const Accumulator& each, BitUse use) {
    const auto any = [&](VirtualRegister word) {
      const auto [entry, is_new] = any_.try_emplace(word, word);
      if (is_new) entry->second = code_.b32("redux.sync.or.b32", {word, mask_});
      return entry->second;
    };
    if (each.storage == Storage::bit_pair) {
      const std::uint32_t index = each.index / word_bits;
      return code_.b32("and.b32",
                       {any(context_.registers.holds[index]), any(context_.registers.fails[index])});
    }
    return use == BitUse::any ? any(context_.bits_of(each)) : context_.bits_of(each);
  }

  CodeBuilder& code_;
  const CountContext& context_;
  std::vector<const Counter*> counters_;  ///< in registers and bits, ascending in slots
  std::set<std::uint32_t> numbers_;
  const Label done_;
  CodeOperand mask_ = -1;                 ///< the lanes that flush together
  std::optional<VirtualRegister> slots_;  ///< of the replica to which the warp adds
  std::optional<VirtualRegister> rank_;   ///< number of lower lanes in the mask
  std::optional<CodeOperand> lanes_;      ///< number of lanes in the mask
  std::optional<VirtualRegister> any_number_;
  std::optional<Apart> apart_;  ///< nullopt: sums never overflow
  std::optional<VirtualRegister> lane_0_;
  std::map<VirtualRegister, VirtualRegister> any_;
  bool last_is_pair_ = false;
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
  if (!context.sums_lanes()) return append_flush_by_lane(code, number, std::move(slot), {});
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
