#include "ptx/passes/memory/lane_values.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/memory/bank_sites.h"
#include "ptx/passes/memory/sector_lanes.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t word_bytes = 4;
constexpr std::uint64_t sector_bytes = 32;
constexpr std::size_t most_registers = 8;  // of a function: they are alive up to the last access
constexpr double loop_iterations = 8;
constexpr std::uint32_t deepest = 6;
/// Executions of accesses for one of the code at the pattern's place; where that is quick, one is enough.
constexpr double paying = 2;
/// Labels of the splice pass have the numbers below, those of its tallies the numbers above.
constexpr std::uint32_t first_label = 1u << 29;

const std::string sum_register = "%lynxpp_lane_sum";
const std::string wide_register = "%lynxpp_lane_wide";
const std::string word_register = "%lynxpp_lane_word";

/// Of the active mask in %lynxpp_lanes: they are the first ones of the warp.
constexpr std::string_view are_first_lanes =
    "\t{\n\t.reg .b32 %lynxpp_behind;\n\tadd.u32 %lynxpp_behind, %lynxpp_lanes, 1;\n"
    "\tand.b32 %lynxpp_behind, %lynxpp_behind, %lynxpp_lanes;\n"
    "\tsetp.eq.and.u32 %lynxpp_row, %lynxpp_behind, 0, %lynxpp_row;\n\t}\n";

std::string number(std::int64_t value) { return std::to_string(value); }

std::uint64_t access_kind(const OpcodeTraits& traits) {
  if (traits.kind == OpcodeClass::atomic) return 2;
  return traits.reads_memory ? 0 : 1;
}

/// Loads and stores of a word cost the same.
std::uint64_t bank_kind(std::uint32_t bytes, const OpcodeTraits& traits) {
  const std::uint64_t kind = access_kind(traits);
  return bytes == word_bytes && kind == 1 ? 0 : kind;
}

/// One value to be found out; what two sites have in common when these are equal.
struct Wanted {
  LanePattern pattern;
  std::string value;
  std::uint32_t bytes = 0;  ///< of the access, where that matters
  std::uint64_t kind = 0;   ///< likewise
  auto operator<=>(const Wanted&) const = default;
};

struct Group {
  std::vector<LaneSite> sites;
  double weight = 0;
  std::optional<Wanted> from;  ///< bank_lanes that it follows from
  bool has_rows = false;       ///< some site has RowSectors
};

class FunctionLanes {
 public:
  FunctionLanes(InstrumentationUnit& unit, const FunctionUnit& function, LaneValuePlan& plan,
                std::uint32_t& next_label)
      : unit_(unit),
        function_(function),
        body_(*function.function->body),
        analyses_(unit.analyses.of(*function.function)),
        plan_(plan),
        next_label_(next_label) {}

  bool run() {
    collect();
    want_what_others_follow_from();
    std::vector<std::pair<Wanted, Group>> chosen;
    for (auto& [wanted, group] : groups_) {
      const double least = is_quick(wanted) ? 1 : paying;
      if (group.weight >= least * weight_of(wanted.pattern.block)) chosen.emplace_back(wanted, group);
    }
    std::ranges::stable_sort(
        chosen, [](const auto& left, const auto& right) { return left.second.weight > right.second.weight; });
    if (chosen.size() > most_registers) chosen.resize(most_registers);
    if (chosen.empty()) return false;
    std::string text = "\n\t.reg .b64 " + sum_register + ", " + wide_register + ";\n\t.reg .b32 " +
                       word_register + ", " + std::string(banks_register) + ";\n";
    std::map<Wanted, std::string> registers;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      registers.emplace(chosen[i].first, "%lynxpp_lane_" + std::to_string(i));
    for (const auto& [wanted, group] : chosen) {
      const std::string& reg = registers.at(wanted);
      const auto known = group.from ? registers.find(*group.from) : registers.end();
      const bool has_rows = group.has_rows && is_quick(wanted);
      text += "\t.reg .b32 " + reg + ";\n";
      if (has_rows) text += "\t.reg .b32 " + row_register(reg) + ";\n";
      write(wanted, reg, known == registers.end() ? std::string() : known->second, has_rows);
      for (const LaneSite& site : group.sites) {
        keep(wanted.value, site, reg);
        if (has_rows) plan_.rows.emplace(site, row_register(reg));
      }
    }
    unit_.edits.insert_before(function_.function->body_text.begin + 1, text);
    return true;
  }

 private:
  void keep(const std::string& value, const LaneSite& site, const std::string& reg) {
    if (value != bank_lanes_value) {
      plan_.registers.emplace(std::pair(site, value), reg);
      return;
    }
    plan_.bank_lanes.emplace(site, reg);
    plan_.registers.emplace(std::pair(site, std::string(hoisted_banks_value)), banks_register);
  }

  /// What is found out inside a loop or branch may follow from what lanes know before.
  void want_what_others_follow_from() {
    std::vector<std::pair<Wanted, double>> wanted_too;
    for (const auto& [wanted, group] : groups_) {
      const double own = weight_of(wanted.pattern.block);
      if (group.from && group.weight >= paying * own) wanted_too.emplace_back(*group.from, own);
    }
    for (const auto& [wanted, weight] : wanted_too) groups_[wanted].weight += weight;
  }

  double weight_of(std::uint32_t block) {
    return std::pow(loop_iterations, std::min(analyses_.loops().depth_of(block), deepest));
  }

  void collect() {
    for (const Probe& probe : unit_.probes) {
      const bool is_at_instruction =
          probe.point == ProbePoint::instruction || probe.point == ProbePoint::instruction_after;
      if (!probe.enabled || !probe.with_lane_values || !is_at_instruction) continue;
      for (std::uint32_t i = 0; i < body_.instructions.size(); ++i) {
        const Instruction& instruction = body_.instructions[i];
        if (!instruction.traits.is_memory_access() || !probe.matches(instruction)) continue;
        const std::uint32_t id = function_.first_instruction + i;
        const auto number = static_cast<std::uint32_t>(&probe - unit_.probes.data());
        if (measured_at(unit_, number, id) == id) collect(probe, number, i);
      }
    }
  }

  void collect(const Probe& probe, std::uint32_t number, std::uint32_t index) {
    const Instruction& instruction = body_.instructions[index];
    const std::uint32_t which = probe.access ? probe.access(instruction) : 0;
    const MemoryAccesses accesses = memory_accesses(instruction);
    if (which >= accesses.count || accesses.access[which].address == nullptr) return;
    const double weight = weight_of(function_.graph.block_of[index]);
    for (const std::string& value : probe.with_lane_values->site_values()) {
      if (!is_lane_value(value)) continue;
      std::optional<Wanted> from;
      const auto known = unit_.sector_patterns.find({number, function_.first_instruction + index});
      const std::optional<Wanted> wanted =
          value == sector_threshold_value && known != unit_.sector_patterns.end()
              ? std::optional(Wanted{known->second, value, 0, 0})
              : wanted_at(value, index, accesses.access[which], from);
      const LaneSite site{function_.first_instruction + index, which};
      if (!wanted || !seen_.emplace(site, value).second) continue;
      Group& group = groups_[*wanted];
      group.sites.push_back(site);
      group.weight += weight;
      group.has_rows |= unit_.row_sectors.contains({number, site.first});
      if (!group.from) group.from = from;
    }
  }

  /// `from`: what it follows from.
  std::optional<Wanted> wanted_at(const std::string& value, std::uint32_t index, const MemoryAccess& access,
                                  std::optional<Wanted>& from) {
    const Instruction& instruction = body_.instructions[index];
    const std::optional<LanePattern> same = analyses_.lane_patterns().of_address(index, *access.address);
    const std::optional<Wanted> of_same =
        same ? wanted_of(value, *same, access, instruction) : std::optional<Wanted>();
    if (value != hoisted_banks_value) return of_same;
    // Loads of more than a word: which groups of lanes are served as one depends on which are there.
    const bool is_wide_load = access.bytes > word_bytes && access_kind(instruction.traits) == 0;
    const std::optional<LanePattern> some =
        is_wide_load ? std::nullopt : analyses_.lane_patterns().of_some_lanes(index, *access.address);
    if (!some || same == some) return of_same;
    const std::optional<Wanted> of_some =
        wanted_of(std::string(bank_lanes_value), *some, access, instruction);
    const double own_weight = weight_of(function_.graph.block_of[index]);
    if (!of_same || own_weight < paying * weight_of(same->block)) return of_some;
    const bool is_before =
        some->block != same->block && analyses_.dominators().dominates(some->block, same->block);
    if (is_before) from = of_some;
    return of_same;
  }

  /// nullopt where the differences of the addresses do not tell the value.
  static std::optional<Wanted> wanted_of(const std::string& value, const LanePattern& pattern,
                                         const MemoryAccess& access, const Instruction& instruction) {
    if (value == sector_threshold_value) {
      // Differences of 32-bit addresses would have to be widened first, and no global address has 32 bits.
      return pattern.bits == 64 ? std::optional(Wanted{pattern, value, 0, 0}) : std::nullopt;
    }
    // Less than a word: where in its word the first lane's access lies decides who shares one.
    if (access.bytes != 4 && access.bytes != 8 && access.bytes != 16) return std::nullopt;
    return Wanted{pattern, value, access.bytes, bank_kind(access.bytes, instruction.traits)};
  }

  static std::string row_register(const std::string& reg) {
    return "%lynxpp_row_" + reg.substr(reg.rfind('_') + 1);
  }

  /// `bank_lanes`: the register that has them, if the value follows from it.
  void write(const Wanted& wanted, const std::string& reg, const std::string& bank_lanes, bool has_rows) {
    std::string text = "\n\tmov.b64 " + sum_register + ", 0;\n";
    for (const LaneTerm& term : wanted.pattern.terms) append_term(term, wanted.pattern.bits, text);
    SiteBinding binding;
    binding.site = next_label_++;
    binding.site_value = [&](std::string_view name) -> std::string {
      if (name == lane_result_value) return reg;
      if (name == bank_lanes_value) return bank_lanes;
      if (name == "access_size") return number(wanted.bytes);
      if (name == "access_kind") return number(static_cast<std::int64_t>(wanted.kind));
      return sum_register;
    };
    const ProbeRoutine& routine = bank_lanes.empty()
                                      ? unit_.lane_routines.at(wanted.value)
                                      : unit_.lane_routines.find(banks_of_some_lanes_value)->second;
    for (const std::uint32_t each : routine.functions()) unit_.routine_functions.use(each);
    const bool may_ascend = wanted.value == sector_threshold_value && SectorLanes::is_possible(unit_);
    const std::string known = "$lynxpp_ascending_" + std::to_string(binding.site);
    if (may_ascend) text += SectorLanes::threshold_where_ascending(sum_register, reg, known);
    routine.append(binding, text);
    if (may_ascend) text += known + ":\n";
    if (is_quick(wanted)) text = in_whole_rows(wanted.pattern, binding.site, reg, text, has_rows);
    unit_.edits.insert_before(body_.instructions[wanted.pattern.instruction].text.begin, text + "\t");
  }

  /// See in_whole_rows().
  static bool is_quick(const Wanted& wanted) {
    const auto is_index = [](const LaneTerm& term) { return term.kind == LaneTerm::Kind::thread_index; };
    return wanted.value == sector_threshold_value && std::ranges::all_of(wanted.pattern.terms, is_index);
  }

  /// `text`, but for warps of thread blocks with one row, or whose rows are made of warps, where patterns of
  /// thread indices differ as the numbers of the lanes do, what it finds out at once; and for warps that are
  /// made of rows where only the position in a row counts. Sites with RowSectors need full warps, all others
  /// the lanes from the first one on.
  static std::string in_whole_rows(const LanePattern& pattern, std::uint32_t site, const std::string& reg,
                                   const std::string& text, bool has_rows) {
    std::int64_t step = 0;
    for (const LaneTerm& term : pattern.terms) {
      if (term.id == 0) step = term.coefficient;
    }
    const bool descends = step < 0;
    const std::uint64_t size =
        descends ? -static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
    const std::string distance = number(static_cast<std::int64_t>(std::min(size, sector_bytes)));
    const std::string known = "$lynxpp_row_" + std::to_string(site);
    const std::string row = row_register(reg);
    const std::string distance_to_first =
        "\tmul.lo.s32 " + row + ", %lynxpp_lanes, " + number(-(step % std::int64_t{sector_bytes})) + ";\n";
    const std::string unless_row = "\tselp.b32 " + row + ", " + row + ", 1, %lynxpp_row;\n";
    const bool repeats = step > 0 && pattern.terms.size() == 1;
    return "\n\t{\n\t.reg .pred %lynxpp_row;\n\t.reg .b32 %lynxpp_lanes, %lynxpp_rows;\n"
           "\tmov.u32 %lynxpp_lanes, %laneid;\n\tsetp.eq.u32 %lynxpp_row, %lynxpp_lanes, " +
           std::string(descends ? "31" : "0") + ";\n\tselp.b32 " + reg + ", " + number(sector_bytes) + ", " +
           distance + ", %lynxpp_row;\n" + (has_rows ? distance_to_first : "") +
           "\tmov.u32 %lynxpp_lanes, %ntid.y;\n\tmov.u32 %lynxpp_rows, %ntid.z;\n"
           "\tor.b32 %lynxpp_rows, %lynxpp_rows, %lynxpp_lanes;\n\tsetp.eq.u32 %lynxpp_row, %lynxpp_rows, "
           "1;\n"
           "\tmov.u32 %lynxpp_lanes, %ntid.x;\n\tand.b32 %lynxpp_lanes, %lynxpp_lanes, 31;\n"
           "\tsetp.eq.or.u32 %lynxpp_row, %lynxpp_lanes, 0, %lynxpp_row;\n\tactivemask.b32 %lynxpp_lanes;\n" +
           (has_rows || descends
                ? std::string("\tsetp.eq.and.u32 %lynxpp_row, %lynxpp_lanes, -1, %lynxpp_row;\n")
                : std::string(are_first_lanes)) +
           (has_rows ? unless_row : "") + "\t@%lynxpp_row bra " + known + ";\n" +
           (repeats ? in_repeated_rows(site, reg, distance, known) : std::string()) + text + known +
           ":\n\t}\n";
  }

  /// For the first lanes of warps that are made of rows, where a lane's address is that of the lane in the
  /// row before.
  static std::string in_repeated_rows(std::uint32_t site, const std::string& reg, const std::string& distance,
                                      const std::string& known) {
    const std::string other = "$lynxpp_no_rows_" + std::to_string(site);
    return "\tmov.u32 %lynxpp_rows, %ntid.x;\n\tsetp.le.u32 %lynxpp_row, %lynxpp_rows, 32;\n" +
           std::string(are_first_lanes) +
           "\tadd.u32 %lynxpp_lanes, %lynxpp_rows, -1;\n\tand.b32 %lynxpp_rows, %lynxpp_rows, "
           "%lynxpp_lanes;\n\tsetp.eq.and.u32 %lynxpp_row, %lynxpp_rows, 0, %lynxpp_row;\n\t@!%lynxpp_row "
           "bra " +
           other +
           ";\n\tmov.u32 %lynxpp_rows, %laneid;\n\tand.b32 %lynxpp_rows, %lynxpp_rows, %lynxpp_lanes;\n"
           "\tsetp.eq.u32 %lynxpp_row, %lynxpp_rows, 0;\n\tselp.b32 " +
           reg + ", " + number(sector_bytes) + ", " + distance +
           ", %lynxpp_row;\n\tmov.u32 %lynxpp_rows, %laneid;\n\tsetp.gt.u32 %lynxpp_row, %lynxpp_rows, "
           "%lynxpp_lanes;\n\tselp.b32 " +
           reg + ", 0, " + reg + ", %lynxpp_row;\n\tbra " + known + ";\n" + other + ":\n";
  }

  void append_term(const LaneTerm& term, std::uint8_t bits, std::string& text) {
    std::string source = word_register;
    if (term.kind == LaneTerm::Kind::thread_index) {
      text += "\tmov.u32 " + word_register + ", %tid." + static_cast<char>('x' + term.id) + ";\n";
    } else {
      source = std::string(analyses_.registers().registers()[term.id].name);
    }
    if (term.kind == LaneTerm::Kind::value && bits == 64) {
      text += "\tmov.b64 " + wide_register + ", " + source + ";\n";
    } else {
      const bool is_signed = term.kind == LaneTerm::Kind::sign_extended;
      text += std::string("\tcvt.") + (is_signed ? "s64.s32 " : "u64.u32 ") + wide_register + ", " + source +
              ";\n";
    }
    text += "\tmad.lo.s64 " + sum_register + ", " + wide_register + ", " + number(term.coefficient) + ", " +
            sum_register + ";\n";
  }

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  FunctionAnalyses& analyses_;
  LaneValuePlan& plan_;
  std::uint32_t& next_label_;
  std::map<Wanted, Group> groups_;
  std::set<std::pair<LaneSite, std::string>> seen_;  ///< several probes may ask for the same
};

class LaneValues final : public Pass {
 public:
  std::string_view name() const override { return "lane-values"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    if (unit.lane_routines.empty()) return false;
    auto plan = std::make_shared<LaneValuePlan>();
    std::uint32_t next_label = first_label;
    bool changed = false;
    for (const FunctionUnit& function : unit.functions) {
      if (function.instrumented) changed |= FunctionLanes(unit, function, *plan, next_label).run();
    }
    unit.lane_values = std::move(plan);
    return changed;
  }
};

}  // namespace

bool is_lane_value(std::string_view site_value) {
  return site_value == sector_threshold_value || site_value == hoisted_banks_value;
}

const std::string* LaneValuePlan::find(const LaneSite& site, std::string_view value) const {
  const auto found = registers.find(std::pair(site, std::string(value)));
  return found == registers.end() ? nullptr : &found->second;
}

bool LaneValuePlan::serves(const LaneSite& site, const ProbeRoutine& routine) const {
  return std::ranges::all_of(routine.site_values(), [&](const std::string& value) {
    return !is_lane_value(value) || find(site, value) != nullptr;
  });
}

std::unique_ptr<Pass> make_lane_values_pass() { return std::make_unique<LaneValues>(); }

}  // namespace lynxpp::ptx
