#include "ptx/passes/probes/splice.h"

#include <algorithm>
#include <span>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/memory/lane_values.h"
#include "ptx/passes/memory/sector_lanes.h"
#include "ptx/passes/module/entry.h"
#include "ptx/passes/module/frame.h"
#include "ptx/passes/probes/kept_carry.h"
#include "ptx/passes/probes/kept_values.h"
#include "ptx/passes/probes/loop_sites.h"
#include "ptx/passes/probes/outline.h"
#include "ptx/passes/probes/site_values.h"
#include "ptx/passes/probes/tallies.h"
#include "ptx/passes/probes/word_count_sites.h"
#include "ptx/passes/probes/word_counters.h"
#include "ptx/passes/probes/word_run_sites.h"

namespace lynxpp::ptx {
namespace {

bool writes_register(const Operand& operand, std::string_view name) {
  const auto writes = [name](const Operand& element) { return writes_register(element, name); };
  return operand.name == name ||
         (operand.kind != OperandKind::address && std::ranges::any_of(operand.elements, writes));
}

bool overwrites_guard(const Instruction& instruction) {
  if (!instruction.guarded()) return false;
  const auto written = std::min<std::size_t>(instruction.traits.destinations, instruction.operands.size());
  const auto writes = [&](const Operand& each) { return writes_register(each, instruction.guard.predicate); };
  return std::ranges::any_of(std::span(instruction.operands).first(written), writes);
}

bool leaves(const Instruction& instruction) { return instruction.traits.kind == OpcodeClass::exit; }

/// Splices one function: finds the places and adds the routines there.
class FunctionSplicer {
 public:
  FunctionSplicer(InstrumentationUnit& unit, const FunctionUnit& function, Outliner& outliner)
      : unit_(unit),
        function_(function),
        body_(*function.function->body),
        names_(unit.edits.names(*function.function)),
        registers_(unit.thread_registers(*function.function)),
        outliner_(outliner),
        is_kernel_(function.function->is_entry),
        frame_(unit, function),
        tallies_(unit, function),
        values_(unit, function),
        sectors_(unit, function),
        kept_(unit, function),
        carry_(*function.function, function.graph),
        words_(unit, function),
        counters_(unit, function),
        runs_(unit, function, counters_),
        loops_(unit, function, values_,
               [this](ProbePoint point, std::uint32_t loop, std::uint32_t block, CodeBuilder& code) {
                 add_probes({point, block, nullptr, 0, nullptr, loop}, code);
               }) {}

  void run() {
    declare();
    enter();
    for (std::uint32_t block = 0; block < function_.graph.blocks.size(); ++block) splice_block(block);
    kept_.insert();
    counters_.insert();
    drop_masks_of_loads();
  }

 private:
  // ---- memory and entry

  void declare() {
    CodeBuilder code(names_);
    frame_.add_declarations(code);
    std::uint64_t depot_bytes = 0;
    for (const Probe& probe : unit_.spliced.probes) {
      depot_bytes = std::max(depot_bytes, probe.routine.depot_bytes());
      if (probe.with_lane_values) depot_bytes = std::max(depot_bytes, probe.with_lane_values->depot_bytes());
    }
    if (depot_bytes != 0) code.add_text(declaration_of_depot(depot_bytes));
    unit_.edits.insert_before(function_.function->body_text.begin + 1, code.take());
  }

  void enter() {
    CodeBuilder code(names_);
    if (is_kernel_) {
      for (const VirtualRegister state : registers_.states) code.mov(state, 0);
    }
    words_.add_entry(code);
    runs_.add_entry(code);
    frame_.add_entry(code);
    if (is_kernel_) {
      add_probes({ProbePoint::kernel_entry}, code, true);
      add_probes({ProbePoint::kernel_entry}, code, false);
    }
    add_probes({ProbePoint::function_entry}, code);
    loops_.add_function_entry(code);
    unit_.edits.insert_before(entry_position(*function_.function), code.take());
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
    CodeBuilder code(names_);
    sectors_.begin_block(compared_in(range, block));
    counters_.begin_block(block);
    values_.add_block_start(block, code);
    for (const WordCountSites::Kept& each : words_.left_where_begins(block))
      add_kept_words(each, block, code);
    runs_.add_left(block, routine_of_run(block), code);
    loops_.add_block_start(block, code);
    add_probes({ProbePoint::block_entry, block}, code);
    if (range.size() == 0) {
      add_block_exit(block, nullptr, code);
      add_fall_off(range, block, code);
      unit_.edits.insert_before(function_.function->body_text.end - 1, code.take());
      return;
    }
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const Instruction& instruction = body_.instructions[i];
      if (leaves(instruction)) add_kept_words_at_exit(block, instruction, code);
      sectors_.add_before(instruction, code);
      add_instruction_probes(block, instruction, code);
      Code behind = probes_behind(block, instruction, code);
      if (i + 1 == range.end && instruction.traits.ends_block()) {
        add_block_exit(block, &instruction, code);
        loops_.add_before_end(block, instruction, code);
        add_departure(block, instruction, code);
      } else {
        values_.add_guard_count(block, instruction, code);
      }
      unit_.edits.insert_before(instruction.text.begin, carry_.keep_before(i, code.take(), names_));
      splice_behind(block, i, std::move(behind));
    }
  }

  /// Behind an instruction: its probes, behind the last one the exit of a block, or what follows a call.
  void splice_behind(std::uint32_t block, std::uint32_t index, Code probes) {
    const BasicBlock& range = function_.graph.blocks[block];
    const Instruction& instruction = body_.instructions[index];
    CodeBuilder code(names_);
    if (frame_.is_passed_by(instruction)) frame_.add_load(code);
    sectors_.add_behind(index, code);
    code.append(std::move(probes));
    if (index + 1 == range.end) {
      if (!instruction.traits.ends_block()) add_block_exit(block, nullptr, code);
      loops_.add_behind_end(block, instruction, code);
      if (may_run_off_behind(block, instruction)) add_fall_off(range, block, code);
    }
    unit_.edits.insert_before(instruction.text.end, carry_.keep_behind(index, code.take(), names_));
  }

  void add_block_exit(std::uint32_t block, const Instruction* terminator, CodeBuilder& code) {
    CodeBuilder probes(names_);
    add_probes({ProbePoint::block_exit, block, terminator}, probes);
    if (probes.empty()) return;
    values_.add_block_total(block, terminator, code);
    code.append(probes.take());
  }

  /// Whether the body ends behind the block's last instruction, with threads that come there: it may be a
  /// branch whose guard does not hold, or a call that returns.
  bool may_run_off_behind(std::uint32_t block, const Instruction& last) const {
    const bool goes_elsewhere = leaves(last) || last.traits.kind == OpcodeClass::branch;
    return block + 1 == function_.graph.blocks.size() && (last.guarded() || !goes_elsewhere);
  }

  /// A body that ends without ret returns there.
  void add_fall_off(const BasicBlock& range, std::uint32_t block, CodeBuilder& code) {
    if (!range.leaves_function) return;
    runs_.add_before_exit(block, routine_of_run(block), code);
    add_probes({ProbePoint::function_exit, block}, code);
    if (is_kernel_) {
      add_probes({ProbePoint::kernel_exit, block}, code);
    } else {
      frame_.add_store(code);
    }
  }

  /// What leaving through `instruction` needs: kernel-exit probes, the state handed back to the caller or on
  /// to the callee.
  void add_departure(std::uint32_t block, const Instruction& instruction, CodeBuilder& code) {
    const bool ends = leaves(instruction) && (is_kernel_ || instruction.traits.is_thread_exit);
    if (leaves(instruction)) {
      CodeBuilder probes(names_);
      add_probes({ProbePoint::function_exit, block, &instruction}, probes);
      if (ends) add_probes({ProbePoint::kernel_exit, block, &instruction}, probes);
      add_guarded(predicate_of(instruction.guard), probes.take(), code);
    }
    if (ends) return;
    if (frame_.is_passed_by(instruction) || (!is_kernel_ && instruction.traits.is_return)) {
      frame_.add_store(code);
    }
  }

  // ---- probes

  void add_instruction_probes(std::uint32_t block, const Instruction& instruction, CodeBuilder& code) {
    CodeBuilder probes(names_);
    for (Probe& probe : unit_.spliced.probes) {
      if (!stands_at(probe, ProbePoint::instruction, instruction)) continue;
      if (is_measured_elsewhere(probe, instruction)) {
        ++probe.sites;
        continue;
      }
      if (runs_.add_execution(probe, instruction, probes)) continue;
      if (add_word_counters(probe, block, instruction, probes)) continue;
      const Site site = site_at(probe, block, instruction);
      const WordSite* const words = probe.counts_words ? words_.find(lane_site(site)) : nullptr;
      words != nullptr ? add_words(probe, site, *words, probes) : add_prepared(probe, site, probes);
    }
    if (instruction.traits.kind == OpcodeClass::branch) {
      code.append(probes.take());
    } else {
      add_guarded(predicate_of(instruction.guard), probes.take(), code);
    }
  }

  /// False: the routine is to stand there.
  bool add_word_counters(Probe& probe, std::uint32_t block, const Instruction& instruction,
                         CodeBuilder& code) {
    const std::vector<std::uint32_t>* const counted = counters_.counted_before(probe, instruction);
    if (counted == nullptr || counted->empty()) return counted != nullptr;
    const Site site = site_at(probe, block, instruction);
    CodeOperand address = 0;
    if (counters_.asks_for_address(probe, instruction)) {
      values_.add_preparation(probe, site, code);
      address = values_.operand(probe, "memory_address", site);
    }
    CodeBuilder routines(names_);
    for (const std::uint32_t each : *counted)
      add_prepared(probe, site_at(probe, block, body_.instructions[each]), routines);
    counters_.add(probe, *counted, address, routines.take(), code);
    return true;
  }

  /// One thread counts for all of the block, or what is made again and again is counted behind the loop.
  void add_words(Probe& probe, const Site& site, const WordSite& words, CodeBuilder& code) {
    if (words.loop != no_loop) {
      ++probe.sites;
      values_.add_preparation(probe, site, code);
      return words_.add_execution(lane_site(site), values_.operand(probe, "memory_address", site), code);
    }
    if (words.threads == WordSite::Threads::of_a_warp) return add_words_of_warp(probe, site, code);
    const Label others = code.fresh_label();
    code.branch_if(!CodePredicate(words_.is_first_thread()), others);
    values_.stand_for({CodeOperand(words_.threads()), {}});
    add_prepared(probe, site, code);
    values_.stand_for({});
    code.place(others);
  }

  /// The lowest lane counts for all that are here and at its address; the others for themselves, should
  /// hardware ever bring lanes together that are in different iterations.
  void add_words_of_warp(Probe& probe, const Site& site, CodeBuilder& code) {
    values_.add_preparation(probe, site, code);
    const WordCountSites::OfWarp warp =
        WordCountSites::of_warp(values_.operand(probe, "memory_address", site), code);
    const Label counted = code.fresh_label();
    code.branch_if(CodePredicate(warp.follows), counted);
    values_.stand_for({CodeOperand(warp.number), {}});
    add_copy(probe, site, code);
    values_.stand_for({});
    code.place(counted);
  }

  /// What the thread has kept of one access since its loop was entered; nothing where it was not.
  void add_kept_words(const WordCountSites::Kept& kept, std::uint32_t block, CodeBuilder& code) {
    const Label done = code.fresh_label();
    if (kept.site.threads == WordSite::Threads::of_the_block)
      code.branch_if(!CodePredicate(words_.is_first_thread()), done);
    code.branch_if(CodePredicate(code.compute(RegisterType::pred, "setp.eq.u32", {kept.executions, 0})),
                   done);
    CodeOperand number = kept.executions;
    if (kept.site.threads == WordSite::Threads::of_the_block)
      number = code.compute(RegisterType::b32, "mul.lo.u32", {kept.executions, words_.threads()});
    for (Probe& probe : unit_.spliced.probes) {
      if (!probe.counts_words || !stands_at(probe, ProbePoint::instruction, *kept.instruction)) continue;
      Site site = site_at(probe, block, *kept.instruction);
      if (site.access != kept.access) continue;
      values_.add_preparation(probe, site, code);
      values_.stand_for({number, CodeOperand(kept.address)});
      add_copy(probe, site, code);
      --probe.sites;
      values_.stand_for({});
    }
    code.mov(kept.executions, 0);
    code.place(done);
  }

  /// Threads that leave the function from within a loop.
  void add_kept_words_at_exit(std::uint32_t block, const Instruction& exit, CodeBuilder& code) {
    CodeBuilder words(names_);
    for (const WordCountSites::Kept& each : words_.kept_in(block)) add_kept_words(each, block, words);
    runs_.add_before_exit(block, routine_of_run(block), words);
    add_guarded(predicate_of(exit.guard), words.take(), code);
  }

  /// Of accesses that were made before.
  WordRunSites::Routine routine_of_run(std::uint32_t block) {
    return [this, block](Probe& probe, std::uint32_t instruction, const CodeOperand& address) {
      CodeBuilder code(names_);
      values_.stand_for({CodeOperand(1), address});
      add_prepared(probe, site_at(probe, block, body_.instructions[instruction]), code);
      values_.stand_for({});
      --probe.sites;
      return code.take();
    };
  }

  static bool stands_at(const Probe& probe, ProbePoint point, const Instruction& instruction) {
    return probe.enabled && probe.point == point && probe.matches(instruction);
  }

  bool is_measured_elsewhere(const Probe& probe, const Instruction& instruction) const {
    const auto number = static_cast<std::uint32_t>(&probe - unit_.spliced.probes.data());
    const std::uint32_t id =
        function_.first_instruction + static_cast<std::uint32_t>(&instruction - body_.instructions.data());
    return unit_.memory.measured_at(number, id) != id;
  }

  bool lies_evenly(const Probe& probe, const Site& site) const {
    const auto number = static_cast<std::uint32_t>(&probe - unit_.spliced.probes.data());
    const MemorySite* const known = unit_.memory.find(number, lane_site(site).first);
    return known != nullptr && known->is_even;
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
  Code probes_behind(std::uint32_t block, const Instruction& instruction, CodeBuilder& before) {
    if (instruction.traits.kind == OpcodeClass::branch || leaves(instruction)) return {};
    CodeBuilder probes(names_);
    for (Probe& probe : unit_.spliced.probes) {
      if (!stands_at(probe, ProbePoint::instruction_after, instruction)) continue;
      const Site site = site_at(probe, block, instruction);
      values_.add_preparation(probe, site, before);
      values_.add_loaded_values(probe, site, probes);
      add_copy(probe, site, probes);
    }
    if (probes.empty()) return {};
    std::optional<CodePredicate> guard = predicate_of(instruction.guard);
    if (guard && overwrites_guard(instruction)) {
      const VirtualRegister kept = before.compute(RegisterType::pred, "mov.pred", {guard->reg});
      guard = CodePredicate(kept, guard->is_negated);
    }
    CodeBuilder code(names_);
    add_guarded(guard, probes.take(), code);
    return code.take();
  }

  /// `probes` for the lanes whose guard holds.
  static void add_guarded(const std::optional<CodePredicate>& guard, Code probes, CodeBuilder& code) {
    if (probes.empty()) return;
    if (!guard) return code.append(std::move(probes));
    const Label skip = code.fresh_label();
    code.branch_if(!*guard, skip);
    code.append(std::move(probes));
    code.place(skip);
  }

  void add_probes(const Site& site, CodeBuilder& code, bool initializers = false) {
    for (Probe& probe : unit_.spliced.probes) {
      if (probe.enabled && probe.point == site.point && probe.is_initializer == initializers)
        add_prepared(probe, site, code);
    }
  }

  void add_prepared(Probe& probe, const Site& site, CodeBuilder& code) {
    values_.add_preparation(probe, site, code);
    add_copy(probe, site, code);
  }

  void add_copy(Probe& probe, const Site& site, CodeBuilder& code) {
    ++probe.sites;
    for (const std::uint32_t each : routine_at(probe, site).functions())
      unit_.spliced.routine_functions.use(each);
    SiteBinding binding;
    binding.word_opcode = is_kernel_ ? "ld.param.b64" : "ld.local.b64";
    // Device functions without a frame have no words, either.
    if (is_kernel_) {
      binding.word_base = Name{std::string(probe_parameter)};
    } else if (registers_.frame) {
      binding.word_base = *registers_.frame;
    }
    binding.first_word = probe.first_word;
    binding.first_state = probe.first_state;
    binding.first_variable = probe.first_variable;
    binding.state = [&](std::uint32_t index) { return CodeOperand(registers_.states[index]); };
    const std::optional<Label> in_row = add_skip_of_rows(probe, site, code);
    add_routine(probe, site, binding, code);
    if (in_row) code.place(*in_row);
  }

  void add_routine(const Probe& probe, const Site& site, SiteBinding& binding, CodeBuilder& code) {
    const std::vector<SiteTally> tallies = tallies_.at(probe, site);
    // With values of the lanes at hand the routine is short.
    const bool is_short = &routine_at(probe, site) != &probe.routine;
    if (!is_short && outliner_.is_outlined(probe, tallies)) {
      binding.site_value = [&](std::string_view name) { return values_.operand(probe, name, site); };
      return outliner_.add_call(probe, binding, tallies, code);
    }
    if (compares_sectors(probe, site)) return add_sectors(probe, site, tallies, code);
    const std::optional<Label> apart = is_short ? add_skip_of_apart(probe, site, code) : std::nullopt;
    if (is_short) add_banks_of_some(probe, site, binding, code);
    std::map<std::string_view, CodeOperand> of_tallies;
    for (const SiteTally& tally : tallies) {
      if (!tally.place) continue;
      of_tallies.emplace(tally.name, tally.place.is_bit()
                                         ? CodeOperand(code.compute(RegisterType::b32, "mov.b32", {0}))
                                         : CodeOperand(tally.reg));
    }
    binding.site_value = [&](std::string_view name) -> std::optional<CodeOperand> {
      if (is_lane_value(name)) return *unit_.lane_values->find(lane_site(site), name);
      // Addresses that begin sectors are compared with the lane's value once, before a loop.
      if (is_short && name == "memory_address" && lies_evenly(probe, site)) return 0;
      if (!name.starts_with("tally_")) return values_.operand(probe, name, site);
      const auto found = of_tallies.find(name);
      return found == of_tallies.end() ? std::nullopt : std::optional(found->second);
    };
    if (site.point != ProbePoint::kernel_entry) kept_.bind(routine_at(probe, site), site.block, binding);
    code.append(routine_at(probe, site).copy(binding, names_));
    for (const SiteTally& tally : tallies) {
      if (tally.place.is_bit())
        tallies_.add_bit(tally.place, std::get<VirtualRegister>(of_tallies.at(tally.name).value), code);
    }
    tallies_.add_flushes(probe, site, code);
    if (apart) code.place(*apart);
  }

  /// Whether the lanes find out at the access itself who is the first in his sector, and nothing else is to
  /// be done there.
  bool compares_sectors(const Probe& probe, const Site& site) const {
    if (site.instruction == nullptr) return false;
    const MemoryAccesses accesses = memory_accesses(*site.instruction);
    return SectorLanes::is_possible(unit_) && probe.measures_sectors && site.routine == nullptr &&
           site.point == ProbePoint::instruction && !site.instruction->guarded() &&
           unit_.counting.plan != nullptr && accesses.count == 1 && accesses.access[0].address != nullptr &&
           !outliner_.is_outlined(probe, tallies_.at(probe, site));
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
      if (std::ranges::any_of(unit_.spliced.probes, is_compared)) compared.push_back(i);
    }
    return compared;
  }

  void add_sectors(const Probe& probe, const Site& site, const std::vector<SiteTally>& tallies,
                   CodeBuilder& code) {
    CodeBuilder raise(names_);
    for (const SiteTally& tally : tallies) {
      if (tally.place) tallies_.add_one(tally.place, sectors_.first(), raise);
    }
    tallies_.add_flushes(probe, site, raise);
    sectors_.add_access(lane_site(site).first - function_.first_instruction,
                        values_.operand(probe, "memory_address", site), raise.take(), code);
  }

  /// Where warps that are full rows need not be counted: goes by for them to the label, and counts one for
  /// others.
  std::optional<Label> add_skip_of_rows(const Probe& probe, const Site& site, CodeBuilder& code) {
    if (site.instruction == nullptr) return std::nullopt;
    const auto number_of_probe = static_cast<std::uint32_t>(&probe - unit_.spliced.probes.data());
    const MemorySite* const known = unit_.memory.find(number_of_probe, lane_site(site).first);
    if (known == nullptr || !known->rows) return std::nullopt;
    const TallyPlace exception = tallies_.exception_at(probe, site);
    if (!exception) return std::nullopt;
    const Label label = code.fresh_label();
    if (const std::optional<VirtualRegister> row = row_register(site)) {
      const VirtualRegister place = place_in_row(probe, site, *known->rows, *row, code);
      const VirtualRegister is_row = code.compute(RegisterType::pred, "setp.eq.u32", {place, 0});
      code.branch_if(CodePredicate(is_row), label);
    }
    tallies_.add_mark(exception, code.elect_leader(code.active_mask()), code);
    return label;
  }

  /// Nothing: the lanes have not found out whether they are a full row.
  std::optional<VirtualRegister> row_register(const Site& site) const {
    if (unit_.lane_values == nullptr) return std::nullopt;
    const auto found = unit_.lane_values->rows.find(lane_site(site));
    return found == unit_.lane_values->rows.end() ? std::nullopt : std::optional(found->second);
  }

  /// 0 if the warp is as expected.
  VirtualRegister place_in_row(const Probe& probe, const Site& site, const RowSectors& rows,
                               VirtualRegister row, CodeBuilder& code) {
    if (rows.is_anywhere) return code.compute(RegisterType::b32, "and.b32", {row, 1});
    const VirtualRegister low =
        code.compute(RegisterType::b32, "cvt.u32.u64", {values_.operand(probe, "memory_address", site)});
    const VirtualRegister of_first = code.compute(RegisterType::b32, "add.u32", {low, row});
    const VirtualRegister distance = code.compute(RegisterType::b32, "add.u32", {of_first, 32 - rows.place});
    return code.compute(RegisterType::b32, "and.b32", {distance, 31});
  }

  /// Of accesses to words nothing is to be added where nobody meets: goes to the label then. Nothing: there
  /// is always something.
  std::optional<Label> add_skip_of_apart(const Probe& probe, const Site& site, CodeBuilder& code) {
    const auto found = unit_.lane_values->bank_lanes.find(lane_site(site));
    const MemoryAccesses accesses = memory_accesses(*site.instruction);
    const bool is_word = site.access < accesses.count && accesses.access[site.access].bytes <= 4;
    if (found == unit_.lane_values->bank_lanes.end() || !is_word || !probe.measures_banks)
      return std::nullopt;
    const Label apart = code.fresh_label();
    const VirtualRegister is_apart = code.compute(RegisterType::pred, "setp.eq.b32", {found->second, 0});
    code.branch_if(CodePredicate(is_apart), apart);
    return apart;
  }

  /// Where lanes know whom they would meet at a bank: what that comes to for those that are here.
  void add_banks_of_some(const Probe& probe, const Site& site, SiteBinding binding, CodeBuilder& code) {
    const auto found = unit_.lane_values->bank_lanes.find(lane_site(site));
    if (found == unit_.lane_values->bank_lanes.end()) return;
    Site known = site;
    known.routine = &unit_.spliced.lane_routines.find(banks_of_some_lanes_value)->second;
    for (const std::uint32_t each : known.routine->functions()) unit_.spliced.routine_functions.use(each);
    values_.add_preparation(probe, known, code);
    binding.site_value = [&](std::string_view name) -> CodeOperand {
      if (name == lane_result_value) return *unit_.lane_values->find(lane_site(site), hoisted_banks_value);
      return name == bank_lanes_value ? found->second : values_.operand(probe, name, known);
    };
    code.append(known.routine->copy(binding, names_));
  }

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  NameSource& names_;
  const ThreadRegisters& registers_;
  Outliner& outliner_;
  const bool is_kernel_;
  const Frame frame_;
  const Tallies tallies_;
  SiteValues values_;
  SectorLanes sectors_;
  KeptValues kept_;
  KeptCarry carry_;
  WordCountSites words_;
  WordCounters counters_;
  WordRunSites runs_;
  LoopSites loops_;
};

class Splice final : public Pass {
 public:
  std::string_view name() const override { return "splice"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    if (std::ranges::none_of(unit.spliced.probes, &Probe::enabled) && !unit.needs_frame()) return false;
    Outliner outliner(unit);
    for (const FunctionUnit& function : unit.reached.functions) {
      if (function.instrumented) FunctionSplicer(unit, function, outliner).run();
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<Pass> make_splice_pass() { return std::make_unique<Splice>(); }

}  // namespace lynxpp::ptx
