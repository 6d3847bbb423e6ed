#include "ptx/passes/probes/splice.h"

#include <algorithm>
#include <charconv>

#include "ptx/emitter/code_printer.h"
#include "ptx/ir/memory_access.h"
#include "ptx/passes/counting/emit/text.h"
#include "ptx/passes/memory/bank_sites.h"
#include "ptx/passes/memory/lane_values.h"
#include "ptx/passes/memory/sector_lanes.h"
#include "ptx/passes/module/entry.h"
#include "ptx/passes/module/frame.h"
#include "ptx/passes/probes/kept_values.h"
#include "ptx/passes/probes/outline.h"
#include "ptx/passes/probes/site_values.h"

namespace lynxpp::ptx {
namespace {

/// Labels of the count pass have the numbers below.
constexpr std::uint32_t first_tally_label = 1u << 30;

std::string number(std::uint64_t value) { return std::to_string(value); }

/// What routines add to at places where nobody wants to know the sum.
constexpr std::string_view unwanted_register = "%lynxpp_unwanted";

/// Keeps the guard of an instruction that overwrites it.
constexpr std::string_view guard_register = "%lynxpp_guard";

bool writes_register(const Operand& operand, std::string_view name) {
  if (operand.name == name) return true;
  return operand.kind != OperandKind::address &&
         std::any_of(operand.elements.begin(), operand.elements.end(),
                     [&](const Operand& element) { return writes_register(element, name); });
}

bool overwrites_guard(const Instruction& instruction) {
  if (!instruction.guarded()) return false;
  const std::size_t written =
      std::min<std::size_t>(instruction.traits.destinations, instruction.operands.size());
  return std::any_of(
      instruction.operands.begin(), instruction.operands.begin() + static_cast<std::ptrdiff_t>(written),
      [&](const Operand& operand) { return writes_register(operand, instruction.guard.predicate); });
}

bool leaves(const Instruction& instruction) { return instruction.traits.kind == OpcodeClass::exit; }

/// Splices one function: finds the places and writes the routines there.
class FunctionSplicer {
 public:
  FunctionSplicer(InstrumentationUnit& unit, const FunctionUnit& function, std::uint32_t& next_site,
                  std::uint32_t& next_tally_label, Outliner& outliner)
      : unit_(unit),
        function_(function),
        body_(*function.function->body),
        next_site_(next_site),
        next_tally_label_(next_tally_label),
        outliner_(outliner),
        is_kernel_(function.function->is_entry),
        frame_(unit, is_kernel_),
        values_(unit, function),
        sectors_(unit, function, next_site),
        kept_(unit, function) {}

  void run() {
    declare();
    enter();
    for (std::uint32_t block = 0; block < function_.graph.blocks.size(); ++block) splice_block(block);
    kept_.insert();
    drop_masks_of_loads();
  }

 private:
  // ---- registers and entry

  void declare() {
    std::string text = "\n";
    for (std::uint32_t i = 0; i < unit_.state_bytes.size(); ++i) {
      text += "\t.reg .b" + number(8 * unit_.state_bytes[i]) + " " + state_register(i) + ";\n";
    }
    const auto measures = [](const Probe& probe) { return probe.enabled && probe.measures_sectors; };
    if (SectorLanes::is_possible(unit_) && std::ranges::any_of(unit_.probes, measures))
      sectors_.append_declarations(text);
    const bool stands_behind = std::any_of(unit_.probes.begin(), unit_.probes.end(), [](const Probe& probe) {
      return probe.enabled && probe.point == ProbePoint::instruction_after;
    });
    if (stands_behind) text += "\t.reg .pred " + std::string(guard_register) + ";\n";
    const bool has_tallies =
        std::ranges::any_of(unit_.probes, [](const Probe& probe) { return !probe.tallies.empty(); });
    if (has_tallies && unit_.counting != nullptr) {
      text += std::string("\t.reg .b") + (unit_.counting->is_wide ? "64 " : "32 ") +
              std::string(unwanted_register) + ";\n";
    }
    frame_.append_declarations(text);
    std::uint64_t depot_bytes = 0;
    for (const Probe& probe : unit_.probes) {
      depot_bytes = std::max(depot_bytes, probe.routine.depot_bytes());
      if (probe.with_lane_values) depot_bytes = std::max(depot_bytes, probe.with_lane_values->depot_bytes());
    }
    if (depot_bytes != 0) {
      text += "\t.local .align 16 .b8 " + std::string(depot_variable) + "[" + number(depot_bytes) + "];\n";
    }
    unit_.edits.insert_before(function_.function->body_text.begin + 1, text);
  }

  void enter() {
    std::string text;
    if (is_kernel_) {
      for (std::uint32_t i = 0; i < unit_.state_bytes.size(); ++i) {
        text += "\tmov.b" + number(8 * unit_.state_bytes[i]) + " " + state_register(i) + ", 0;\n";
      }
    }
    frame_.append_entry(text);
    if (is_kernel_) {
      append_probes({ProbePoint::kernel_entry}, text, true);
      append_probes({ProbePoint::kernel_entry}, text, false);
    }
    if (!text.empty()) unit_.edits.insert_before(entry_position(*function_.function), "\n" + text);
  }

  /// `.pragma "used_bytes_mask 0xf"` speaks of the next load, and text that loads something may stand between
  /// the two now. Nothing depends on it.
  void drop_masks_of_loads() {
    for (const Statement& statement : body_.statements) {
      const bool is_mask = statement.kind == StatementKind::directive && statement.name == ".pragma" &&
                           unit_.module.text(statement.text).find("used_bytes_mask") != std::string::npos;
      if (is_mask) unit_.edits.replace(statement.text, "");
    }
  }

  // ---- blocks

  void splice_block(std::uint32_t block) {
    const BasicBlock& range = function_.graph.blocks[block];
    std::string text;
    sectors_.begin_block(compared_in(range, block));
    append_code(text, [&](CodeBuilder& code) { values_.add_block_start(block, code); });
    append_probes({ProbePoint::block_entry, block}, text);
    if (range.size() == 0) {
      append_block_exit(block, nullptr, text);
      append_fall_off(range, block, text);
      insert(function_.function->body_text.end - 1, text);
      return;
    }
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const Instruction& instruction = body_.instructions[i];
      sectors_.append_before(instruction, text);
      append_instruction_probes(block, instruction, text);
      const std::string behind = probes_behind(block, instruction, text);
      if (i + 1 == range.end && instruction.traits.ends_block()) {
        append_block_exit(block, &instruction, text);
        append_departure(block, instruction, text);
      } else {
        append_code(text, [&](CodeBuilder& code) { values_.add_guard_count(block, instruction, code); });
      }
      insert(instruction.text.begin, text);
      text.clear();
      splice_behind(block, i, behind);
    }
  }

  /// Behind an instruction: its probes, and behind the last one the exit of a block that falls through, or
  /// what follows a call.
  void splice_behind(std::uint32_t block, std::uint32_t index, const std::string& probes) {
    const BasicBlock& range = function_.graph.blocks[block];
    const Instruction& instruction = body_.instructions[index];
    std::string text;
    if (frame_.is_passed_by(instruction)) frame_.append_load(text);
    sectors_.append_behind(index, text);
    text += probes;
    if (index + 1 == range.end) {
      if (!instruction.traits.ends_block()) append_block_exit(block, nullptr, text);
      if (may_run_off_behind(block, instruction)) append_fall_off(range, block, text);
    }
    if (!text.empty()) unit_.edits.insert_before(instruction.text.end, "\n" + text);
  }

  void append_block_exit(std::uint32_t block, const Instruction* terminator, std::string& text) {
    std::string probes;
    append_probes({ProbePoint::block_exit, block, terminator}, probes);
    if (probes.empty()) return;
    append_code(text, [&](CodeBuilder& code) { values_.add_block_total(block, terminator, code); });
    text += probes;
  }

  /// Whether the body ends behind the block's last instruction, with threads that come there: it may be a
  /// branch whose guard does not hold, or a call that returns.
  bool may_run_off_behind(std::uint32_t block, const Instruction& last) const {
    const bool goes_elsewhere = leaves(last) || last.traits.kind == OpcodeClass::branch;
    return block + 1 == function_.graph.blocks.size() && (last.guarded() || !goes_elsewhere);
  }

  /// A body that ends without ret returns there.
  void append_fall_off(const BasicBlock& range, std::uint32_t block, std::string& text) {
    if (!range.leaves_function) return;
    if (is_kernel_) {
      append_probes({ProbePoint::kernel_exit, block}, text);
    } else {
      frame_.append_store(text);
    }
  }

  /// What leaving through `instruction` needs: kernel-exit probes, the state handed back to the caller or on
  /// to the callee.
  void append_departure(std::uint32_t block, const Instruction& instruction, std::string& text) {
    if (leaves(instruction) && (is_kernel_ || instruction.traits.is_thread_exit)) {
      std::string probes;
      append_probes({ProbePoint::kernel_exit, block, &instruction}, probes);
      append_guarded(instruction, probes, text);
    } else if (frame_.is_passed_by(instruction) || (!is_kernel_ && instruction.traits.is_return)) {
      frame_.append_store(text);
    }
  }

  // ---- probes

  void append_instruction_probes(std::uint32_t block, const Instruction& instruction, std::string& text) {
    std::string probes;
    for (Probe& probe : unit_.probes) {
      if (!stands_at(probe, ProbePoint::instruction, instruction)) continue;
      if (is_measured_elsewhere(probe, instruction)) {
        ++probe.sites;
        continue;
      }
      append_prepared(probe, site_at(probe, block, instruction), probes);
    }
    if (instruction.traits.kind == OpcodeClass::branch) {
      text += probes;
    } else {
      append_guarded(instruction, probes, text);
    }
  }

  static bool stands_at(const Probe& probe, ProbePoint point, const Instruction& instruction) {
    return probe.enabled && probe.point == point && probe.matches(instruction);
  }

  bool is_measured_elsewhere(const Probe& probe, const Instruction& instruction) const {
    const auto number = static_cast<std::uint32_t>(&probe - unit_.probes.data());
    const std::uint32_t id =
        function_.first_instruction + static_cast<std::uint32_t>(&instruction - body_.instructions.data());
    return measured_at(unit_, number, id) != id;
  }

  bool lies_evenly(const Probe& probe, const Site& site) const {
    const auto number = static_cast<std::uint32_t>(&probe - unit_.probes.data());
    return unit_.even_sector_sites.contains({number, lane_site(site).first});
  }

  Site site_at(const Probe& probe, std::uint32_t block, const Instruction& instruction) const {
    Site site{probe.point, block, &instruction, probe.access ? probe.access(instruction) : 0};
    const bool is_served = probe.with_lane_values && unit_.lane_values != nullptr &&
                           unit_.lane_values->serves(lane_site(site), *probe.with_lane_values);
    if (is_served) site.routine = &*probe.with_lane_values;
    return site;
  }

  LaneSite lane_site(const Site& site) const {
    const auto index = static_cast<std::uint32_t>(site.instruction - body_.instructions.data());
    return {function_.first_instruction + index, site.access};
  }

  /// The probes behind an instruction; what they need of the registers before it goes to `before`. Nothing
  /// stands behind an instruction that control leaves.
  std::string probes_behind(std::uint32_t block, const Instruction& instruction, std::string& before) {
    if (instruction.traits.kind == OpcodeClass::branch || leaves(instruction)) return {};
    std::string probes;
    for (Probe& probe : unit_.probes) {
      if (!stands_at(probe, ProbePoint::instruction_after, instruction)) continue;
      const Site site = site_at(probe, block, instruction);
      append_code(before, [&](CodeBuilder& code) { values_.add_preparation(probe, site, code); });
      append_code(probes, [&](CodeBuilder& code) { values_.add_loaded_values(probe, site, code); });
      append_copy(probe, site, probes);
    }
    std::string text;
    if (probes.empty()) return text;
    Guard guard = instruction.guard;
    if (overwrites_guard(instruction)) {
      before += "\tmov.pred " + std::string(guard_register) + ", " + std::string(guard.predicate) + ";\n";
      guard.predicate = guard_register;
    }
    append_guarded(guard, probes, text);
    return text;
  }

  void append_guarded(const Instruction& instruction, const std::string& probes, std::string& text) {
    append_guarded(instruction.guard, probes, text);
  }

  /// `probes` for the lanes whose guard holds.
  void append_guarded(const Guard& guard, const std::string& probes, std::string& text) {
    if (probes.empty()) return;
    if (guard.predicate.empty()) {
      text += probes;
      return;
    }
    const std::string label = "$lynxpp_skip_" + number(next_site_++);
    text += "\t@" + print(!*predicate_of(guard)) + " bra " + label + ";\n" + probes + label + ":\n";
  }

  void append_probes(const Site& site, std::string& text, bool initializers = false) {
    for (Probe& probe : unit_.probes) {
      if (probe.enabled && probe.point == site.point && probe.is_initializer == initializers)
        append_prepared(probe, site, text);
    }
  }

  void append_prepared(Probe& probe, const Site& site, std::string& text) {
    append_code(text, [&](CodeBuilder& code) { values_.add_preparation(probe, site, code); });
    append_copy(probe, site, text);
  }

  void append_copy(Probe& probe, const Site& site, std::string& text) {
    ++probe.sites;
    for (const std::uint32_t each : routine_at(probe, site).functions()) unit_.routine_functions.use(each);
    SiteBinding binding;
    binding.site = next_site_++;
    binding.word_opcode = is_kernel_ ? "ld.param.b64" : "ld.local.b64";
    binding.word_base = is_kernel_ ? probe_parameter : frame_register;
    binding.first_word = probe.first_word;
    binding.first_state = probe.first_state;
    binding.first_variable = probe.first_variable;
    const std::string in_row = append_skip_of_rows(probe, site, text);
    append_routine(probe, site, binding, text);
    if (!in_row.empty()) text += in_row + ":\n\t}\n";
  }

  void append_routine(Probe& probe, const Site& site, SiteBinding& binding, std::string& text) {
    const std::vector<OutlinedTally> tallies = tallies_at(probe, site);
    // With values of the lanes at hand the routine is short.
    const bool is_short = &routine_at(probe, site) != &probe.routine;
    if (!is_short && outliner_.is_outlined(probe, tallies)) {
      binding.site_value = [&](std::string_view name) { return print(values_.operand(probe, name, site)); };
      return outliner_.append_call(probe, binding, tallies, text);
    }
    if (compares_sectors(probe, site)) return append_sectors(probe, site, tallies, text);
    const std::string apart = is_short ? append_skip_of_apart(probe, site, text) : std::string();
    if (is_short) append_banks_of_some(probe, site, binding, text);
    binding.site_value = [&](std::string_view name) {
      if (is_lane_value(name)) return *unit_.lane_values->find(lane_site(site), name);
      // Addresses that begin sectors are compared with the lane's value once, before a loop.
      if (is_short && name == "memory_address" && lies_evenly(probe, site)) return std::string("0");
      return name.starts_with("tally_") ? tally_register(probe, name, site)
                                        : print(values_.operand(probe, name, site));
    };
    const std::string bits = declared_bits(tallies);
    if (!bits.empty()) text += "\t{\n" + bits;
    if (site.point != ProbePoint::kernel_entry) kept_.bind(routine_at(probe, site), site.block, binding);
    routine_at(probe, site).append(binding, text);
    append_bits(tallies, text);
    if (!bits.empty()) text += "\t}\n";
    append_tallies(probe, site, text);
    if (!apart.empty()) text += apart + ":\n\t}\n";
  }

  /// Whether the lanes find out at the access itself who is the first in his sector, and nothing else is to
  /// be done there.
  bool compares_sectors(const Probe& probe, const Site& site) const {
    if (site.instruction == nullptr) return false;
    const MemoryAccesses accesses = memory_accesses(*site.instruction);
    return SectorLanes::is_possible(unit_) && probe.measures_sectors && site.routine == nullptr &&
           site.point == ProbePoint::instruction && !site.instruction->guarded() &&
           unit_.counting != nullptr && accesses.count == 1 && accesses.access[0].address != nullptr &&
           !outliner_.is_outlined(probe, tallies_at(probe, site));
  }

  std::vector<std::uint32_t> compared_in(const BasicBlock& range, std::uint32_t block) const {
    std::vector<std::uint32_t> compared;
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const Instruction& instruction = body_.instructions[i];
      if (!instruction.traits.is_memory_access()) continue;
      const auto is_compared = [&](const Probe& probe) {
        return probe.measures_sectors && stands_at(probe, ProbePoint::instruction, instruction) &&
               !is_measured_elsewhere(probe, instruction) &&
               compares_sectors(probe, site_at(probe, block, instruction));
      };
      if (std::ranges::any_of(unit_.probes, is_compared)) compared.push_back(i);
    }
    return compared;
  }

  void append_sectors(const Probe& probe, const Site& site, const std::vector<OutlinedTally>& tallies,
                      std::string& text) {
    const std::string first(SectorLanes::first_register);
    std::string raise;
    for (const OutlinedTally& tally : tallies) {
      if (tally.counter == nullptr) continue;
      const std::string name = CountText::name(tally.counter->reg);
      raise += tally.counter->is_bit ? count_text().set_mark(*tally.counter, first)
                                     : "\t@" + first + " add.u" + (unit_.counting->is_wide ? "64 " : "32 ") +
                                           name + ", " + name + ", 1;\n";
    }
    append_tallies(probe, site, raise);
    sectors_.append_access(lane_site(site).first - function_.first_instruction,
                           print(values_.operand(probe, "memory_address", site)), raise, text);
  }

  /// Where warps that are full rows need not be counted: goes by for them, and counts one for others. Begins
  /// a scope that ends at the label returned.
  std::string append_skip_of_rows(const Probe& probe, const Site& site, std::string& text) {
    if (site.instruction == nullptr || unit_.counting == nullptr) return {};
    const auto number_of_probe = static_cast<std::uint32_t>(&probe - unit_.probes.data());
    const auto rows = unit_.row_sectors.find({number_of_probe, lane_site(site).first});
    if (rows == unit_.row_sectors.end()) return {};
    const auto exception = std::ranges::find_if(unit_.counting->tallies, [&](const auto& each) {
      return each.first.is_exception && each.first.probe == number_of_probe &&
             each.first.instruction == lane_site(site).first;
    });
    if (exception == unit_.counting->tallies.end()) return {};
    std::string label = "$lynxpp_in_row_" + number(next_site_++);
    text += "\t{\n\t.reg .pred %lynxpp_in_row;\n\t.reg .b32 %lynxpp_row_place, %lynxpp_row_lower;\n" +
            place_in_row(probe, site, rows->second);
    if (!row_register(site).empty()) {
      text += "\tsetp.eq.u32 %lynxpp_in_row, %lynxpp_row_place, 0;\n\t@%lynxpp_in_row bra " + label + ";\n";
    }
    text +=
        "\tactivemask.b32 %lynxpp_row_place;\n\tmov.u32 %lynxpp_row_lower, %lanemask_lt;\n\tand.b32 "
        "%lynxpp_row_lower, %lynxpp_row_lower, %lynxpp_row_place;\n\tsetp.eq.u32 %lynxpp_in_row, "
        "%lynxpp_row_lower, 0;\n" +
        count_text().set_mark(exception->second, "%lynxpp_in_row");
    return label;
  }

  /// Empty: the lanes have not found out whether they are a full row.
  std::string row_register(const Site& site) const {
    if (unit_.lane_values == nullptr) return {};
    const auto found = unit_.lane_values->rows.find(lane_site(site));
    return found == unit_.lane_values->rows.end() ? std::string() : found->second;
  }

  /// Makes %lynxpp_row_place 0 if the warp is as expected.
  std::string place_in_row(const Probe& probe, const Site& site, const RowSectors& rows) {
    const std::string row = row_register(site);
    if (row.empty()) return {};
    if (rows.is_anywhere) return "\tand.b32 %lynxpp_row_place, " + row + ", 1;\n";
    return "\tcvt.u32.u64 %lynxpp_row_place, " + print(values_.operand(probe, "memory_address", site)) +
           ";\n\tadd.u32 %lynxpp_row_place, %lynxpp_row_place, " + row +
           ";\n\tadd.u32 %lynxpp_row_place, %lynxpp_row_place, " + number(32 - rows.place) +
           ";\n\tand.b32 %lynxpp_row_place, %lynxpp_row_place, 31;\n";
  }

  CountText count_text() {
    const CountPlan& plan = *unit_.counting;
    return CountText(
        {plan.is_wide, unit_.target.sm >= 80, is_kernel_, unit_.counter_word, plan.replicas, plan.stride},
        next_tally_label_);
  }

  /// Of accesses to words nothing is to be added where nobody meets: begins a scope that ends at the label
  /// returned. Empty: there is always something.
  std::string append_skip_of_apart(const Probe& probe, const Site& site, std::string& text) {
    const auto found = unit_.lane_values->bank_lanes.find(lane_site(site));
    const MemoryAccesses accesses = memory_accesses(*site.instruction);
    const bool is_word = site.access < accesses.count && accesses.access[site.access].bytes <= 4;
    if (found == unit_.lane_values->bank_lanes.end() || !is_word || !probe.measures_banks) return {};
    std::string label = "$lynxpp_apart_" + number(next_site_++);
    text += "\t{\n\t.reg .pred %lynxpp_is_apart;\n\tsetp.eq.b32 %lynxpp_is_apart, " + found->second +
            ", 0;\n\t@%lynxpp_is_apart bra " + label + ";\n";
    return label;
  }

  /// Where lanes know whom they would meet at a bank: what that comes to for those that are here.
  void append_banks_of_some(const Probe& probe, const Site& site, SiteBinding binding, std::string& text) {
    const auto found = unit_.lane_values->bank_lanes.find(lane_site(site));
    if (found == unit_.lane_values->bank_lanes.end()) return;
    Site known = site;
    known.routine = &unit_.lane_routines.find(banks_of_some_lanes_value)->second;
    for (const std::uint32_t each : known.routine->functions()) unit_.routine_functions.use(each);
    append_code(text, [&](CodeBuilder& code) { values_.add_preparation(probe, known, code); });
    binding.site = next_site_++;
    binding.site_value = [&](std::string_view name) -> std::string {
      if (name == lane_result_value) return std::string(banks_register);
      return name == bank_lanes_value ? found->second : print(values_.operand(probe, name, known));
    };
    known.routine->append(binding, text);
  }

  // ---- tallies

  /// Null: nothing is added to it here.
  const Counter* find_tally(const Probe& probe, std::uint32_t number, bool is_high, const Site& site) const {
    if (unit_.counting == nullptr || site.instruction == nullptr) return nullptr;
    const auto index = static_cast<std::uint32_t>(site.instruction - body_.instructions.data());
    const Tally tally{static_cast<std::uint32_t>(&probe - unit_.probes.data()), number, is_high,
                      function_.first_instruction + index};
    const auto found = unit_.counting->tallies.find(tally);
    return found == unit_.counting->tallies.end() ? nullptr : &found->second;
  }

  /// `name`: "tally_0", "tally_high_0"
  const Counter* find_tally(const Probe& probe, std::string_view name, const Site& site) const {
    const bool is_high = name.starts_with("tally_high_");
    const std::string_view digits = name.substr(name.rfind('_') + 1);
    std::uint32_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return find_tally(probe, number, is_high, site);
  }

  std::string tally_register(const Probe& probe, std::string_view name, const Site& site) const {
    const Counter* counter = find_tally(probe, name, site);
    if (counter == nullptr) return std::string(unwanted_register);
    return counter->is_bit ? raised_register(name) : CountText::name(counter->reg);
  }

  /// What the routine adds to in the place of a tally that is a bit.
  static std::string raised_register(std::string_view tally) {
    return "%lynxpp_raised_" + std::string(tally);
  }

  static std::string declared_bits(const std::vector<OutlinedTally>& tallies) {
    std::string text;
    for (const OutlinedTally& tally : tallies) {
      if (tally.counter == nullptr || !tally.counter->is_bit) continue;
      const std::string name = raised_register(tally.name);
      text += "\t.reg .b32 " + name + ";\n\tmov.b32 " + name + ", 0;\n";
    }
    return text;
  }

  static void append_bits(const std::vector<OutlinedTally>& tallies, std::string& text) {
    for (const OutlinedTally& tally : tallies) {
      if (tally.counter != nullptr && tally.counter->is_bit)
        text += CountText::raise_bit(*tally.counter, raised_register(tally.name));
    }
  }

  std::vector<OutlinedTally> tallies_at(const Probe& probe, const Site& site) const {
    std::vector<OutlinedTally> tallies;
    for (const std::string& name : probe.routine.site_values()) {
      if (name.starts_with("tally_")) tallies.push_back({name, find_tally(probe, name, site)});
    }
    return tallies;
  }

  /// Tallies without a register of their own go to memory.
  void append_tallies(const Probe& probe, const Site& site, std::string& text) {
    for (const std::uint32_t number : probe.tallies) {
      for (const bool is_high : {false, true}) {
        const Counter* counter = find_tally(probe, number, is_high, site);
        if (counter == nullptr || counter->storage != Counter::Storage::memory) continue;
        const CountPlan& plan = *unit_.counting;
        Counter given = *counter;
        given.storage = Counter::Storage::summed;
        CountText counts = count_text();
        if (probe.measures_banks) {
          text += counts.give(given);
          continue;
        }
        // Mostly there is nothing to give.
        const std::string done = "$lynxpp_given_" + std::to_string(next_site_++);
        text += "\t{\n\t.reg .pred %lynxpp_is_none;\n\tsetp.eq.u" + std::string(plan.is_wide ? "64" : "32") +
                " %lynxpp_is_none, " + CountText::name(given.reg) + ", 0;\n\t@%lynxpp_is_none bra " + done +
                ";\n" + counts.flush({&given}, {}) + counts.zero(given.reg) + done + ":\n\t}\n";
      }
    }
  }

  /// What `add` builds, as text.
  template <typename Add>
  void append_code(std::string& text, Add add) {
    CodeBuilder code(unit_.edits.names(*function_.function));
    add(code);
    text += print(code.code());
  }

  void insert(std::uint32_t position, const std::string& text) {
    if (!text.empty()) unit_.edits.insert_before(position, "\n" + text + "\t");
  }

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  std::uint32_t& next_site_;
  std::uint32_t& next_tally_label_;
  Outliner& outliner_;
  const bool is_kernel_;
  const Frame frame_;
  SiteValues values_;
  SectorLanes sectors_;
  KeptValues kept_;
};

class Splice final : public Pass {
 public:
  std::string_view name() const override { return "splice"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    const bool has_probes = std::ranges::any_of(unit.probes, &Probe::enabled);
    if (!has_probes && !unit.needs_frame()) return false;
    std::uint32_t next_site = 0;
    std::uint32_t next_tally_label = first_tally_label;
    Outliner outliner(unit, next_tally_label);
    for (const FunctionUnit& function : unit.functions) {
      if (function.instrumented) FunctionSplicer(unit, function, next_site, next_tally_label, outliner).run();
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<Pass> make_splice_pass() { return std::make_unique<Splice>(); }

}  // namespace lynxpp::ptx
