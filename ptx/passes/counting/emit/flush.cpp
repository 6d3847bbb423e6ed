// How the counters of a warp's lanes come together and go to memory when its threads leave.
//
// A whole warp adds all counters by one access, lane i the i-th of up to 32. The sums over the lanes take
// most of the time, so numbers whose sums fit a byte or a half word are summed four or two at a time; which
// it is, a vote of the warp says.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "ptx/passes/counting/emit/text.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t lanes = 32;
constexpr std::uint32_t word_bits = 32;
/// Of four bits that any lane has set; more of them are taken from their words one by one, each by its lane.
constexpr std::size_t enough_groups = 3;

/// The greatest number of which 32 together fit that many bits.
constexpr std::uint32_t most_of(std::uint32_t bits) {
  return static_cast<std::uint32_t>(((std::uint64_t{1} << bits) - 1) / lanes);
}

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string at_slot(std::uint32_t slot) { return "[%lynxpp_place+" + number(8 * std::uint64_t{slot}) + "]"; }

bool is_bit(const Counter* counter) { return counter->is_bit; }

bool is_any(const Counter* counter) {
  return counter->storage == Counter::Storage::any || counter->storage == Counter::Storage::both;
}

bool is_summed(const Counter* counter) { return counter->storage == Counter::Storage::summed; }

/// How a warp's number follows from its lanes'.
enum class Share : std::uint8_t { each, of_lane_0, even, most };

Share share_of(const Counter* counter) {
  if (counter->storage == Counter::Storage::most) return Share::most;
  return !is_summed(counter) ? Share::of_lane_0 : counter->is_even ? Share::even : Share::each;
}

/// Which byte of its group's word a bit becomes, and by how much the word is shifted for it: position 8·byte
/// + shift.
std::uint32_t mask_of(const std::vector<const Counter*>& group, Share share) {
  std::uint32_t mask = 0;
  for (const Counter* counter : group) {
    if (share_of(counter) == share) mask |= 1u << (8 * (counter->bit % 4));
  }
  return mask;
}

/// The counters whose sums share a word, by the word's number.
using SumGroups = std::map<std::uint32_t, std::vector<const Counter*>>;

SumGroups groups_of(const std::vector<const Counter*>& counters, std::uint32_t base, std::uint32_t per) {
  SumGroups groups;
  for (const Counter* counter : counters) groups[(counter->slot - base) / per].push_back(counter);
  return groups;
}

/// The register with the bits that are set in any lane's `word`.
std::string of_any(const std::string& word) { return word + "_any"; }

/// A word of sums.
std::string sum_name(std::uint32_t sum) { return "%lynxpp_total" + number(sum); }

/// %lynxpp_amount = the sum number %lynxpp_lower, in the lanes for which it lies in one of `groups`, whose
/// words hold `per` numbers and begin with the one named sum_name(first).
std::string take_sum(const SumGroups& groups, std::uint32_t first, std::uint32_t per) {
  if (groups.empty()) return {};
  const std::uint32_t bits = 32 / per;
  std::string text = "\tmov.b32 %lynxpp_word, 0;\n\tshr.u32 %lynxpp_group, %lynxpp_lower, " +
                     number(per == 4   ? 2
                            : per == 2 ? 1
                                       : 0) +
                     ";\n";
  for (const auto& [group, members] : groups) {
    text += "\tsetp.eq.u32 %lynxpp_leads, %lynxpp_group, " + number(group) +
            ";\n\t@%lynxpp_leads mov.b32 %lynxpp_word, " + sum_name(first++) + ";\n";
  }
  if (per != 1) {
    text +=
        "\tand.b32 %lynxpp_group, %lynxpp_lower, " + number(per - 1) +
        ";\n\tmul.lo.u32 %lynxpp_group, %lynxpp_group, " + number(bits) +
        ";\n\tshr.u32 %lynxpp_word, %lynxpp_word, %lynxpp_group;\n\tand.b32 %lynxpp_word, %lynxpp_word, " +
        number((1u << bits) - 1) + ";\n";
  }
  return text + "\tor.b32 %lynxpp_amount, %lynxpp_amount, %lynxpp_word;\n";
}

/// %lynxpp_amount |= the bit number %lynxpp_lower + `ahead` of `word`, where there is such a one. Bits lie as
/// CountText::position_of() says.
std::string take_bit(const std::string& word, std::uint32_t ahead) {
  return "\tadd.u32 %lynxpp_group, %lynxpp_lower, " + number(ahead) +
         ";\n\tsetp.lt.u32 %lynxpp_leads, %lynxpp_group, " + number(word_bits) +
         ";\n\tshr.u32 %lynxpp_word, %lynxpp_group, 2;\n\tand.b32 %lynxpp_group, %lynxpp_group, 3;\n"
         "\tmad.lo.u32 %lynxpp_group, %lynxpp_group, 8, %lynxpp_word;\n\tshr.u32 %lynxpp_word, " +
         word +
         ", %lynxpp_group;\n\tand.b32 %lynxpp_word, %lynxpp_word, 1;\n"
         "\t@%lynxpp_leads or.b32 %lynxpp_amount, %lynxpp_amount, %lynxpp_word;\n";
}

}  // namespace

std::string CountText::flush(const std::vector<const Counter*>& counters, const Guard& guard,
                             bool leaves_together, GridDimensions first_in) {
  const std::string done = label();
  std::string text(scratch());
  text +=
      "\t.reg .b32 %lynxpp_whole, %lynxpp_rank, %lynxpp_lanes, %lynxpp_round;\n\t.reg .b64 "
      "%lynxpp_slot;\n\t.reg .b32 "
      "%lynxpp_total<" +
      number(counters.size()) + ">;\n";
  for (const std::string& word : words_of_any(counters)) text += "\t.reg .b32 " + of_any(word) + ";\n";
  if (!guard.predicate.empty()) {
    text += std::string("\t@") + (guard.negated ? "" : "!") + std::string(guard.predicate) + " bra " + done +
            ";\n";
  }
  text += leave_unless_first(first_in, done) + take_local(counters);
  text += target_.is_wide ? place_of_warp() + flush_by_lane(counters)
                          : flush_by_warp(counters, leaves_together, done);
  return text + done + ":\n\t}\n";
}

/// %lynxpp_other = 0 where the block's index is 0 in these dimensions.
std::string CountText::index_of_block(GridDimensions dimensions) {
  std::string text = "\tmov.b32 %lynxpp_other, 0;\n";
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    if ((dimensions >> dimension & 1u) == 0) continue;
    text += std::string("\tmov.u32 %lynxpp_part, %ctaid.") + "xyz"[dimension] +
            ";\n\tor.b32 %lynxpp_other, %lynxpp_other, %lynxpp_part;\n";
  }
  return text;
}

std::string CountText::leave_unless_first(GridDimensions dimensions, const std::string& done) {
  if (dimensions == 0) return {};
  return index_of_block(dimensions) +
         "\tsetp.ne.u32 %lynxpp_leads, %lynxpp_other, 0;\n\t@%lynxpp_leads bra " + done + ";\n";
}

std::string CountText::add_to_frame(const std::vector<const Counter*>& counters, const Guard& guard) {
  const std::string done = label();
  std::map<std::uint32_t, const Counter*> words;  // counters that share a register share a word
  for (const Counter* counter : counters) words.emplace(counter->frame_word, counter);
  std::string loads;
  std::string stores;
  std::uint32_t next = 0;
  for (const auto& [word, counter] : words) {
    const std::string total = sum_name(next++);
    const std::string at = "[%lynxpp_place+" + number(target_.frame_counts + 4 * word) + "]";
    loads += "\tld.local.b32 " + total + ", " + at + ";\n";
    const std::string value = own(counter, stores);
    stores +=
        "\tadd.u32 " + total + ", " + total + ", " + value + ";\n\tst.local.b32 " + at + ", " + total + ";\n";
  }
  std::string text = std::string(scratch()) + "\t.reg .b32 %lynxpp_total<" + number(next) + ">;\n";
  if (!guard.predicate.empty()) {
    text += std::string("\t@") + (guard.negated ? "" : "!") + std::string(guard.predicate) + " bra " + done +
            ";\n";
  }
  return text + "\tld.param.b64 %lynxpp_place, [" + std::string(frame_parameter) + "];\n" + loads + stores +
         done + ":\n\t}\n";
}

std::string CountText::take_from_frame(const std::vector<Counter>& counters) const {
  if (counters.empty()) return {};
  std::map<std::uint32_t, std::uint32_t> registers;
  for (const Counter& counter : counters) registers.emplace(counter.frame_word, counter.reg);
  std::string text =
      "\t{\n\t.reg .b64 %lynxpp_place;\n\tmov.u64 %lynxpp_place, " + std::string(frame_variable) + ";\n";
  for (const auto& [word, reg] : registers) {
    text += "\tld.local.b32 " + name(reg) + ", [%lynxpp_place+" + number(target_.frame_counts + 4 * word) +
            "];\n";
  }
  return text + "\t}\n";
}

std::string CountText::branch_if_all(const std::string& comparison, const std::string& target) {
  return "\tsetp." + comparison +
         ";\n\tvote.sync.all.pred %lynxpp_leads, %lynxpp_leads, %lynxpp_mask;\n\t@%lynxpp_leads bra " +
         target + ";\n";
}

std::string CountText::flush_by_warp(const std::vector<const Counter*>& counters, bool leaves_together,
                                     const std::string& done) {
  std::set<std::string> registers;
  std::set<std::string> words_of_bits;
  for (const Counter* counter : counters) {
    if (is_bit(counter)) {
      words_of_bits.insert(bits_of(*counter));
      words_of_bits.insert(bits_of(*counter, false));
    } else {
      registers.insert(name(counter->reg));
    }
  }
  std::set<std::string> to_sum;
  std::ptrdiff_t numbers = 0;
  for (const Counter* counter : counters) {
    if (is_bit(counter)) continue;
    ++numbers;
    if (share_of(counter) == Share::each) to_sum.insert(name(counter->reg));
  }
  const bool has_bytes = to_sum.size() >= 3 || numbers >= 6;
  const bool has_halves = to_sum.size() >= 4;
  const std::string words = label();
  const std::string halves = label();
  const std::string some = label();
  std::string text = "\tmov.b32 %lynxpp_amount, 0;\n";
  for (const std::string& name : registers)
    text += "\tor.b32 %lynxpp_amount, %lynxpp_amount, " + name + ";\n";
  // Votes wait for the lanes that are to come.
  text += leaves_together ? "\tmov.b32 %lynxpp_mask, " + std::string(launched_name) + ";\n"
                          : "\tactivemask.b32 %lynxpp_mask;\n";
  text += "\tmov.b32 %lynxpp_lower, %lynxpp_amount;\n";
  if (std::ranges::any_of(counters, &Counter::is_expected)) {
    text += unexpected_bits(counters);
  } else {
    for (const std::string& word : words_of_bits)
      text += "\tor.b32 %lynxpp_lower, %lynxpp_lower, " + word + ";\n";
  }
  text += branch_if_all("eq.u32 %lynxpp_leads, %lynxpp_lower, 0", done) + place_of_warp();
  if (target_.is_flushed_short)
    return text + (target_.has_redux ? flush_some_lanes(counters) : flush_by_lane(counters));
  // Without redux.sync the lanes' sums need all of them.
  if (!target_.has_redux)
    text += "\tsetp.ne.b32 %lynxpp_leads, %lynxpp_mask, -1;\n\t@%lynxpp_leads bra " + some + ";\n";
  const auto exceeds = [](std::uint32_t bits) {
    return "\tsetp.gt.u32 %lynxpp_leads, %lynxpp_amount, " + number(most_of(bits)) +
           ";\n\tvote.sync.any.pred %lynxpp_leads, %lynxpp_leads, %lynxpp_mask;\n\t@%lynxpp_leads bra ";
  };
  if (registers.empty()) {
    return text + flush_sums(counters, 4, done) +
           (target_.has_redux ? "" : some + ":\n" + flush_by_lane(counters));
  }
  if (has_bytes) text += exceeds(8) + (has_halves ? halves : words) + ";\n" + flush_sums(counters, 4, done);
  if (has_halves) text += halves + ":\n" + exceeds(16) + words + ";\n" + flush_sums(counters, 2, done);
  text += words + ":\n" + exceeds(32) + some + ";\n" + flush_sums(counters, 1, done);
  return text + some + ":\n" + (target_.has_redux ? flush_some_lanes(counters) : flush_by_lane(counters));
}

/// %lynxpp_lower |= bits that are not as expected, and something when not all lanes of the warp were
/// launched.
std::string CountText::unexpected_bits(const std::vector<const Counter*>& counters) {
  // bits of the counters, those expected
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> words;
  for (const Counter* counter : counters) {
    if (!is_bit(counter)) continue;
    const std::uint32_t bit = 1u << position_of(*counter);
    for (const bool holds : {true, false}) {
      auto& [all, expected] = words[bits_of(*counter, holds)];
      const bool is_other = counter->storage == Counter::Storage::both && !holds;
      all |= bit;
      if (is_other ? counter->is_expected_not : counter->is_expected) expected |= bit;
    }
  }
  std::string text =
      "\tnot.b32 %lynxpp_part, %lynxpp_mask;\n\tor.b32 %lynxpp_lower, %lynxpp_lower, %lynxpp_part;\n";
  for (const auto& [word, bits] : words) {
    text += "\txor.b32 %lynxpp_part, " + word + ", " + number(bits.second) +
            ";\n\tand.b32 %lynxpp_part, %lynxpp_part, " + number(bits.first) +
            ";\n\tor.b32 %lynxpp_lower, %lynxpp_lower, %lynxpp_part;\n";
  }
  return text;
}

/// The lanes that are here add the numbers in turn, each one of them at a time, so that memory sees one
/// access for as many counters as there are lanes. `per` numbers are summed at a time.
std::string CountText::flush_sums(const std::vector<const Counter*>& counters, std::uint32_t per,
                                  const std::string& done) {
  // Lane 0 alone counts what all lanes have counted together; perhaps it leaves elsewhere.
  std::string text =
      "\tand.b32 %lynxpp_whole, %lynxpp_mask, 1;\n\tneg.s32 %lynxpp_whole, %lynxpp_whole;\n"
      "\tmov.u32 %lynxpp_rank, %lanemask_lt;\n\tand.b32 %lynxpp_rank, %lynxpp_rank, %lynxpp_mask;\n"
      "\tpopc.b32 %lynxpp_rank, %lynxpp_rank;\n\tpopc.b32 %lynxpp_lanes, %lynxpp_mask;\n" +
      any_bits(counters);
  // Four bits that are neighbours in their register are neighbours in memory, whether all of them are wanted
  // or not.
  const Counter& front = *counters.front();
  const std::uint32_t first = is_bit(&front) ? front.slot - front.bit % 4 : front.slot;
  for (std::uint32_t base = first; base <= counters.back()->slot; base += lanes) {
    std::vector<const Counter*> here;
    std::ranges::copy_if(counters, std::back_inserter(here), [&](const Counter* counter) {
      return counter->slot >= base && counter->slot < base + lanes;
    });
    if (!here.empty()) text += flush_line(here, base, per);
  }
  return text + "\tbra " + done + ";\n";
}

/// Those of at most 32 slots from `base` on.
std::string CountText::flush_line(const std::vector<const Counter*>& counters, std::uint32_t base,
                                  std::uint32_t per) {
  std::vector<const Counter*> in_registers, in_bits, in_any;
  for (const Counter* counter : counters)
    (!is_bit(counter) ? in_registers : is_any(counter) ? in_any : in_bits).push_back(counter);
  if (groups_of(in_any, base, 4).size() < enough_groups) {
    in_bits.insert(in_bits.end(), in_any.begin(), in_any.end());
    in_any.clear();
  }
  const SumGroups of_registers = groups_of(in_registers, base, per);
  const SumGroups of_bits = groups_of(in_bits, base, 4);
  std::uint32_t next = 0;
  std::string text;
  std::string select = "\tmov.b32 %lynxpp_amount, 0;\n";
  for (const auto& [groups, width] : {std::pair(&of_registers, per), std::pair(&of_bits, 4u)}) {
    const std::uint32_t begin = next;
    for (const auto& [group, members] : *groups) {
      text += (groups == &of_bits ? sum_of_bits(members)
                                  : sum_of_registers(members, base + group * width, 32 / width)) +
              "\tmov.b32 " + sum_name(next++) + ", %lynxpp_part;\n";
    }
    select += take_sum(*groups, begin, width);
  }
  for (const auto& [words, members] : by_words(in_any)) {
    std::uint32_t wanted = 0;
    for (const Counter* counter : members) wanted |= 1u << position_of(*counter);
    const std::string total = sum_name(next++);
    text += "\tand.b32 " + total + ", " + of_any(words.first) + ", " + of_any(words.second) +
            ";\n\tand.b32 " + total + ", " + total + ", " + number(wanted) + ";\n";
    const Counter& first_one = *members.front();
    select += take_bit(total, base + first_one.bit % word_bits - first_one.slot);
  }
  const std::string again = label();
  return text + "\tmov.b32 %lynxpp_lower, %lynxpp_rank;\n\tmov.b32 %lynxpp_round, 0;\n" + again + ":\n" +
         select +
         "\tsetp.ne.u32 %lynxpp_leads, %lynxpp_amount, 0;\n\tcvt.u64.u32 %lynxpp_sum, %lynxpp_amount;\n"
         "\tmad.wide.u32 %lynxpp_slot, %lynxpp_lower, 8, %lynxpp_place;\n"
         "\t@%lynxpp_leads red.global.add.u64 [%lynxpp_slot+" +
         number(8 * std::uint64_t{base}) +
         "], %lynxpp_sum;\n\tadd.u32 %lynxpp_lower, %lynxpp_lower, %lynxpp_lanes;\n"
         "\tadd.u32 %lynxpp_round, %lynxpp_round, %lynxpp_lanes;\n\tsetp.lt.u32 %lynxpp_leads, "
         "%lynxpp_round, " +
         number(counters.back()->slot - base + 1) + ";\n\t@%lynxpp_leads bra " + again + ";\n";
}

/// Those that want the bits of the same words in any lane.
std::map<std::pair<std::string, std::string>, std::vector<const Counter*>> CountText::by_words(
    const std::vector<const Counter*>& counters) {
  std::map<std::pair<std::string, std::string>, std::vector<const Counter*>> words;
  for (const Counter* counter : counters)
    words[{bits_of(*counter), bits_of(*counter, false)}].push_back(counter);
  return words;
}

/// %lynxpp_part = the sums of the members, each in its `bits`, that of the slot `base` lowest. What lane 0
/// alone counts is the same in all lanes; what is even needs no sum either.
std::string CountText::sum_of_registers(const std::vector<const Counter*>& members, std::uint32_t base,
                                        std::uint32_t bits) const {
  std::array<std::string, 3> texts;
  std::string maxima;
  for (std::size_t i = members.size(); i-- > 0;) {
    const Share share = share_of(members[i]);
    const std::string value = name(members[i]->reg);
    const std::uint32_t shift = bits * (members[i]->slot - base);
    if (share == Share::most) {
      maxima += "\tredux.sync.max.u32 %lynxpp_seen, " + value + ", %lynxpp_mask;\n\tmad.lo.u32 " +
                "%lynxpp_part, %lynxpp_seen, " + number(1u << shift) + ", %lynxpp_part;\n";
      continue;
    }
    std::string& text = texts[static_cast<std::size_t>(share)];
    const std::string into = share == Share::each ? "%lynxpp_part" : "%lynxpp_other";
    text += text.empty()
                ? (shift == 0 ? "\tmov.b32 " + into + ", " + value + ";\n"
                              : "\tshl.b32 " + into + ", " + value + ", " + number(shift) + ";\n")
                : "\tmad.lo.u32 " + into + ", " + value + ", " + number(1u << shift) + ", " + into + ";\n";
  }
  return sum_of(texts[0], texts[1], texts[2]) + maxima;
}

std::set<std::string> CountText::words_of_any(const std::vector<const Counter*>& counters) {
  std::set<std::string> words;
  for (const Counter* counter : counters) {
    if (!is_any(counter)) continue;
    words.insert(bits_of(*counter));
    words.insert(bits_of(*counter, false));
  }
  return words;
}

/// The words of all lanes' bits, for the counters that want them.
std::string CountText::any_bits(const std::vector<const Counter*>& counters) {
  std::string text;
  for (const std::string& word : words_of_any(counters))
    text += "\tredux.sync.or.b32 " + of_any(word) + ", " + word + ", %lynxpp_mask;\n";
  return text;
}

std::string CountText::sum_of_bits(const std::vector<const Counter*>& members) const {
  const Counter& first = *members.front();
  const std::string shift = number(first.bit % word_bits / 4);
  if (is_any(&first)) {
    // Without Storage::both the two words are the same one.
    return "\tand.b32 %lynxpp_part, " + of_any(bits_of(first)) + ", " + of_any(bits_of(first, false)) +
           ";\n\tshr.u32 %lynxpp_part, %lynxpp_part, " + shift + ";\n\tand.b32 %lynxpp_part, %lynxpp_part, " +
           number(mask_of(members, Share::of_lane_0)) + ";\n";
  }
  const std::string word = "\tshr.u32 %lynxpp_other, " + bits_of(first) + ", " + shift + ";\n";
  const auto part = [&](Share share) -> std::string {
    const std::uint32_t mask = mask_of(members, share);
    if (mask == 0) return {};
    return word + (share == Share::each ? "\tand.b32 %lynxpp_part" : "\tand.b32 %lynxpp_other") +
           ", %lynxpp_other, " + number(mask) + ";\n";
  };
  return sum_of(part(Share::each), part(Share::of_lane_0), part(Share::even));
}

/// %lynxpp_part = the sum over the lanes of what `summed` leaves there, and what `whole` and `even` leave in
/// %lynxpp_other.
std::string CountText::sum_of(const std::string& summed, const std::string& whole,
                              const std::string& even) const {
  std::string text = summed.empty() ? "\tmov.b32 %lynxpp_part, 0;\n" : summed;
  if (summed.empty()) {
    // Nothing to add up.
  } else if (target_.has_redux) {
    text += "\tredux.sync.add.u32 %lynxpp_part, %lynxpp_part, %lynxpp_mask;\n";
  } else {
    for (std::uint32_t distance = lanes / 2; distance != 0; distance /= 2) {
      text += "\tshfl.sync.bfly.b32 %lynxpp_seen, %lynxpp_part, " + number(distance) +
              ", 31, -1;\n\tadd.u32 %lynxpp_part, %lynxpp_part, %lynxpp_seen;\n";
    }
  }
  if (!even.empty())
    text += even + "\tmad.lo.u32 %lynxpp_part, %lynxpp_other, %lynxpp_lanes, %lynxpp_part;\n";
  if (!whole.empty()) {
    text += whole +
            "\tand.b32 %lynxpp_other, %lynxpp_other, %lynxpp_whole;\n\tadd.u32 %lynxpp_part, %lynxpp_part, "
            "%lynxpp_other;\n";
  }
  return text;
}

/// The register that holds the lane's own number; a bit is taken out first.
std::string CountText::own(const Counter* counter, std::string& text) {
  if (!is_bit(counter)) return name(counter->reg);
  text += "\tbfe.u32 %lynxpp_other, " + bits_of(*counter) + ", " + number(position_of(*counter)) + ", 1;\n";
  return "%lynxpp_other";
}

/// Some lanes only, or numbers whose sum may not fit: in halves, one counter after the other.
std::string CountText::flush_some_lanes(const std::vector<const Counter*>& counters) const {
  std::string text =
      "\tmov.u32 %lynxpp_lower, %lanemask_lt;\n\tand.b32 %lynxpp_lower, %lynxpp_lower, %lynxpp_mask;\n";
  std::vector<const Counter*> in_bits;
  std::ranges::copy_if(counters, std::back_inserter(in_bits), is_bit);
  text += any_bits(in_bits);
  for (const Counter* counter : counters) {
    const std::string value = own(counter, text);
    if (is_any(counter)) {
      text +=
          "\tand.b32 %lynxpp_part, " + of_any(bits_of(*counter)) + ", " + of_any(bits_of(*counter, false)) +
          ";\n\tbfe.u32 %lynxpp_part, %lynxpp_part, " + number(position_of(*counter)) +
          ", 1;\n\tcvt.u64.u32 %lynxpp_sum, %lynxpp_part;\n\tsetp.eq.u32 %lynxpp_leads, %lynxpp_lower, 0;\n";
    } else if (share_of(counter) == Share::most) {
      text += "\tredux.sync.max.u32 %lynxpp_part, " + value +
              ", %lynxpp_mask;\n\tcvt.u64.u32 %lynxpp_sum, %lynxpp_part;\n"
              "\tsetp.eq.u32 %lynxpp_leads, %lynxpp_lower, 0;\n";
    } else if (!is_summed(counter)) {
      text +=
          "\tmov.u32 %lynxpp_part, %laneid;\n\tsetp.eq.u32 %lynxpp_leads, %lynxpp_part, 0;\n\tcvt.u64.u32 "
          "%lynxpp_sum, " +
          value + ";\n";
    } else {
      text += "\tand.b32 %lynxpp_part, " + value +
              ", 65535;\n\tredux.sync.add.u32 %lynxpp_part, %lynxpp_part, %lynxpp_mask;\n"
              "\tcvt.u64.u32 %lynxpp_sum, %lynxpp_part;\n";
      if (!is_bit(counter)) {
        text += "\tshr.u32 %lynxpp_amount, " + value +
                ", 16;\n\tredux.sync.add.u32 %lynxpp_amount, %lynxpp_amount, %lynxpp_mask;\n"
                "\tmad.wide.u32 %lynxpp_sum, %lynxpp_amount, 65536, %lynxpp_sum;\n";
      }
      text += "\tsetp.eq.u32 %lynxpp_leads, %lynxpp_lower, 0;\n";
    }
    text += "\t@%lynxpp_leads red.global.add.u64 " + at_slot(counter->slot) + ", %lynxpp_sum;\n";
  }
  return text;
}

/// Every lane adds its own numbers.
std::string CountText::flush_by_lane(const std::vector<const Counter*>& counters) const {
  std::string text = "\tmov.u32 %lynxpp_lower, %laneid;\n";
  for (const Counter* counter : counters) {
    const std::string value = own(counter, text);
    text += std::string(target_.is_wide && !is_bit(counter) ? "\tmov.b64" : "\tcvt.u64.u32") +
            " %lynxpp_sum, " + value + ";\n\tsetp.ne.u64 %lynxpp_leads, %lynxpp_sum, 0;\n";
    if (!is_summed(counter)) text += "\tsetp.eq.and.u32 %lynxpp_leads, %lynxpp_lower, 0, %lynxpp_leads;\n";
    text += "\t@%lynxpp_leads red.global.add.u64 " + at_slot(counter->slot) + ", %lynxpp_sum;\n";
  }
  return text;
}

}  // namespace lynxpp::ptx
