#include "ptx/passes/memory/lane_values.h"

#include <algorithm>
#include <set>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/cost_model.h"
#include "ptx/passes/facts.h"
#include "ptx/passes/memory/bank_sites.h"
#include "ptx/passes/memory/lane_value_plan.h"
#include "ptx/passes/memory/sector_lanes.h"

namespace lynxpp::ptx {
namespace {

/// Holds if `mask` contains exactly the lowest lanes of the warp, and `also` holds.
VirtualRegister are_first_lanes(VirtualRegister mask, VirtualRegister also, CodeBuilder& code) {
  const VirtualRegister first_hole = code.b32("add.u32", {mask, 1});
  const VirtualRegister holes = code.b32("and.b32", {first_hole, mask});
  return code.pred("setp.eq.and.u32", {holes, 0, also});
}

/// A value to compute. Sites with equal keys share it.
struct Wanted {
  LanePattern pattern;
  std::string value;
  std::uint32_t bytes = 0;  ///< of the access, if relevant
  std::uint64_t kind = 0;   ///< of the access, if relevant
  auto operator<=>(const Wanted&) const = default;
};

struct Sharing {
  std::vector<LaneSite> sites;
  double weight = 0;
  std::optional<Wanted> from;  ///< the bank_lanes that it is computed from
  bool has_rows = false;       ///< some site has RowSectors
};

class FunctionLanes {
 public:
  FunctionLanes(InstrumentationUnit& unit, const FunctionUnit& function, LaneValuePlan& plan)
      : unit_(unit),
        function_(function),
        body_(*function.function->body),
        analyses_(*function.analyses),
        names_(unit.edits.names(*function.function)),
        plan_(plan) {}

  void run() {
    collect();
    want_what_others_follow_from();
    std::vector<std::pair<Wanted, Sharing>> chosen;
    for (auto& [wanted, group] : groups_) {
      const double least = is_quick(wanted) ? 1 : cost::least_reuse;
      if (group.weight >= least * weight_of(wanted.pattern.block)) chosen.emplace_back(wanted, group);
    }
    std::ranges::stable_sort(
        chosen, [](const auto& left, const auto& right) { return left.second.weight > right.second.weight; });
    if (chosen.size() > cost::registers_of_lane_values) chosen.resize(cost::registers_of_lane_values);
    if (chosen.empty()) return;
    std::map<Wanted, VirtualRegister> registers;
    for (const auto& [wanted, group] : chosen) registers.emplace(wanted, names_.fresh(RegisterType::b32));
    const VirtualRegister banks = names_.fresh(RegisterType::b32);  // computed at the site
    for (const auto& [wanted, group] : chosen) {
      const VirtualRegister reg = registers.at(wanted);
      const auto known = group.from ? registers.find(*group.from) : registers.end();
      const std::optional<VirtualRegister> bank_lanes =
          known == registers.end() ? std::nullopt : std::optional(known->second);
      std::optional<VirtualRegister> row;
      if (group.has_rows && is_quick(wanted)) row = names_.fresh(RegisterType::b32);
      write(wanted, reg, bank_lanes, row);
      for (const LaneSite& site : group.sites) {
        keep(site, wanted.value, reg);
        if (wanted.value == bank_lanes_value) keep(site, hoisted_banks_value, banks);
        if (row) keep(site, lane_row_value, *row);
      }
    }
  }

 private:
  void keep(const LaneSite& site, std::string_view value, VirtualRegister reg) {
    plan_.registers.emplace(std::pair(site, std::string(value)), reg);
  }

  /// A value computed inside a loop or branch may follow from one that lanes know earlier.
  void want_what_others_follow_from() {
    for (const auto& [wanted, group] : groups_) {
      const double own = weight_of(wanted.pattern.block);
      if (group.from && group.weight >= cost::least_reuse * own) groups_[*group.from].weight += own;
    }
  }

  double weight_of(std::uint32_t block) {
    return cost::executions_in_loops(analyses_.loops().depth_of(block));
  }

  void collect() {
    for (std::uint32_t number = 0; number < unit_.spliced.probes.size(); ++number) {
      const Probe& probe = unit_.spliced.probes[number];
      const bool is_at_instruction =
          probe.point == ProbePoint::instruction || probe.point == ProbePoint::instruction_after;
      if (!probe.enabled || !probe.with_lane_values || !is_at_instruction) continue;
      for (std::uint32_t i = 0; i < body_.instructions.size(); ++i) {
        const Instruction& instruction = body_.instructions[i];
        if (!instruction.traits.is_memory_access() || !probe.matches(instruction)) continue;
        const std::uint32_t id = function_.first_instruction + i;
        if (unit_.memory.measured_at(number, id) == id) collect(probe, number, i);
      }
    }
  }

  void collect(const Probe& probe, std::uint32_t number, std::uint32_t index) {
    const Instruction& instruction = body_.instructions[index];
    const std::optional<MemoryAccess> access = probe.access_at(instruction);
    if (!access || !access->follows_from_lanes() || access->selects_lanes()) return;
    const double weight = weight_of(function_.graph().block_of[index]);
    for (const std::string& value : probe.with_lane_values->site_values()) {
      if (!is_lane_value(value)) continue;
      std::optional<Wanted> from;
      const MemorySite* const known = unit_.memory.find(number, function_.first_instruction + index);
      const std::optional<Wanted> wanted =
          value == sector_threshold_value && known != nullptr && known->pattern
              ? std::optional(Wanted{*known->pattern, value, 0, 0})
              : wanted_at(value, index, *access, from);
      const LaneSite site{function_.first_instruction + index, probe.side_at(instruction)};
      if (!wanted || !seen_.emplace(site, value).second) continue;
      Sharing& group = groups_[*wanted];
      group.sites.push_back(site);
      group.weight += weight;
      group.has_rows |= known != nullptr && known->rows.has_value();
      if (!group.from) group.from = from;
    }
  }

  /// Sets `from` to the value that it is computed from.
  std::optional<Wanted> wanted_at(const std::string& value, std::uint32_t index, const MemoryAccess& access,
                                  std::optional<Wanted>& from) {
    const std::optional<LanePattern> same = analyses_.lane_patterns().of_address(index, *access.address);
    std::optional<Wanted> of_same = same ? wanted_of(value, *same, access) : std::optional<Wanted>();
    if (value != hoisted_banks_value) return of_same;
    // Loads wider than a 4-byte word: the grouping of lanes into transactions depends on the active lanes.
    const bool is_wide_load = access.bytes > word_bytes && access_kind(access) == 0;
    const std::optional<LanePattern> some =
        is_wide_load ? std::nullopt : analyses_.lane_patterns().of_some_lanes(index, *access.address);
    if (!some || same == some) return of_same;
    std::optional<Wanted> of_some = wanted_of(std::string(bank_lanes_value), *some, access);
    const double own_weight = weight_of(function_.graph().block_of[index]);
    if (!of_same || own_weight < cost::least_reuse * weight_of(same->block)) return of_some;
    const bool is_before =
        some->block != same->block && analyses_.dominators().dominates(some->block, same->block);
    if (is_before) from = of_some;
    return of_same;
  }

  /// nullopt: the value does not follow from the address differences.
  static std::optional<Wanted> wanted_of(const std::string& value, const LanePattern& pattern,
                                         const MemoryAccess& access) {
    if (value == sector_threshold_value) {
      // Differences of 32-bit addresses would have to be widened first, and no global address has 32 bits.
      return pattern.bits == 64 ? std::optional(Wanted{pattern, value, 0, 0}) : std::nullopt;
    }
    // Below a 4-byte word, the first lane's offset in its word determines which lanes share one.
    if (!is_whole_words(access.bytes)) return std::nullopt;
    return Wanted{pattern, value, access.bytes, bank_kind(access)};
  }

  /// `bank_lanes`: the register that holds them, if the value follows from it. `row`: lane_row_value.
  void write(const Wanted& wanted, VirtualRegister reg, std::optional<VirtualRegister> bank_lanes,
             std::optional<VirtualRegister> row) {
    const std::uint32_t position = body_.instructions[wanted.pattern.instruction].text.begin;
    if (is_quick(wanted) && analyses_.launch().has_whole_rows)
      return unit_.edits.insert_before(position, in_rows(wanted.pattern, reg, row));
    CodeBuilder code(names_);
    const VirtualRegister sum = code.b64("mov.b64", {0});
    for (const LaneTerm& term : wanted.pattern.terms) add_term(term, wanted.pattern.bits, sum, code);
    SiteBinding binding;
    binding.site_value = [&](std::string_view name) -> CodeOperand {
      if (name == lane_result_value) return reg;
      if (name == bank_lanes_value && bank_lanes) return *bank_lanes;
      if (name == "access_size") return wanted.bytes;
      if (name == "access_kind") return wanted.kind;
      return sum;
    };
    const ProbeRoutine& routine = bank_lanes
                                      ? unit_.spliced.lane_routines.find(banks_of_some_lanes_value)->second
                                      : unit_.spliced.lane_routines.at(wanted.value);
    unit_.spliced.routine_functions.use(routine.functions());
    const bool may_ascend = wanted.value == sector_threshold_value && SectorLanes::is_possible(unit_);
    const Label known = code.fresh_label();
    if (may_ascend) SectorLanes::add_threshold_where_ascending(sum, reg, known, code);
    code.append(routine.copy(binding, names_));
    if (may_ascend) code.place(known);
    Code all = code.take();
    if (is_quick(wanted)) all = in_whole_rows(wanted.pattern, reg, row, std::move(all));
    unit_.edits.insert_before(position, std::move(all));
  }

  /// See in_whole_rows().
  static bool is_quick(const Wanted& wanted) {
    const auto is_index = [](const LaneTerm& term) { return term.kind == LaneTerm::Kind::thread_index; };
    return wanted.value == sector_threshold_value && std::ranges::all_of(wanted.pattern.terms, is_index);
  }

  static std::int64_t step_of(const LanePattern& pattern) {
    for (const LaneTerm& term : pattern.terms) {
      if (term.id == 0) return term.coefficient;
    }
    return 0;
  }

  /// Computes the threshold in launches with whole rows: the distance to the next active lane on the side of
  /// the lower addresses.
  Code in_rows(const LanePattern& pattern, VirtualRegister reg, std::optional<VirtualRegister> row) {
    const std::int64_t step = step_of(pattern);
    const bool descends = step < 0;
    const std::uint64_t size =
        descends ? -static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
    CodeBuilder code(names_);
    const VirtualRegister lane = code.special("%laneid");
    if (row) code.emit("mul.lo.s32", {*row, lane, -(step % static_cast<std::int64_t>(sector_bytes))});
    if (function_.function->is_entry && analyses_.lane_patterns().is_converged(pattern.block)) {
      const VirtualRegister begins = code.pred("setp.eq.u32", {lane, descends ? 31 : 0});
      code.emit("selp.b32", {reg, sector_bytes, std::min<std::uint64_t>(size, sector_bytes), begins});
      return code.take();
    }
    const VirtualRegister mask = code.active_mask();
    const VirtualRegister side = code.special(descends ? "%lanemask_gt" : "%lanemask_lt");
    const VirtualRegister others = code.b32("and.b32", {mask, side});
    const VirtualRegister begins = code.pred("setp.eq.u32", {others, 0});
    VirtualRegister next = others;
    if (descends) next = code.b32("and.b32", {others, code.b32("neg.s32", {others})});
    next = code.b32("bfind.u32", {next});
    const VirtualRegister lanes =
        descends ? code.b32("sub.u32", {next, lane}) : code.b32("sub.u32", {lane, next});
    code.emit("mul.lo.u32", {reg, lanes, std::min<std::uint64_t>(size, sector_bytes)});
    code.emit("min.u32", {reg, reg, sector_bytes});
    code.emit("selp.b32", {reg, sector_bytes, reg, begins});
    if (row) {
      const VirtualRegister is_full = code.pred("setp.eq.u32", {mask, -1});
      code.emit("selp.b32", {*row, *row, 1, is_full});
    }
    return code.take();
  }

  /// Computes the threshold directly for warps of one-row thread blocks, or of blocks whose rows consist of
  /// full warps, where patterns of thread indices vary linearly in the lane number. All other warps run
  /// `otherwise`. Sites with RowSectors (which have `row`) need full warps, other sites a contiguous range of
  /// lanes from lane 0.
  Code in_whole_rows(const LanePattern& pattern, VirtualRegister reg, std::optional<VirtualRegister> row,
                     Code otherwise) {
    const std::int64_t step = step_of(pattern);
    const bool descends = step < 0;
    const std::uint64_t size =
        descends ? -static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
    const std::uint64_t distance = std::min<std::uint64_t>(size, sector_bytes);
    CodeBuilder code(names_);
    const Label known = code.fresh_label();
    const VirtualRegister lane = code.special("%laneid");
    const VirtualRegister begins = code.pred("setp.eq.u32", {lane, descends ? 31 : 0});
    code.emit("selp.b32", {reg, sector_bytes, distance, begins});
    if (row) code.emit("mul.lo.s32", {*row, lane, -(step % static_cast<std::int64_t>(sector_bytes))});
    const VirtualRegister mask = code.active_mask();
    VirtualRegister is_row = has_one_row(code);
    is_row = row || descends ? code.pred("setp.eq.and.u32", {mask, -1, is_row})
                             : are_first_lanes(mask, is_row, code);
    if (row) code.emit("selp.b32", {*row, *row, 1, is_row});
    code.branch_if(CodePredicate(is_row), known);
    code.append(std::move(otherwise));
    code.place(known);
    return code.take();
  }

  /// A predicate: the thread block has one row, or each of its rows consists of complete warps.
  static VirtualRegister has_one_row(CodeBuilder& code) {
    const VirtualRegister rows = code.b32("or.b32", {code.special("%ntid.z"), code.special("%ntid.y")});
    const VirtualRegister is_one = code.pred("setp.eq.u32", {rows, 1});
    const VirtualRegister rest = code.b32("and.b32", {code.special("%ntid.x"), 31});
    return code.pred("setp.eq.or.u32", {rest, 0, is_one});
  }

  void add_term(const LaneTerm& term, std::uint8_t bits, VirtualRegister sum, CodeBuilder& code) {
    const bool is_index = term.kind == LaneTerm::Kind::thread_index;
    const std::string index = std::string("%tid.") + static_cast<char>('x' + term.id);
    const CodeOperand source =
        is_index ? CodeOperand(code.special(index))
                 : CodeOperand(Name{std::string(analyses_.registers().registers()[term.id].name)});
    const char* widen = term.kind == LaneTerm::Kind::sign_extended ? "cvt.s64.s32" : "cvt.u64.u32";
    if (term.kind == LaneTerm::Kind::value && bits == 64) widen = "mov.b64";
    const VirtualRegister wide = code.b64(widen, {source});
    code.emit("mad.lo.s64", {sum, wide, term.coefficient, sum});
  }

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  FunctionAnalyses& analyses_;
  NameSource& names_;
  LaneValuePlan& plan_;
  std::map<Wanted, Sharing> groups_;
  std::set<std::pair<LaneSite, std::string>> seen_;  ///< several probes may request the same value
};

}  // namespace

Status write_lane_values(InstrumentationUnit& unit) {
  if (unit.spliced.lane_routines.empty()) return success();
  auto plan = std::make_shared<LaneValuePlan>();
  for (const FunctionUnit& function : unit.reached.instrumented()) FunctionLanes(unit, function, *plan).run();
  unit.memory.lane_values = std::move(plan);
  return success();
}

}  // namespace lynxpp::ptx
