#include "ptx/passes/probes/words/word_run_sites.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/probes/loop_edges.h"
#include "ptx/passes/probes/site.h"

namespace lynxpp::ptx {
namespace {

std::optional<std::int64_t> constant_of(const CodeOperand& value) {
  const std::int64_t* const constant = std::get_if<std::int64_t>(&value.value);
  return constant == nullptr ? std::nullopt : std::optional(*constant);
}

CodeOperand product_of(const CodeOperand& left, const CodeOperand& right, CodeBuilder& code) {
  const std::optional<std::int64_t> factor = constant_of(right);
  if (factor == 1) return left;
  if (factor && constant_of(left)) return *constant_of(left) * *factor;
  return code.b64("mul.lo.s64", {left, right});
}

CodeOperand sum_of(const CodeOperand& left, const CodeOperand& right, CodeBuilder& code) {
  return code.b64("add.s64", {left, right});
}

/// Returns the thread's number in its grid, with blocks in order.
VirtualRegister thread_number(const LaunchShape& launch, CodeBuilder& code) {
  if (launch.is_linear) {
    return code.b32("mad.lo.u32",
                    {code.special("%ctaid.x"), code.special("%ntid.x"), code.special("%tid.x")});
  }
  const auto position_in = [&](const std::string& index, const std::string& extent) {
    const VirtualRegister plane = code.b32(
        "mad.lo.u32", {code.special(index + ".z"), code.special(extent + ".y"), code.special(index + ".y")});
    return code.b32("mad.lo.u32", {plane, code.special(extent + ".x"), code.special(index + ".x")});
  };
  const VirtualRegister threads = code.b32(
      "mul.lo.u32",
      {code.b32("mul.lo.u32", {code.special("%ntid.x"), code.special("%ntid.y")}), code.special("%ntid.z")});
  return code.b32("mad.lo.u32", {position_in("%ctaid", "%nctaid"), threads, position_in("%tid", "%ntid")});
}

}  // namespace

WordRunSites::WordRunSites(InstrumentationUnit& unit, const FunctionUnit& function, WordCounters& counters)
    : unit_(unit), function_(function), counters_(counters) {
  const std::size_t position = unit.reached.position_of(function);
  NameSource& names = unit.edits.names(*function.function);
  for (const auto& [key, runs] : unit.words.runs) {
    if (key.second != position) continue;
    for (const WordRun& each : runs) {
      if (each.record) {
        add_recorded(key.first, each);
        continue;
      }
      Run run{key.first, &each, names.fresh(RegisterType::b64), {}};
      if (!each.distance) run.distance = names.fresh(RegisterType::b64);
      for (std::size_t i = 0; i < each.instructions.size(); ++i)
        accesses_[{key.first, each.instructions[i]}] = {runs_.size(), i};
      const auto [kept, is_new] = kept_.try_emplace(each.block);
      if (is_new) kept->second = {each.loop, names.fresh(RegisterType::b32), {}};
      kept->second.runs.push_back(runs_.size());
      runs_.push_back(run);
    }
  }
}

void WordRunSites::add_recorded(std::size_t probe, const WordRun& run) {
  if (!record_) record_ = unit_.edits.names(*function_.function).fresh(RegisterType::b64);
  const Instruction& first = function_.function->body->instructions[run.instructions[0]];
  const Operand& base = memory_accesses(first).access[0].address->elements[0];
  std::vector<Recorded>& own = recorded_[run.loop];
  const bool leads = run.record->own_end == run.record->end;
  own.insert(leads ? own.begin() : own.end(), {&run, Name{std::string(base.name)}});
  for (const std::uint32_t each : run.instructions) accesses_[{probe, each}] = std::nullopt;
}

void WordRunSites::add_before_end(std::uint32_t block, CodeBuilder& code) const {
  const LoopNest& loops = function_.analyses->loops();
  for (const auto& [loop, runs] : recorded_) {
    const std::uint32_t header = loops.loops()[loop].header;
    const bool leads_there = std::ranges::count(function_.graph().blocks[block].successors, header) != 0;
    if (leads_there && !loops.contains(loop, block))
      code.emit("st.global.b64", {CodeAddress{*record_, runs.front().run->record->first}, runs.front().reg});
  }
}

void WordRunSites::add_after_end(std::uint32_t block, CodeBuilder& code) const {
  const LoopNest& loops = function_.analyses->loops();
  for (const auto& [loop, runs] : recorded_) {
    if (loops.loops()[loop].latches[0] != block) continue;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::uint32_t at = runs[i].run->record->own_end;
      const bool are_two = at % 16 == 0 && i + 1 < runs.size() && runs[i + 1].run->record->own_end == at + 8;
      if (are_two) {
        const CodeList both{CodeList::Kind::vector, {runs[i].reg, runs[i + 1].reg}};
        code.emit("st.global.v2.b64", {CodeAddress{*record_, at}, both});
        ++i;
      } else {
        code.emit("st.global.b64", {CodeAddress{*record_, at}, runs[i].reg});
      }
    }
  }
}

void WordRunSites::add_entry(CodeBuilder& code) const {
  for (const auto& [block, kept] : kept_) code.mov(kept.executions, 0);
  for (const Run& run : runs_) {
    code.mov(run.last, 0);
    if (run.distance) code.mov(*run.distance, 0);
  }
  if (!record_) return;
  const LoopRecords& records = unit_.words.loop_records;
  const VirtualRegister thread = thread_number(unit_.options.launch, code);
  code.emit("mad.wide.u32",
            {*record_, thread, std::int64_t{records.bytes}, counters_.load_slot(records.slot, code)});
}

bool WordRunSites::add_execution(CountedAccess access, CodeBuilder& code) const {
  const auto found = accesses_.find(access);
  if (found == accesses_.end()) return false;
  if (!found->second) return true;
  const auto [number, position] = *found->second;
  const Run& run = runs_[number];
  const Kept& kept = kept_.at(run.run->block);
  const Instruction& instruction = function_.function->body->instructions[access.second];
  const Name base{std::string(memory_accesses(instruction).access[0].address->elements[0].name)};
  // With several accesses, the first two determine the distance; with one, the last two iterations do.
  const std::size_t tells = run.run->instructions.size() > 1 ? 1 : 0;
  if (run.distance && position == tells) code.emit("sub.s64", {*run.distance, base, run.last});
  if (position != 0) return true;
  code.mov(run.last, base);
  if (kept.runs.front() == number) code.emit("add.u32", {kept.executions, kept.executions, 1});
  return true;
}

void WordRunSites::add_left(std::uint32_t block, const Routine& routine, CodeBuilder& code) const {
  const LoopNest& loops = function_.analyses->loops();
  for (const auto& [at, kept] : kept_) {
    if (begins_after(function_.graph(), loops, kept.loop, block)) add_kept(kept, routine, code);
  }
}

void WordRunSites::add_before_exit(std::uint32_t block, const Routine& routine, CodeBuilder& code) const {
  const LoopNest& loops = function_.analyses->loops();
  for (const auto& [at, kept] : kept_) {
    if (loops.contains(kept.loop, block)) add_kept(kept, routine, code);
  }
}

void WordRunSites::add_kept(const Kept& kept, const Routine& routine, CodeBuilder& code) const {
  const Label done = code.fresh_label();
  code.branch_if(CodePredicate(code.pred("setp.eq.u32", {kept.executions, 0})), done);
  for (const std::size_t each : kept.runs) add_run(runs_[each], kept, routine, code);
  code.mov(kept.executions, 0);
  code.place(done);
}

void WordRunSites::add_run(const Run& run, const Kept& kept, const Routine& routine,
                           CodeBuilder& code) const {
  const Label elsewhere = code.fresh_label();
  const Label done = code.fresh_label();
  const Extent extent = extent_of(run, kept, code);
  const VirtualRegister are_many = code.pred("setp.ge.u64", {extent.accesses, fewest});
  // Lanes with short runs mostly access adjacent words together, which costs one addition per sector, whereas
  // a record takes some thirty instructions.
  if (run.run->distance && fewest * std::abs(*run.run->distance) <= WordCounters::most_distance) {
    const Label many = code.fresh_label();
    code.branch_if(CodePredicate(are_many), many);
    counters_.add_few(run.probe, *run.run, extent.first, extent.accesses, fewest, elsewhere, code);
    code.branch(done);
    code.place(many);
  } else {
    code.branch_if(!CodePredicate(are_many), elsewhere);
  }
  add_record(run, extent, elsewhere, code);
  code.branch(done);
  code.place(elsewhere);
  add_routines(run, extent, routine, code);
  code.place(done);
}

WordRunSites::Extent WordRunSites::extent_of(const Run& run, const Kept& kept, CodeBuilder& code) const {
  const auto count = static_cast<std::int64_t>(run.run->instructions.size());
  Extent extent;
  extent.executions = code.b64("cvt.u64.u32", {kept.executions});
  extent.accesses = product_of(extent.executions, count, code);
  if (run.run->distance) {
    extent.distance = *run.run->distance;
  } else if (count > 1) {
    extent.distance = sum_of(*run.distance, run.run->offsets[1] - run.run->offsets[0], code);
  } else {
    // With one iteration, any distance is correct.
    const VirtualRegister is_one = code.pred("setp.eq.u64", {extent.executions, 1});
    extent.distance = code.b64("selp.b64", {std::int64_t{run.run->bytes}, *run.distance, is_one});
  }
  const CodeOperand length = product_of(extent.accesses, extent.distance, code);
  const CodeOperand after_last =
      sum_of(sum_of(run.last, run.run->offsets[0], code), product_of(extent.distance, count, code), code);
  extent.first = code.b64("sub.s64", {after_last, length});
  return extent;
}

/// The active lanes reserve records for all of them with one atomic operation.
void WordRunSites::add_record(const Run& run, const Extent& extent, Label elsewhere,
                              CodeBuilder& code) const {
  constexpr std::int64_t greatest = 0xffffff00;  // exceeds any capacity, leaves room for a warp
  const std::uint32_t runs_slot = *unit_.words.counted.at(run.probe).runs_slot;
  const VirtualRegister records = counters_.load_slot(runs_slot, code);
  const VirtualRegister mask = code.active_mask();
  const VirtualRegister rank = code.b32("popc.b32", {code.lanes_below(mask)});
  const VirtualRegister leader = code.b32("clz.b32", {code.b32("brev.b32", {mask})});
  const VirtualRegister lanes = code.b64("cvt.u64.u32", {code.b32("popc.b32", {mask})});
  const VirtualRegister taken = code.b64("mov.b64", {0});
  const VirtualRegister leads = code.pred("setp.eq.u32", {rank, 0});
  code.emit_if(CodePredicate(leads), "atom.global.add.u64", {taken, CodeAddress{records, 0}, lanes});
  const VirtualRegister bounded = code.b64("min.u64", {taken, greatest});
  const VirtualRegister first = code.b32("cvt.u32.u64", {bounded});
  const VirtualRegister of_warp = code.b32("shfl.sync.idx.b32", {first, leader, 31, mask});
  const VirtualRegister index = code.b32("add.u32", {of_warp, rank});
  const VirtualRegister capacity = code.b32("cvt.u32.u64", {counters_.load_slot(runs_slot + 1, code)});
  const VirtualRegister is_full = code.pred("setp.ge.u32", {index, capacity});
  code.branch_if(CodePredicate(is_full), elsewhere);
  const VirtualRegister record = code.b64("mad.wide.u32", {index, std::int64_t{sizeof(RunRecord)}, records});
  const auto in_register = [&](const CodeOperand& value) -> CodeOperand {
    if (!constant_of(value)) return value;
    return code.b64("mov.b64", {value});
  };
  const auto store = [&](std::int64_t offset, const CodeOperand& low, const CodeOperand& high) {
    const CodeList both{CodeList::Kind::vector, {in_register(low), in_register(high)}};
    code.emit("st.global.v2.b64",
              {CodeAddress{record, static_cast<std::int64_t>(RunRecord::header_bytes) + offset}, both});
  };
  store(0, extent.first, extent.distance);
  store(16, extent.accesses, std::int64_t{run.run->bytes});
}

void WordRunSites::add_routines(const Run& run, const Extent& extent, const Routine& routine,
                                CodeBuilder& code) const {
  Probe& probe = unit_.spliced.probes[run.probe];
  const std::vector<std::uint32_t>& instructions = run.run->instructions;
  const VirtualRegister address = code.b64("mov.b64", {extent.first});
  const VirtualRegister left = code.b64("mov.b64", {extent.executions});
  const Label again = code.fresh_label();
  code.place(again);
  for (const std::uint32_t each : instructions) {
    counters_.add_at({run.probe, each}, address, routine(probe, each, address), code);
    code.emit("add.s64", {address, address, extent.distance});
  }
  code.emit("sub.s64", {left, left, 1});
  code.branch_if(CodePredicate(code.pred("setp.ne.s64", {left, 0})), again);
}

}  // namespace lynxpp::ptx
