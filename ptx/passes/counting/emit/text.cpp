#include "ptx/passes/counting/emit/text.h"

#include <algorithm>
#include <set>

namespace lynxpp::ptx {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string register_of(std::uint32_t reg) { return "%lynxpp_count" + number(reg); }

std::string at_slot(std::uint32_t slot) { return "[%lynxpp_place+" + number(8 * std::uint64_t{slot}) + "]"; }

constexpr std::uint32_t word_bits = 32;

std::uint32_t words_of(std::uint32_t bits) { return (bits + word_bits - 1) / word_bits; }

std::string word_of_bits(std::uint32_t word) { return "%lynxpp_flags" + number(word); }

/// Of bits of guards that hold, and of those that do not.
std::string word_of_pairs(std::uint32_t word, bool holds) {
  return (holds ? "%lynxpp_holds" : "%lynxpp_fails") + number(word);
}

/// "%p1", "!%p1".
std::string truth(const Guard& guard) { return (guard.negated ? "!" : "") + std::string(guard.predicate); }

std::string opposite(const Guard& guard) { return (guard.negated ? "" : "!") + std::string(guard.predicate); }

bool is_guarded(const Guard& guard) { return !guard.predicate.empty(); }

/// Added to memory where it is counted.
bool in_memory(const Counter* counter) {
  return counter->storage == Counter::Storage::memory && !counter->is_maximum();
}

/// Counts warps in a register of the lane that leads them.
bool is_elected(const Counter* counter) {
  return counter->counts_warps && counter->storage == Counter::Storage::summed && !counter->is_maximum();
}

}  // namespace

std::string CountText::label() { return "$lynxpp_count_" + number(next_label_++); }

std::string CountText::name(std::uint32_t reg) { return register_of(reg); }

std::string_view CountText::scratch() {
  return "\t{\n\t.reg .pred %lynxpp_leads;\n\t.reg .b32 %lynxpp_mask, %lynxpp_lower, %lynxpp_amount, "
         "%lynxpp_part, %lynxpp_other, %lynxpp_word, %lynxpp_group, %lynxpp_seen;\n"
         "\t.reg .b64 %lynxpp_place, %lynxpp_sum;\n";
}

std::vector<std::string> CountText::words_of_bits(const FunctionPlan& plan) {
  std::vector<std::string> words;
  for (std::uint32_t i = 0; i < words_of(plan.bits); ++i) words.push_back(word_of_bits(i));
  for (std::uint32_t i = 0; i < words_of(plan.bit_pairs); ++i) {
    words.push_back(word_of_pairs(i, true));
    words.push_back(word_of_pairs(i, false));
  }
  return words;
}

std::string CountText::declaration(const FunctionPlan& plan) const {
  std::string text = "\n";
  if (plan.leaves_together) text += "\t.reg .b32 " + std::string(launched_name) + ";\n";
  for (const std::string& word : words_of_bits(plan)) text += "\t.reg .b32 " + word + ";\n";
  if (!plan.paths.regions.empty()) text += declare_paths(plan.paths);
  for (std::uint32_t i = 0; i < plan.registers; ++i)
    text += std::string("\t.reg .b") + (target_.is_wide ? "64 " : "32 ") + register_of(i) + ";\n";
  return text;
}

std::string CountText::zero(std::uint32_t reg) const {
  return std::string("\tmov.b") + (target_.is_wide ? "64 " : "32 ") + register_of(reg) + ", 0;\n";
}

std::string CountText::begin(const FunctionPlan& plan) const {
  std::string text;
  for (std::uint32_t i = 0; i < plan.registers; ++i) text += zero(i);
  for (const std::string& word : words_of_bits(plan)) text += "\tmov.b32 " + word + ", 0;\n";
  if (plan.leaves_together) {
    const std::string launched(launched_name);
    text +=
        target_.has_full_warps ? "\tmov.b32 " + launched + ", -1;\n" : "\tactivemask.b32 " + launched + ";\n";
  }
  if (plan.paths.counts_by_lanes()) text += begin_paths();
  return text;
}

std::string CountText::bits_of(const Counter& bit, bool holds) {
  const std::uint32_t word = bit.bit / word_bits;
  return bit.storage == Counter::Storage::both ? word_of_pairs(word, holds) : word_of_bits(word);
}

std::uint32_t CountText::position_of(const Counter& bit) {
  return 8 * (bit.bit % 4) + bit.bit % word_bits / 4;
}

std::string CountText::count_one(const Counter& counter, const std::string& guard) const {
  const std::string name =
      counter.is_bit ? bits_of(counter) : register_of(counter.is_maximum() ? counter.lane_reg : counter.reg);
  const std::string when = "\t" + (guard.empty() ? "" : "@" + guard + " ");
  if (is_local(counter)) return raise_local(counter, when);
  if (counter.is_bit)
    return when + "or.b32 " + name + ", " + name + ", " + number(1u << position_of(counter)) + ";\n";
  return when + "add.u" + (target_.is_wide ? "64 " : "32 ") + name + ", " + name + ", 1;\n";
}

// ---------------------------------------------------------------- counting

std::string CountText::raise_bit(const Counter& counter, const std::string& raised) {
  const std::string bits = bits_of(counter);
  return "\tshl.b32 " + raised + ", " + raised + ", " + number(position_of(counter)) + ";\n\tor.b32 " + bits +
         ", " + bits + ", " + raised + ";\n";
}

std::string CountText::set_mark(const Counter& mark, const std::string& predicate) {
  if (mark.is_bit) {
    const std::string bits = bits_of(mark);
    return "\t@" + predicate + " or.b32 " + bits + ", " + bits + ", " +
           number(std::int64_t{1} << position_of(mark)) + ";\n";
  }
  std::string set = "\t@" + predicate + " mov.b32 " + name(mark.reg) + ", 1;\n";
  if (mark.storage != Counter::Storage::memory) return set;
  Counter given = mark;
  given.storage = Counter::Storage::summed;
  const std::string done = label();
  return "\t@!" + predicate + " bra " + done + ";\n" + set + flush({&given}, {}) + zero(mark.reg) + done +
         ":\n";
}

std::string CountText::raise(const std::vector<const Counter*>& counters, const Guard& guard) {
  return raise_registers(counters, guard) + raise_by_leader(counters, guard);
}

std::string CountText::raise_registers(const std::vector<const Counter*>& counters,
                                       const Guard& guard) const {
  std::set<std::string> additions;  // to shared ones once
  for (const Counter* counter : counters) {
    if (in_memory(counter) || is_elected(counter)) continue;
    additions.insert(count_one(*counter, is_guarded(guard) ? truth(guard) : ""));
  }
  std::string text;
  for (const std::string& addition : additions) text += addition;
  return text;
}

/// What one lane counts for all lanes that are here.
std::string CountText::raise_by_leader(const std::vector<const Counter*>& counters, const Guard& guard) {
  const bool adds_to_memory = std::ranges::any_of(counters, in_memory);
  if (!adds_to_memory && std::ranges::none_of(counters, is_elected)) return {};
  const std::string done = adds_to_memory ? label() : "";
  std::string text(scratch());
  // Lanes that add to memory go there by a branch, so that all others pay for no more than that.
  const bool votes = is_guarded(guard) && !adds_to_memory;
  if (is_guarded(guard) && adds_to_memory) text += "\t@" + opposite(guard) + " bra " + done + ";\n";
  // Under the guard it has the lanes for which the guard holds; a vote would wait for the others, too.
  text += "\t" + (votes ? "@" + truth(guard) + " " : "") + "activemask.b32 %lynxpp_mask;\n";
  text += "\tmov.u32 %lynxpp_lower, %lanemask_lt;\n\tand.b32 %lynxpp_lower, %lynxpp_lower, %lynxpp_mask;\n";
  text += votes ? "\tsetp.eq.and.u32 %lynxpp_leads, %lynxpp_lower, 0, " + truth(guard) + ";\n"
                : std::string("\tsetp.eq.u32 %lynxpp_leads, %lynxpp_lower, 0;\n");
  std::set<std::string> elected;  // shared ones once
  for (const Counter* counter : counters) {
    if (is_elected(counter)) elected.insert(count_one(*counter, "%lynxpp_leads"));
  }
  for (const std::string& addition : elected) text += addition;
  if (adds_to_memory) {
    text += "\t@!%lynxpp_leads bra " + done + ";\n" + place_of_warp();
    const auto add = [&](bool warps) {
      for (const Counter* counter : counters) {
        if (in_memory(counter) && counter->counts_warps == warps)
          text += "\tred.global.add.u64 " + at_slot(counter->slot) + ", %lynxpp_sum;\n";
      }
    };
    if (std::ranges::any_of(counters,
                            [](const Counter* each) { return in_memory(each) && !each->counts_warps; })) {
      text += "\tpopc.b32 %lynxpp_amount, %lynxpp_mask;\n\tcvt.u64.u32 %lynxpp_sum, %lynxpp_amount;\n";
      add(false);
    }
    if (std::ranges::any_of(counters,
                            [](const Counter* each) { return in_memory(each) && each->counts_warps; })) {
      text += "\tmov.u64 %lynxpp_sum, 1;\n";
      add(true);
    }
    text += done + ":\n";
  }
  return text + "\t}\n";
}

std::string CountText::raise_division(const std::vector<const Counter*>& all, const Guard& guard) {
  std::string text;
  std::vector<const Counter*> counters;
  for (const Counter* counter : all) {
    if (counter->storage != Counter::Storage::both) {
      counters.push_back(counter);
      continue;
    }
    const std::string bit = number(1u << position_of(*counter)) + ";\n";
    for (const bool holds : {true, false}) {
      const std::string word = bits_of(*counter, holds);
      text += "\t@" + (holds ? truth(guard) : opposite(guard)) + " or.b32 " + word + ", " + word + ", " + bit;
    }
  }
  return counters.empty() ? text : text + raise_voted_division(counters, guard);
}

std::string CountText::raise_voted_division(const std::vector<const Counter*>& counters, const Guard& guard) {
  // The first lane for which the guard holds counts, when there are others for which it does not.
  std::string text(scratch());
  text += "\tactivemask.b32 %lynxpp_mask;\n\t@" + truth(guard) +
          " activemask.b32 %lynxpp_amount;\n\tmov.u32 %lynxpp_lower, %lanemask_lt;\n"
          "\tand.b32 %lynxpp_lower, %lynxpp_lower, %lynxpp_amount;\n"
          "\tsetp.eq.and.u32 %lynxpp_leads, %lynxpp_lower, 0, " +
          truth(guard) + ";\n\tsetp.ne.and.b32 %lynxpp_leads, %lynxpp_amount, %lynxpp_mask, %lynxpp_leads;\n";
  std::set<std::string> additions;  // to shared ones once
  for (const Counter* counter : counters) {
    if (!in_memory(counter)) additions.insert(count_one(*counter, "%lynxpp_leads"));
  }
  for (const std::string& addition : additions) text += addition;
  if (std::ranges::any_of(counters, in_memory)) {
    const std::string done = label();
    text += "\t@!%lynxpp_leads bra " + done + ";\n" + place_of_warp() + "\tmov.u64 %lynxpp_sum, 1;\n";
    for (const Counter* counter : counters) {
      if (in_memory(counter)) text += "\tred.global.add.u64 " + at_slot(counter->slot) + ", %lynxpp_sum;\n";
    }
    text += done + ":\n";
  }
  return text + "\t}\n";
}

std::string CountText::raise_bypass(const std::vector<const Counter*>& counters, const Guard& guard) {
  std::string text =
      "\t{\n\t.reg .pred %lynxpp_goes;\n\t.reg .b32 %lynxpp_here;\n\tactivemask.b32 %lynxpp_here;\n"
      "\tvote.sync.any.pred %lynxpp_goes, " +
      truth(guard) + ", %lynxpp_here;\n";
  // One instruction is not worth a branch.
  const bool is_short = std::ranges::none_of(
      counters, [](const Counter* counter) { return in_memory(counter) || is_elected(counter); });
  if (is_short) return text + raise(counters, {"%lynxpp_goes", true}) + "\t}\n";
  const std::string done = label();
  return text + "\t@%lynxpp_goes bra " + done + ";\n" + raise(counters, {}) + done + ":\n\t}\n";
}

std::string CountText::raise_vote(const std::vector<const Counter*>& counters, const Guard& guard) {
  return "\t{\n\t.reg .pred %lynxpp_goes;\n\t.reg .b32 %lynxpp_here;\n\tactivemask.b32 %lynxpp_here;\n"
         "\tvote.sync.any.pred %lynxpp_goes, " +
         truth(guard) + ", %lynxpp_here;\n" + raise(counters, {"%lynxpp_goes", false}) + "\t}\n";
}

std::string CountText::give(const Counter& counter) {
  const std::string done = label();
  const std::string type = target_.is_wide ? "64" : "32";
  return std::string(scratch()) + "\tsetp.eq.u" + type + " %lynxpp_leads, " + name(counter.reg) +
         ", 0;\n\t@%lynxpp_leads bra " + done + ";\n" + place_of_warp() +
         (target_.is_wide ? "\tmov.b64" : "\tcvt.u64.u32") + " %lynxpp_sum, " + name(counter.reg) +
         ";\n\tred.global.add.u64 " + at_slot(counter.slot) + ", %lynxpp_sum;\n" + zero(counter.reg) + done +
         ":\n\t}\n";
}

/// %lynxpp_place = the slots of the replica for this warp's place on its SM.
std::string CountText::place_of_warp() const {
  const std::string at = "+" + number(8 * std::uint64_t{target_.word}) + "];\n";
  std::string text;
  if (!target_.slots.empty()) {
    text = "\tmov.b64 %lynxpp_place, " + target_.slots + ";\n";
  } else if (target_.is_kernel) {
    text = "\tld.param.b64 %lynxpp_place, [" + std::string(probe_parameter) + at;
  } else {
    text = "\tld.param.b64 %lynxpp_place, [" + std::string(frame_parameter) +
           "];\n\tld.local.b64 %lynxpp_place, [%lynxpp_place" + at;
  }
  if (target_.replicas == 1) return text;
  text += "\tmov.u32 %lynxpp_part, %smid;\n";
  if (target_.replicas > replicas_of_warps) {
    text += "\tmov.u32 %lynxpp_seen, %warpid;\n\tmad.lo.u32 %lynxpp_part, %lynxpp_seen, " +
            number(replicas_of_warps) + ", %lynxpp_part;\n";
  }
  return text + "\tand.b32 %lynxpp_part, %lynxpp_part, " + number(target_.replicas - 1) +
         ";\n\tmad.wide.u32 %lynxpp_place, %lynxpp_part, " + number(8 * std::uint64_t{target_.stride}) +
         ", %lynxpp_place;\n";
}

std::string CountText::raise_at_switch(const std::vector<const Counter*>& counters, const std::string& index,
                                       const std::vector<std::uint32_t>& indices, const Guard& guard,
                                       bool or_falls) {
  const std::string goes = "%lynxpp_goes";
  std::string text = "\t{\n\t.reg .pred " + goes + ", %lynxpp_holds;\n";
  for (std::size_t i = 0; i < indices.size(); ++i) {
    text += i == 0
                ? "\tsetp.eq.u32 " + goes + ", " + index + ", " + number(indices[i]) + ";\n"
                : "\tsetp.eq.or.u32 " + goes + ", " + index + ", " + number(indices[i]) + ", " + goes + ";\n";
  }
  if (is_guarded(guard)) {
    // With or_falls: the opposite of the guard, or the index.
    text += std::string(guard.negated != or_falls ? "\tnot" : "\tmov") + ".pred %lynxpp_holds, " +
            std::string(guard.predicate) + ";\n\t" + (or_falls ? "or" : "and") + ".pred " + goes + ", " +
            goes + ", %lynxpp_holds;\n";
  }
  return text + raise(counters, {goes, false}) + "\t}\n";
}

// ---------------------------------------------------------------- loops that count themselves

std::string CountText::begin_iterations(const Iterations& iterations, const Guard& guard) {
  const std::string when = "\t" + (is_guarded(guard) ? "@" + truth(guard) + " " : "");
  std::string text;
  if (iterations.start_reg != no_counter) {
    const std::string start = register_of(iterations.start_reg);
    if (!iterations.is_long) {
      text += when + "mov.b32 " + start + ", " + iterations.reg + ";\n";
    } else if (iterations.shift == 0) {
      text += when + "cvt.u32.u64 " + start + ", " + iterations.reg + ";\n";
    } else {
      text += "\t{\n\t.reg .b64 %lynxpp_steps;\n\tshr.u64 %lynxpp_steps, " + iterations.reg + ", " +
              number(iterations.shift) + ";\n" + when + "cvt.u32.u64 " + start + ", %lynxpp_steps;\n\t}\n";
    }
  }
  if (iterations.entered_reg != no_counter)
    text += when + "mov.b32 " + register_of(iterations.entered_reg) + ", -1;\n";
  return text;
}

std::string CountText::forget_iterations(const Iterations& iterations) {
  return iterations.entered_reg == no_counter ? ""
                                              : "\tmov.b32 " + register_of(iterations.entered_reg) + ", 0;\n";
}

std::string CountText::read_iterations(const Iterations& iterations, const std::string& into) {
  std::string text;
  std::string now = iterations.reg;
  if (iterations.is_long) {
    if (iterations.shift != 0) {
      text += "\tshr.u64 %lynxpp_sum, " + now + ", " + number(iterations.shift) + ";\n";
      now = "%lynxpp_sum";
    }
    text += "\tcvt.u32.u64 " + into + ", " + now + ";\n";
    now = into;
  }
  const std::string before =
      iterations.start_reg == no_counter ? number(iterations.initial) : register_of(iterations.start_reg);
  const std::string change = "\tsub.u32 " + into + ", ";
  text += change + (iterations.decreases ? before + ", " + now : now + ", " + before) + ";\n";
  if (!iterations.is_long && iterations.shift != 0)
    text += "\tshr.u32 " + into + ", " + into + ", " + number(iterations.shift) + ";\n";
  if (iterations.inverse != 1)
    text += "\tmul.lo.u32 " + into + ", " + into + ", " + number(iterations.inverse) + ";\n";
  // Of 32 bits it is known modulo 2^(32 - shift).
  const std::uint32_t known = iterations.is_long ? 0 : ~std::uint32_t{0} >> iterations.shift;
  if (iterations.runs_once) {
    text += change + into + ", 1;\n\tand.b32 " + into + ", " + into + ", " + number(known) + ";\n\tadd.u32 " +
            into + ", " + into + ", 1;\n";
  } else if (!iterations.is_long && iterations.shift != 0 && iterations.inverse != 1) {
    text += "\tand.b32 " + into + ", " + into + ", " + number(known) + ";\n";
  }
  if (iterations.entered_reg != no_counter)
    text += "\tand.b32 " + into + ", " + into + ", " + register_of(iterations.entered_reg) + ";\n";
  return text;
}

std::string CountText::raise_iterations(const std::vector<const Counter*>& counters,
                                        const Iterations& iterations) const {
  std::string text(scratch());
  text += read_iterations(iterations, "%lynxpp_part");
  std::set<std::string> additions;  // to shared ones once
  bool adds_to_memory = false;
  bool elects = false;
  for (const Counter* counter : counters) {
    adds_to_memory |= in_memory(counter);
    elects |= is_elected(counter) || in_memory(counter);
    if (!in_memory(counter)) {
      additions.insert(std::string("\t") + (is_elected(counter) ? "@%lynxpp_leads " : "") + "add.u32 " +
                       register_of(counter->reg) + ", " + register_of(counter->reg) + ", %lynxpp_part;\n");
    }
  }
  if (elects) {
    text +=
        "\tactivemask.b32 %lynxpp_mask;\n\tmov.u32 %lynxpp_lower, %lanemask_lt;\n"
        "\tand.b32 %lynxpp_lower, %lynxpp_lower, %lynxpp_mask;\n"
        "\tsetp.eq.u32 %lynxpp_leads, %lynxpp_lower, 0;\n";
  }
  for (const std::string& addition : additions) text += addition;
  if (adds_to_memory) text += "\tcvt.u64.u32 %lynxpp_sum, %lynxpp_part;\n" + place_of_warp();
  for (const Counter* counter : counters) {
    if (in_memory(counter)) {
      text += std::string("\t") + (counter->counts_warps ? "@%lynxpp_leads " : "") + "red.global.add.u64 " +
              at_slot(counter->slot) + ", %lynxpp_sum;\n";
    }
  }
  return text + "\t}\n";
}

// ---------------------------------------------------------------- when and where lanes leave

std::string CountText::mark_way(const Leaving& leaving, std::uint32_t way, const Guard& guard) {
  return "\t" + (is_guarded(guard) ? "@" + truth(guard) + " " : "") + "mov.b32 " + register_of(leaving.reg) +
         ", " + std::to_string(leaving.ways[way].number) + ";\n";
}

/// To %lynxpp_word.
std::string CountText::read_leaving(const Leaving& leaving, const FunctionPlan& plan) {
  std::string text;
  if (leaving.iterations != no_counter) {
    text = read_iterations(plan.iterations[leaving.iterations], "%lynxpp_word");
  } else {
    const std::string count = count_of_lane(plan.counters[leaving.counter], plan, text);
    text += "\tmov.b32 %lynxpp_word, " + count + ";\n";
  }
  if (leaving.shift != 0) text += "\tshl.b32 %lynxpp_word, %lynxpp_word, " + number(leaving.shift) + ";\n";
  if (leaving.reg != no_counter)
    text += "\tadd.u32 %lynxpp_word, %lynxpp_word, " + register_of(leaving.reg) + ";\n";
  return text;
}

/// %lynxpp_part = how often the lane has gone on past a way out, from %lynxpp_word.
std::string CountText::passages(const Leaving& leaving, std::uint32_t way) {
  std::string text =
      "\t{\n\t.reg .pred %lynxpp_is;\n\tsub.u32 %lynxpp_other, %lynxpp_word, 1;\n\tshr.u32 %lynxpp_part, "
      "%lynxpp_other, " +
      number(leaving.shift) + ";\n";
  if (way + 1 < leaving.ways.size()) {
    text += "\tand.b32 %lynxpp_other, %lynxpp_other, " + number((1u << leaving.shift) - 1) +
            ";\n\tsetp.gt.u32 %lynxpp_is, %lynxpp_other, " + number(way) +
            ";\n\t@%lynxpp_is add.u32 %lynxpp_part, %lynxpp_part, 1;\n";
  }
  return text + "\tsetp.eq.u32 %lynxpp_is, %lynxpp_word, 0;\n\t@%lynxpp_is mov.b32 %lynxpp_part, 0;\n\t}\n";
}

/// Of the lanes that left together the first one counts, unless no lane stayed.
std::string CountText::count_divisions(const LoopPlan& loop, const std::vector<Division>& divisions) {
  const Leaving& leaving = *loop.leaving;
  const std::string mask = register_of(loop.mask_reg);
  std::string text =
      "\t{\n\t.reg .pred %lynxpp_parts;\n\tmatch.any.sync.b32 %lynxpp_group, %lynxpp_word, " + mask +
      ";\n\tredux.sync.max.u32 %lynxpp_other, %lynxpp_word, " + mask +
      ";\n\tmov.u32 %lynxpp_lower, %lanemask_lt;\n\tand.b32 %lynxpp_lower, %lynxpp_lower, %lynxpp_group;\n"
      "\tsetp.eq.u32 %lynxpp_leads, %lynxpp_lower, 0;\n"
      "\tsetp.ne.and.u32 %lynxpp_leads, %lynxpp_word, %lynxpp_other, %lynxpp_leads;\n"
      "\tsetp.ne.and.u32 %lynxpp_leads, %lynxpp_word, 0, %lynxpp_leads;\n"
      "\tsub.u32 %lynxpp_other, %lynxpp_word, 1;\n\tand.b32 %lynxpp_other, %lynxpp_other, " +
      number((1u << leaving.shift) - 1) + ";\n";
  for (const auto& [counter, block] : divisions) {
    const auto way = std::ranges::find(leaving.ways, block, &Leaving::Way::block) - leaving.ways.begin();
    text += "\tsetp.eq.and.u32 %lynxpp_parts, %lynxpp_other, " + std::to_string(way) + ", %lynxpp_leads;\n";
    if (!in_memory(counter)) {
      text += count_one(*counter, "%lynxpp_parts");
      continue;
    }
    const std::string done = label();
    text += "\t@!%lynxpp_parts bra " + done + ";\n" + place_of_warp() +
            "\tmov.u64 %lynxpp_sum, 1;\n\tred.global.add.u64 " + at_slot(counter->slot) + ", %lynxpp_sum;\n" +
            done + ":\n";
  }
  return text + "\t}\n";
}

// ---------------------------------------------------------------- loops that lanes leave one after the other

std::string CountText::begin_loop(const LoopPlan& loop, const std::vector<const Counter*>& counters) const {
  std::string text;
  if (loop.mask_reg != no_counter) text = "\tactivemask.b32 " + register_of(loop.mask_reg) + ";\n";
  if (loop.leaving && loop.leaving->reg != no_counter) {
    const std::int32_t first = loop.leaving->entry ? 0 : loop.leaving->ways[loop.leaving->usual].number;
    text += "\tmov.b32 " + register_of(loop.leaving->reg) + ", " + std::to_string(first) + ";\n";
  }
  for (const Counter* counter : counters) {
    if (counter->lane_count) continue;
    const std::string count = register_of(counter->lane_reg);
    text += counter->lane_start == no_counter
                ? "\tmov.b32 " + count + ", 0;\n"
                : "\tmov.b32 " + register_of(counter->lane_start) + ", " + count + ";\n";
  }
  return text;
}

/// %lynxpp_part = what the lane has counted.
std::string CountText::lane_count(const LaneCount& count, const FunctionPlan& plan) {
  std::string text = "\tmov.b32 %lynxpp_part, " + std::to_string(count.constant) + ";\n";
  for (const LaneCount::Term& term : count.terms) {
    if (term.is_iterations) {
      text += read_iterations(plan.iterations[term.counter], "%lynxpp_other") +
              (term.is_negative ? "\tsub" : "\tadd") + ".u32 %lynxpp_part, %lynxpp_part, %lynxpp_other;\n";
      continue;
    }
    const Counter& counter = plan.counters[term.counter];
    std::string value = counter.is_bit ? "%lynxpp_other" : register_of(counter.reg);
    if (counter.is_bit) {
      text += "\tbfe.u32 %lynxpp_other, " + bits_of(counter) + ", " + number(position_of(counter)) + ", 1;\n";
    }
    text += std::string(term.is_negative ? "\tsub" : "\tadd") + ".u32 %lynxpp_part, %lynxpp_part, " + value +
            ";\n";
  }
  return text;
}

/// The register with what the lane has counted since the loop's begin.
std::string CountText::count_of_lane(const Counter& counter, const FunctionPlan& plan, std::string& text) {
  if (counter.lane_count) {
    text += lane_count(*counter.lane_count, plan);
    return "%lynxpp_part";
  }
  std::string count = register_of(counter.lane_reg);
  if (counter.lane_start == no_counter) return count;
  text += "\tsub.u32 %lynxpp_part, " + count + ", " + register_of(counter.lane_start) + ";\n";
  return "%lynxpp_part";
}

std::string CountText::end_loop(const LoopPlan& loop, const std::vector<const Counter*>& counters,
                                const std::vector<Division>& divisions, const FunctionPlan& plan) {
  const std::string mask = register_of(loop.mask_reg);
  std::string text(scratch());
  if (loop.mask_reg != no_counter) {
    text += "\tmov.u32 %lynxpp_lower, %lanemask_lt;\n\tand.b32 %lynxpp_lower, %lynxpp_lower, " + mask +
            ";\n\tsetp.eq.u32 %lynxpp_leads, %lynxpp_lower, 0;\n";
  }
  if (loop.leaving && loop.leaving->is_used) text += read_leaving(*loop.leaving, plan);
  for (const Counter* counter : counters) {
    std::string count = "%lynxpp_part";
    if (counter->lane_count && counter->lane_count->passed_way) {
      text += passages(*loop.leaving, *counter->lane_count->passed_way);
    } else {
      count = count_of_lane(*counter, plan, text);
    }
    const std::string sum = register_of(counter->reg);
    if (counter->storage == Counter::Storage::most) {
      text += "\tadd.u32 " + sum + ", " + sum + ", " + count + ";\n";
      continue;
    }
    text += "\tredux.sync.max.u32 %lynxpp_amount, " + count + ", " + mask + ";\n";
    switch (counter->storage) {
      case Counter::Storage::from_lane_0:
        text += "\tadd.u32 " + sum + ", " + sum + ", %lynxpp_amount;\n";
        break;
      case Counter::Storage::summed:
        text += "\t@%lynxpp_leads add.u32 " + sum + ", " + sum + ", %lynxpp_amount;\n";
        break;
      case Counter::Storage::any:
      case Counter::Storage::both:         // only bits
      case Counter::Storage::path:         // has no place
      case Counter::Storage::most: break;  // the lanes look at each other when they leave
      case Counter::Storage::memory: {
        const std::string done = label();
        text += "\t@!%lynxpp_leads bra " + done + ";\n" + place_of_warp() +
                "\tcvt.u64.u32 %lynxpp_sum, %lynxpp_amount;\n\tred.global.add.u64 " + at_slot(counter->slot) +
                ", %lynxpp_sum;\n" + done + ":\n";
        break;
      }
    }
  }
  if (!divisions.empty()) text += count_divisions(loop, divisions);
  return text + "\t}\n";
}

}  // namespace lynxpp::ptx
