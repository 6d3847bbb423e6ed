#include "ptx/passes/memory/sector_lanes.h"

#include <algorithm>

#include "ptx/analysis/cohorts.h"
#include "ptx/ir/memory_access.h"
#include "ptx/passes/memory/lane_values.h"

namespace lynxpp::ptx {
namespace {

/// Fewer accesses are compared one by one.
constexpr std::size_t least_shared = 3;
constexpr std::uint32_t most_groups = 4;
constexpr std::uint32_t most_open = 12;

std::string number(std::uint64_t value) { return std::to_string(value); }
std::string wide_register(std::uint32_t place) { return "%lynxpp_sector_at" + number(place); }
std::string low_register(std::uint32_t place) { return "%lynxpp_sector_low" + number(place); }
std::string threshold_register(std::uint32_t group) { return "%lynxpp_sector_threshold" + number(group); }

constexpr std::string_view lane_registers =
    "\t.reg .pred %lynxpp_sector_lowest;\n"
    "\t.reg .b32 %lynxpp_sector_lanes, %lynxpp_sector_next, %lynxpp_sector_high;\n";

/// Who is there, and for each lane the next lower one; for the lowest itself.
constexpr std::string_view find_lanes =
    "\tactivemask.b32 %lynxpp_sector_lanes;\n\t{\n\t.reg .b32 %lynxpp_lower;\n"
    "\tmov.u32 %lynxpp_lower, %lanemask_lt;\n"
    "\tand.b32 %lynxpp_lower, %lynxpp_lower, %lynxpp_sector_lanes;\n"
    "\tsetp.eq.u32 %lynxpp_sector_lowest, %lynxpp_lower, 0;\n"
    "\tbfind.u32 %lynxpp_sector_next, %lynxpp_lower;\n"
    "\tmov.u32 %lynxpp_lower, %laneid;\n"
    "\tselp.b32 %lynxpp_sector_next, %lynxpp_lower, %lynxpp_sector_next, %lynxpp_sector_lowest;\n\t}\n";

/// The upper half of some lane's address: where it is that of all, lower halves tell addresses apart.
std::string high_of(const std::string& address) {
  return "\t{\n\t.reg .b32 %lynxpp_highest;\n\t.reg .b64 %lynxpp_wide;\n\tshr.u64 %lynxpp_wide, " + address +
         ", 32;\n\tcvt.u32.u64 %lynxpp_sector_high, %lynxpp_wide;\n"
         "\tbfind.u32 %lynxpp_highest, %lynxpp_sector_lanes;\n"
         "\tshfl.sync.idx.b32 %lynxpp_sector_high, %lynxpp_sector_high, %lynxpp_highest, 31, "
         "%lynxpp_sector_lanes;\n\t}\n";
}

/// How far the next lower address is, a sector's length at most.
std::string threshold_of(const std::string& address, const std::string& threshold, const std::string& known) {
  return "\t{\n\t.reg .pred %lynxpp_ascends;\n\t.reg .b32 %lynxpp_place, %lynxpp_lower;\n"
         "\t.reg .b64 %lynxpp_wide;\n\tcvt.u32.u64 %lynxpp_place, " +
         address +
         ";\n\tshfl.sync.idx.b32 %lynxpp_lower, %lynxpp_place, %lynxpp_sector_next, 31, "
         "%lynxpp_sector_lanes;\n\tsub.u32 " +
         threshold + ", %lynxpp_place, %lynxpp_lower;\n\tmin.u32 " + threshold + ", " + threshold +
         ", 32;\n\tselp.b32 " + threshold + ", 32, " + threshold +
         ", %lynxpp_sector_lowest;\n\tsetp.ge.u32 %lynxpp_ascends, %lynxpp_place, %lynxpp_lower;\n"
         "\tshr.u64 %lynxpp_wide, " +
         address +
         ", 32;\n\tcvt.u32.u64 %lynxpp_lower, %lynxpp_wide;\n"
         "\tsetp.eq.and.u32 %lynxpp_ascends, %lynxpp_lower, %lynxpp_sector_high, %lynxpp_ascends;\n"
         "\tvote.sync.all.pred %lynxpp_ascends, %lynxpp_ascends, %lynxpp_sector_lanes;\n"
         "\t@%lynxpp_ascends bra " +
         known + ";\n\t}\n";
}

}  // namespace

SectorLanes::SectorLanes(InstrumentationUnit& unit, const FunctionUnit& function, std::uint32_t& next_label)
    : unit_(unit),
      function_(function),
      body_(*function.function->body),
      analyses_(unit.analyses.of(*function.function)),
      next_label_(next_label) {}

void SectorLanes::append_declarations(std::string& text) const {
  text += std::string(lane_registers) + "\t.reg .pred " + std::string(first_register) +
          ";\n\t.reg .b32 %lynxpp_sector_threshold<" + number(most_groups) + ">, %lynxpp_sector_low<" +
          number(most_open) + ">;\n\t.reg .b64 %lynxpp_sector_at<" + number(most_open) + ">;\n";
}

void SectorLanes::begin_block(const std::vector<std::uint32_t>& instructions) {
  groups_.clear();
  open_.clear();
  last_ = instructions.empty() ? 0 : instructions.back();
  if (!unit_.lane_routines.contains(std::string(sector_threshold_value))) return;
  std::uint32_t group = 0;
  for (auto first = instructions.begin(); first != instructions.end() && group < most_groups; ++first) {
    if (groups_.contains(*first)) continue;
    std::vector<std::uint32_t> shared;
    for (auto other = first; other != instructions.end(); ++other) {
      if (may_join_between(*first, *other)) break;
      if (has_one_base(*first, *other)) shared.push_back(*other);
    }
    if (shared.size() < least_shared) continue;
    for (const std::uint32_t each : shared) groups_.emplace(each, group);
    ++group;
  }
}

bool SectorLanes::may_join_between(std::uint32_t first, std::uint32_t end) const {
  const auto& instructions = body_.instructions;
  return std::any_of(instructions.begin() + first, instructions.begin() + end, may_join_lanes);
}

/// Whether the addresses are one register plus constants.
bool SectorLanes::has_one_base(std::uint32_t instruction, std::uint32_t other) const {
  const auto base_of = [&](std::uint32_t at) {
    const Operand& address = *memory_accesses(body_.instructions[at]).access[0].address;
    const bool is_simple =
        address.elements.size() == 1 && address.elements[0].kind == OperandKind::identifier;
    const RegisterId reg = is_simple ? analyses_.registers().find(address.elements[0].name, at) : no_register;
    return reg == no_register ? no_value : analyses_.ssa().read_of(at, reg);
  };
  const ValueId base = base_of(instruction);
  const bool has_forms = analyses_.affine().of_address(instruction) && analyses_.affine().of_address(other);
  return base != no_value && base == base_of(other) && has_forms;
}

std::int64_t SectorLanes::constant_of(std::uint32_t instruction) const {
  return analyses_.affine().of_address(instruction)->constant;
}

bool SectorLanes::is_near(std::uint32_t instruction) const {
  const MemoryAccesses accesses = memory_accesses(body_.instructions[instruction]);
  return analyses_.lane_patterns().is_near(instruction, *accesses.access[0].address);
}

void SectorLanes::append_access(std::uint32_t instruction, const std::string& address,
                                const std::string& raise, std::string& text) {
  if (!open_.empty() && open_.back().instruction == instruction) {
    open_.back().raise += raise;
    return;
  }
  if (open_.size() == most_open) append_comparisons(text);
  const auto place = static_cast<std::uint32_t>(open_.size());
  const auto group = groups_.find(instruction);
  const bool follows = group != groups_.end() && std::ranges::any_of(open_, [&](const Access& access) {
                         const auto other = groups_.find(access.instruction);
                         return other != groups_.end() && other->second == group->second;
                       });
  open_.push_back({instruction, place, raise});
  if (follows) return;
  if (group != groups_.end() || !is_near(instruction)) {
    text += "\tmov.b64 " + wide_register(place) + ", " + address + ";\n";
  } else {
    text += "\t{\n\t.reg .b64 %lynxpp_wide;\n\tshr.u64 %lynxpp_wide, " + address + ", 5;\n\tcvt.u32.u64 " +
            low_register(place) + ", %lynxpp_wide;\n\t}\n";
  }
}

void SectorLanes::append_before(const Instruction& instruction, std::string& text) {
  if (may_join_lanes(instruction)) append_comparisons(text);
}

void SectorLanes::append_behind(std::uint32_t instruction, std::string& text) {
  if (instruction == last_) append_comparisons(text);
}

void SectorLanes::append_comparisons(std::string& text) {
  if (open_.empty()) return;
  has_high_ = false;
  known_.clear();
  text += find_lanes;
  for (const Access& access : open_) {
    const auto group = groups_.find(access.instruction);
    if (group == groups_.end()) {
      append_comparison(access, text);
    } else {
      if (known_.emplace(group->second, access).second) append_threshold(access, group->second, text);
      append_place(access, group->second, text);
    }
    text += access.raise;
  }
  open_.clear();
}

void SectorLanes::append_high(const std::string& address, std::string& text) {
  if (!has_high_) text += high_of(address);
  has_high_ = true;
}

void SectorLanes::append_comparison(const Access& access, std::string& text) {
  const bool is_near = this->is_near(access.instruction);
  const std::string address = wide_register(access.place);
  const std::string sector = low_register(access.place);
  if (!is_near) {
    append_high(address, text);
    text += "\t{\n\t.reg .b64 %lynxpp_wide;\n\tshr.u64 %lynxpp_wide, " + address + ", 5;\n\tcvt.u32.u64 " +
            sector + ", %lynxpp_wide;\n\t}\n";
  }
  const std::string known = "$lynxpp_sector_" + number(next_label_++);
  const std::string all_near = "\tshr.u64 %lynxpp_wide, " + address +
                               ", 32;\n\tcvt.u32.u64 %lynxpp_high, %lynxpp_wide;\n"
                               "\tsetp.eq.and.u32 %lynxpp_ascends, %lynxpp_high, %lynxpp_sector_high, "
                               "%lynxpp_ascends;\n";
  text +=
      "\t{\n\t.reg .pred %lynxpp_ascends;\n\t.reg .b32 %lynxpp_lower, %lynxpp_high;\n"
      "\t.reg .b64 %lynxpp_wide;\n\tshfl.sync.idx.b32 %lynxpp_lower, " +
      sector + ", %lynxpp_sector_next, 31, %lynxpp_sector_lanes;\n\tsetp.ne.or.u32 " +
      std::string(first_register) + ", " + sector +
      ", %lynxpp_lower, %lynxpp_sector_lowest;\n"
      "\tsetp.ge.u32 %lynxpp_ascends, " +
      sector + ", %lynxpp_lower;\n" + (is_near ? std::string() : all_near) +
      "\tvote.sync.all.pred %lynxpp_ascends, %lynxpp_ascends, %lynxpp_sector_lanes;\n"
      "\t@%lynxpp_ascends bra " +
      known + ";\n" + in_any_order(access, is_near, known) + known + ":\n\t}\n";
}

/// Sectors within 32 of the lowest one are the bits of a word, of which each of the first lanes takes one: a
/// reduction takes as long as match.any for one number, and match.any twice as long for 64 bits
/// (docs/measurements/2026-11-22-h200-gathers.md).
std::string SectorLanes::in_any_order(const Access& access, bool is_near, const std::string& known) const {
  const std::string first(first_register);
  const std::string sector = low_register(access.place);
  const std::string address = wide_register(access.place);
  const std::string stands =
      "\tmov.u32 %lynxpp_high, %lanemask_lt;\n\tand.b32 %lynxpp_lower, %lynxpp_lower, "
      "%lynxpp_high;\n\tsetp.eq.u32 " +
      first + ", %lynxpp_lower, 0;\n";
  std::string text;
  if (!is_near) {
    const std::string near = known + "_near";
    text += "\tshr.u64 %lynxpp_wide, " + address +
            ", 32;\n\tcvt.u32.u64 %lynxpp_high, %lynxpp_wide;\n"
            "\tsetp.eq.u32 %lynxpp_ascends, %lynxpp_high, %lynxpp_sector_high;\n"
            "\tvote.sync.all.pred %lynxpp_ascends, %lynxpp_ascends, %lynxpp_sector_lanes;\n"
            "\t@%lynxpp_ascends bra " +
            near + ";\n\tshr.u64 %lynxpp_wide, " + address +
            ", 5;\n\tmatch.any.sync.b64 %lynxpp_lower, %lynxpp_wide, %lynxpp_sector_lanes;\n" + stands +
            "\tbra " + known + ";\n" + near + ":\n";
  }
  if (unit_.target.sm >= 80) {
    const std::string far = known + "_far";
    text += "\tredux.sync.min.u32 %lynxpp_lower, " + sector +
            ", %lynxpp_sector_lanes;\n\tsub.u32 %lynxpp_high, " + sector +
            ", %lynxpp_lower;\n\tsetp.lt.u32 %lynxpp_ascends, %lynxpp_high, 32;\n"
            "\tvote.sync.all.pred %lynxpp_ascends, %lynxpp_ascends, %lynxpp_sector_lanes;\n"
            "\t@!%lynxpp_ascends bra " +
            far +
            ";\n\tmov.b32 %lynxpp_lower, 1;\n\tshl.b32 %lynxpp_high, %lynxpp_lower, %lynxpp_high;\n"
            "\tredux.sync.or.b32 %lynxpp_lower, %lynxpp_high, %lynxpp_sector_lanes;\n"
            "\tpopc.b32 %lynxpp_lower, %lynxpp_lower;\n\tmov.u32 %lynxpp_high, %lanemask_lt;\n"
            "\tand.b32 %lynxpp_high, %lynxpp_high, %lynxpp_sector_lanes;\n"
            "\tpopc.b32 %lynxpp_high, %lynxpp_high;\n\tsetp.lt.u32 " +
            first + ", %lynxpp_high, %lynxpp_lower;\n\tbra " + known + ";\n" + far + ":\n";
  }
  return text + "\tmatch.any.sync.b32 %lynxpp_lower, " + sector + ", %lynxpp_sector_lanes;\n" + stands;
}

void SectorLanes::append_threshold(const Access& access, std::uint32_t group, std::string& text) {
  const std::string address = wide_register(access.place);
  const std::string threshold = threshold_register(group);
  append_high(address, text);
  SiteBinding binding;
  binding.site = next_label_++;
  binding.site_value = [&](std::string_view name) { return name == lane_result_value ? threshold : address; };
  const std::string known = "$lynxpp_sector_" + number(binding.site);
  text += threshold_of(address, threshold, known);
  const ProbeRoutine& routine = unit_.lane_routines.find(sector_threshold_value)->second;
  for (const std::uint32_t each : routine.functions()) unit_.routine_functions.use(each);
  routine.append(binding, text);
  text += known + ":\n";
}

void SectorLanes::append_place(const Access& access, std::uint32_t group, std::string& text) const {
  const Access& known = known_.at(group);
  const std::int64_t distance = (constant_of(access.instruction) - constant_of(known.instruction)) & 31;
  text += "\t{\n\t.reg .b32 %lynxpp_place;\n\tcvt.u32.u64 %lynxpp_place, " + wide_register(known.place) +
          ";\n\tadd.u32 %lynxpp_place, %lynxpp_place, " + number(static_cast<std::uint64_t>(distance)) +
          ";\n\tand.b32 %lynxpp_place, %lynxpp_place, 31;\n\tsetp.lt.u32 " + std::string(first_register) +
          ", %lynxpp_place, " + threshold_register(group) + ";\n\t}\n";
}

std::string SectorLanes::threshold_where_ascending(const std::string& address, const std::string& threshold,
                                                   const std::string& known) {
  std::string text = "\t{\n" + std::string(lane_registers);
  text += find_lanes;
  return text + high_of(address) + threshold_of(address, threshold, known) + "\t}\n";
}

}  // namespace lynxpp::ptx
