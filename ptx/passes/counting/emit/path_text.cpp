// The PTX of regions whose lanes note their paths (paths.h).
//
// Lane i counts bit i in a register. Where it is missing, because it has left the loop or was never launched,
// the lowest lane that is there counts for it in vertical counters: bit i of register k is bit k of the
// count. What overflows them is added to memory at once.
#include "ptx/passes/counting/emit/text.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t vertical_registers = 4;

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string vertical(std::uint32_t index) { return "%lynxpp_path_rest" + number(index); }

}  // namespace

std::string CountText::declare_paths(const PathPlan& paths) {
  if (!paths.counts_by_lanes()) return "\t.reg .b32 %lynxpp_path, %lynxpp_path_lanes;\n";
  return "\t.reg .b32 %lynxpp_path, %lynxpp_path_lanes, %lynxpp_path_own, %lynxpp_path_count;\n"
         "\t.reg .b32 %lynxpp_path_rest<" +
         number(vertical_registers) + ">;\n";
}

std::string CountText::begin_paths() {
  std::string text =
      "\tmov.b32 %lynxpp_path_count, 0;\n\tmov.u32 %lynxpp_path, %laneid;\n"
      "\tmov.b32 %lynxpp_path_own, 1;\n\tshl.b32 %lynxpp_path_own, %lynxpp_path_own, %lynxpp_path;\n";
  for (std::uint32_t i = 0; i < vertical_registers; ++i) text += "\tmov.b32 " + vertical(i) + ", 0;\n";
  return text;
}

std::string CountText::begin_region() {
  return "\tactivemask.b32 %lynxpp_path_lanes;\n\tmov.b32 %lynxpp_path, 0;\n";
}

std::string CountText::mark_path(const PathPlan& paths, std::uint32_t mark, const Guard& guard) {
  const std::string when =
      guard.predicate.empty() ? "" : (guard.negated ? "@!" : "@") + std::string(guard.predicate) + " ";
  return "\t" + when + "or.b32 %lynxpp_path, %lynxpp_path, " +
         number(paths.sum ? paths.sum->bits[mark] : 1u << mark) + ";\n";
}

/// `amount` more for each mark whose bit is set. Clears `bits`. Few registers are in use at a time: there are
/// as many for the whole kernel as at the place that needs most. The time tells the replica, which ptxas
/// would read long before and keep were it the warp's.
std::string CountText::add_each_bit(const std::string& bits, std::uint32_t slot, const std::string& amount) {
  const std::string again = label();
  return again + ":\n\tbfind.u32 %lynxpp_other, " + bits + ";\n" + amount +
         "\tmov.u32 %lynxpp_part, %clock;\n\tand.b32 %lynxpp_part, %lynxpp_part, " +
         number(target_.replicas - 1) + ";\n\tmad.lo.u32 %lynxpp_part, %lynxpp_part, " +
         number(target_.stride) + ", %lynxpp_other;\n\tld.param.b64 %lynxpp_slot, [" +
         std::string(probe_parameter) + "+" + number(8 * std::uint64_t{target_.word}) +
         "];\n\tmad.wide.u32 %lynxpp_slot, %lynxpp_part, 8, %lynxpp_slot;\n\tred.global.add.u64 "
         "[%lynxpp_slot+" +
         number(8 * std::uint64_t{slot}) +
         "], %lynxpp_sum;\n\tmov.b32 %lynxpp_part, 1;\n\tshl.b32 %lynxpp_part, %lynxpp_part, "
         "%lynxpp_other;\n\txor.b32 " +
         bits + ", " + bits + ", %lynxpp_part;\n\tsetp.ne.u32 %lynxpp_leads, " + bits +
         ", 0;\n\t@%lynxpp_leads bra " + again + ";\n";
}

/// %lynxpp_word has the bits that any lane has set. The first lane adds what they are worth.
std::string CountText::add_worth(const PathPlan::Sum& sum, const PathPlan::Region& region,
                                 const Counter& counter) {
  const std::string done = label();
  std::string text =
      "\tmov.u32 %lynxpp_lower, %lanemask_lt;\n"
      "\tand.b32 %lynxpp_lower, %lynxpp_lower, %lynxpp_path_lanes;\n"
      "\tsetp.ne.u32 %lynxpp_leads, %lynxpp_lower, 0;\n\t@%lynxpp_leads bra " +
      done + ";\n\tpopc.b32 %lynxpp_amount, %lynxpp_word;\n";
  std::uint32_t more = 1;  // than those of the level below
  for (const std::uint32_t bits : sum.worth) {
    text += "\tand.b32 %lynxpp_part, %lynxpp_word, " + number(bits) +
            ";\n\tpopc.b32 %lynxpp_part, %lynxpp_part;\n\tmad.lo.u32 %lynxpp_amount, %lynxpp_part, " +
            number(more) + ", %lynxpp_amount;\n";
    more *= 2;
  }
  if (region.worth != 0) text += "\tadd.u32 %lynxpp_amount, %lynxpp_amount, " + number(region.worth) + ";\n";
  const std::string total = name(counter.reg);
  return text + "\tadd.u32 " + total + ", " + total + ", %lynxpp_amount;\n" + done + ":\n\t}\n";
}

std::string CountText::end_region(const FunctionPlan& plan, const PathPlan::Region& region) {
  const PathPlan& paths = plan.paths;
  const std::string together = "\tredux.sync.or.b32 %lynxpp_word, %lynxpp_path, %lynxpp_path_lanes;\n";
  if (paths.sum) {
    return std::string(scratch()) + together +
           add_worth(*paths.sum, region, plan.counters[paths.sum->counter]);
  }
  const std::string done = label();
  std::string text(scratch());
  text += "\t.reg .b64 %lynxpp_slot;\n" + together +
          "\tand.b32 %lynxpp_part, %lynxpp_word, %lynxpp_path_own;\n"
          "\tsetp.ne.u32 %lynxpp_leads, %lynxpp_part, 0;\n"
          "\t@%lynxpp_leads add.u32 %lynxpp_path_count, %lynxpp_path_count, 1;\n"
          "\tnot.b32 %lynxpp_other, %lynxpp_path_lanes;\n"
          "\tand.b32 %lynxpp_word, %lynxpp_word, %lynxpp_other;\n"
          "\tsetp.eq.u32 %lynxpp_leads, %lynxpp_word, 0;\n\t@%lynxpp_leads bra " +
          done +
          ";\n\tsub.u32 %lynxpp_lower, %lynxpp_path_own, 1;\n"
          "\tand.b32 %lynxpp_lower, %lynxpp_lower, %lynxpp_path_lanes;\n"
          "\tsetp.ne.u32 %lynxpp_leads, %lynxpp_lower, 0;\n"
          "\tselp.b32 %lynxpp_word, 0, %lynxpp_word, %lynxpp_leads;\n";
  for (std::uint32_t i = 0; i < vertical_registers; ++i) {
    text += "\tand.b32 %lynxpp_part, " + vertical(i) + ", %lynxpp_word;\n\txor.b32 " + vertical(i) + ", " +
            vertical(i) + ", %lynxpp_word;\n\tmov.b32 %lynxpp_word, %lynxpp_part;\n";
  }
  return text + "\tsetp.eq.u32 %lynxpp_leads, %lynxpp_word, 0;\n\t@%lynxpp_leads bra " + done + ";\n" +
         add_each_bit("%lynxpp_word", paths.slot,
                      "\tmov.u64 %lynxpp_sum, " + number(1u << vertical_registers) + ";\n") +
         done + ":\n\t}\n";
}

std::string CountText::flush_paths(const PathPlan& paths, const Guard& guard, bool leaves_together) {
  const std::string done = label();
  const std::string add = label();
  const std::string some = label();
  const std::string again = label();
  std::string text(scratch());
  text += "\t.reg .b64 %lynxpp_slot;\n\t.reg .b32 %lynxpp_rest, %lynxpp_lane;\n";
  if (!guard.predicate.empty()) {
    text += std::string("\t@") + (guard.negated ? "" : "!") + std::string(guard.predicate) + " bra " + done +
            ";\n";
  }
  text += "\tmov.b32 %lynxpp_rest, 0;\n";
  for (std::uint32_t i = 0; i < vertical_registers; ++i)
    text += "\tor.b32 %lynxpp_rest, %lynxpp_rest, " + vertical(i) + ";\n";
  text += leaves_together ? "\tmov.b32 %lynxpp_mask, " + std::string(launched_name) + ";\n"
                          : "\tactivemask.b32 %lynxpp_mask;\n";
  text += "\tor.b32 %lynxpp_part, %lynxpp_rest, %lynxpp_path_count;\n" +
          branch_if_all("eq.u32 %lynxpp_leads, %lynxpp_part, 0", done) + place_of_warp() +
          "\tmov.u32 %lynxpp_lane, %laneid;\n\tsetp.ne.u32 %lynxpp_leads, %lynxpp_rest, 0;\n"
          "\tvote.sync.ballot.b32 %lynxpp_group, %lynxpp_leads, %lynxpp_mask;\n"
          "\tsetp.eq.u32 %lynxpp_leads, %lynxpp_group, 0;\n\t@%lynxpp_leads bra " +
          add + ";\n\tsetp.ne.b32 %lynxpp_leads, %lynxpp_mask, -1;\n\t@%lynxpp_leads bra " + some + ";\n" +
          again + ":\n\tbfind.u32 %lynxpp_other, %lynxpp_group;\n";
  for (std::uint32_t i = 0; i < vertical_registers; ++i) {
    text += "\tshfl.sync.idx.b32 %lynxpp_part, " + vertical(i) +
            ", %lynxpp_other, 31, -1;\n\tbfe.u32 %lynxpp_part, %lynxpp_part, %lynxpp_lane, 1;\n"
            "\tmad.lo.u32 %lynxpp_path_count, %lynxpp_part, " +
            number(1u << i) + ", %lynxpp_path_count;\n";
  }
  text +=
      "\tmov.b32 %lynxpp_part, 1;\n\tshl.b32 %lynxpp_part, %lynxpp_part, %lynxpp_other;\n"
      "\txor.b32 %lynxpp_group, %lynxpp_group, %lynxpp_part;\n"
      "\tsetp.ne.u32 %lynxpp_leads, %lynxpp_group, 0;\n\t@%lynxpp_leads bra " +
      again + ";\n\tbra " + add + ";\n" + some +
      ":\n\tsetp.eq.u32 %lynxpp_leads, %lynxpp_rest, 0;\n\t@%lynxpp_leads bra " + add + ";\n";
  std::string amount = "\tmov.b32 %lynxpp_amount, 0;\n";
  for (std::uint32_t i = 0; i < vertical_registers; ++i) {
    amount += "\tbfe.u32 %lynxpp_part, " + vertical(i) +
              ", %lynxpp_other, 1;\n\tmad.lo.u32 %lynxpp_amount, %lynxpp_part, " + number(1u << i) +
              ", %lynxpp_amount;\n";
  }
  amount += "\tcvt.u64.u32 %lynxpp_sum, %lynxpp_amount;\n";
  return text + add_each_bit("%lynxpp_rest", paths.slot, amount) + add +
         ":\n\tsetp.ne.u32 %lynxpp_leads, %lynxpp_path_count, 0;\n"
         "\tcvt.u64.u32 %lynxpp_sum, %lynxpp_path_count;\n"
         "\tmad.wide.u32 %lynxpp_slot, %lynxpp_lane, 8, %lynxpp_place;\n"
         "\t@%lynxpp_leads red.global.add.u64 [%lynxpp_slot+" +
         number(8 * std::uint64_t{paths.slot}) + "], %lynxpp_sum;\n" + done + ":\n\t}\n";
}

}  // namespace lynxpp::ptx
