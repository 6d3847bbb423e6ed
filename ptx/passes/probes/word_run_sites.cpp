#include "ptx/passes/probes/word_run_sites.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "ptx/ir/memory_access.h"

namespace lynxpp::ptx {
namespace {

constexpr std::int64_t word_bytes = 4;
/// Fewer accesses than this are counted one by one: lanes whose runs are short mostly access words together
/// that follow one another, which is one addition to a sector, while each of their runs would be two.
constexpr std::int64_t shortest_run = 8;

CodeOperand multiple_of(const CodeOperand& value, std::int64_t factor, CodeBuilder& code) {
  if (factor == 1) return value;
  if (const std::int64_t* const constant = std::get_if<std::int64_t>(&value.value)) return *constant * factor;
  return code.compute(RegisterType::b64, "mul.lo.s64", {value, factor});
}

CodeOperand sum_of(const CodeOperand& left, const CodeOperand& right, CodeBuilder& code) {
  return code.compute(RegisterType::b64, "add.s64", {left, right});
}

std::optional<std::int64_t> constant_of(const CodeOperand& value) {
  const std::int64_t* const constant = std::get_if<std::int64_t>(&value.value);
  return constant == nullptr ? std::nullopt : std::optional(*constant);
}

}  // namespace

WordRunSites::WordRunSites(InstrumentationUnit& unit, const FunctionUnit& function)
    : unit_(unit), function_(function) {
  const auto position = static_cast<std::size_t>(&function - unit.reached.functions.data());
  NameSource& names = unit.edits.names(*function.function);
  for (const auto& [place, runs] : unit.word_runs) {
    if (place.second != position) continue;
    for (const WordRun& each : runs) {
      Run run{place.first, &each, {}, names.fresh(RegisterType::b64), {}};
      if (!each.distance) run.distance = names.fresh(RegisterType::b64);
      for (std::size_t i = 0; i < each.instructions.size(); ++i) {
        const Instruction& instruction = function.function->body->instructions[each.instructions[i]];
        const Operand& address = *memory_accesses(instruction).access[0].address;
        run.offsets.push_back(address.offset + address.elements[0].offset);
        places_[{place.first, each.instructions[i]}] = {runs_.size(), i};
      }
      const auto [kept, is_new] = kept_.try_emplace(each.block);
      if (is_new) kept->second = {each.loop, names.fresh(RegisterType::b32), {}};
      kept->second.runs.push_back(runs_.size());
      runs_.push_back(std::move(run));
    }
  }
}

void WordRunSites::add_entry(CodeBuilder& code) const {
  for (const auto& [block, kept] : kept_) code.mov(kept.executions, 0);
  for (const Run& run : runs_) {
    code.mov(run.last, 0);
    if (run.distance) code.mov(*run.distance, 0);
  }
}

bool WordRunSites::add_execution(Probe& probe, const Instruction& instruction, CodeBuilder& code) const {
  const std::vector<Instruction>& instructions = function_.function->body->instructions;
  const auto place = places_.find({static_cast<std::size_t>(&probe - unit_.spliced.probes.data()),
                                   static_cast<std::uint32_t>(&instruction - instructions.data())});
  if (place == places_.end()) return false;
  ++probe.sites;
  const auto [number, access] = place->second;
  const Run& run = runs_[number];
  const Kept& kept = kept_.at(run.run->block);
  const Name base{std::string(memory_accesses(instruction).access[0].address->elements[0].name)};
  // Of several accesses the first two say how far they are apart, of one the last two iterations.
  const std::size_t tells = run.run->instructions.size() > 1 ? 1 : 0;
  if (run.distance && access == tells) code.emit("sub.s64", {*run.distance, base, run.last});
  if (access != 0) return true;
  code.mov(run.last, base);
  if (kept.runs.front() == number) code.emit("add.u32", {kept.executions, kept.executions, 1});
  return true;
}

void WordRunSites::add_left(std::uint32_t block, const Routine& routine, CodeBuilder& code) const {
  if (kept_.empty()) return;
  const LoopNest& loops = unit_.analyses.of(*function_.function).loops();
  for (const auto& [at, kept] : kept_) {
    const std::vector<std::uint32_t>& before = function_.graph.blocks[block].predecessors;
    const bool is_left = !loops.contains(kept.loop, block) &&
                         std::ranges::any_of(before, [&, loop = kept.loop](std::uint32_t each) {
                           return loops.contains(loop, each);
                         });
    if (is_left) add_kept(kept, routine, code);
  }
}

void WordRunSites::add_before_exit(std::uint32_t block, const Routine& routine, CodeBuilder& code) const {
  if (kept_.empty()) return;
  const LoopNest& loops = unit_.analyses.of(*function_.function).loops();
  for (const auto& [at, kept] : kept_) {
    if (loops.contains(kept.loop, block)) add_kept(kept, routine, code);
  }
}

void WordRunSites::add_kept(const Kept& kept, const Routine& routine, CodeBuilder& code) const {
  const Label done = code.fresh_label();
  code.branch_if(CodePredicate(code.compute(RegisterType::pred, "setp.eq.u32", {kept.executions, 0})), done);
  for (const std::size_t each : kept.runs) add_run(runs_[each], kept, routine, code);
  code.mov(kept.executions, 0);
  code.place(done);
}

void WordRunSites::add_run(const Run& run, const Kept& kept, const Routine& routine,
                           CodeBuilder& code) const {
  const Label elsewhere = code.fresh_label();
  const Label done = code.fresh_label();
  const Extent extent = extent_of(run, kept, code);
  const VirtualRegister is_short =
      code.compute(RegisterType::pred, "setp.lt.u64", {extent.accesses, shortest_run});
  code.branch_if(CodePredicate(is_short), elsewhere);
  add_numbers(run, extent, elsewhere, code);
  code.branch(done);
  code.place(elsewhere);
  add_routines(run, extent, routine, code);
  code.place(done);
}

WordRunSites::Extent WordRunSites::extent_of(const Run& run, const Kept& kept, CodeBuilder& code) const {
  const auto count = static_cast<std::int64_t>(run.run->instructions.size());
  Extent extent;
  extent.executions = code.compute(RegisterType::b64, "cvt.u64.u32", {kept.executions});
  extent.accesses = multiple_of(extent.executions, count, code);
  if (run.run->distance) {
    extent.distance = *run.run->distance;
  } else if (count > 1) {
    extent.distance = sum_of(*run.distance, run.offsets[1] - run.offsets[0], code);
  } else {
    // After one iteration any distance will do.
    const VirtualRegister is_one = code.compute(RegisterType::pred, "setp.eq.u64", {extent.executions, 1});
    extent.distance =
        code.compute(RegisterType::b64, "selp.b64", {std::int64_t{run.run->bytes}, *run.distance, is_one});
  }
  const std::optional<std::int64_t> constant = constant_of(extent.distance);
  extent.length =
      constant
          ? multiple_of(extent.accesses, *constant, code)
          : CodeOperand(code.compute(RegisterType::b64, "mul.lo.s64", {extent.accesses, extent.distance}));
  const CodeOperand behind_last =
      sum_of(sum_of(run.last, run.offsets[0], code), multiple_of(extent.distance, count, code), code);
  extent.first = code.compute(RegisterType::b64, "sub.s64", {behind_last, extent.length});
  return extent;
}

void WordRunSites::add_numbers(const Run& run, const Extent& extent, Label elsewhere,
                               CodeBuilder& code) const {
  const CountedWords& words = unit_.spliced.counted_words.at(run.probe);
  const std::int64_t bytes = run.run->bytes;
  const std::optional<std::int64_t> constant = run.run->distance;
  const auto compute = [&](const char* opcode, std::vector<CodeOperand> operands) -> CodeOperand {
    return code.compute(RegisterType::b64, opcode, std::move(operands));
  };
  // The lowest access, and how far behind it the run ends.
  CodeOperand lowest = extent.first, span = extent.length, distance = extent.distance;
  if (constant == 0) {
    span = bytes;
    distance = bytes;
  } else if (!constant || *constant < 0) {
    const CodeOperand behind = sum_of(extent.first, extent.length, code);
    lowest = compute("sub.s64", {behind, extent.distance});
    span = compute("abs.s64", {extent.length});
    if (constant) {
      distance = -*constant;
    } else {
      const VirtualRegister is_down = code.compute(RegisterType::pred, "setp.lt.s64", {distance, 0});
      lowest = compute("selp.b64", {lowest, extent.first, is_down});
      distance = compute("abs.s64", {distance});
    }
  }
  const VirtualRegister begin = word(words.begin_word, code);
  const VirtualRegister all = word(*words.runs_word + 1, code);
  const CodeOperand behind = compute("sub.u64", {lowest, begin});
  const CodeOperand end = sum_of(behind, span, code);
  const CodeOperand last = compute("sub.s64", {end, distance});
  const VirtualRegister begins = code.compute(RegisterType::pred, "setp.lt.u64", {behind, all});
  const VirtualRegister fits =
      code.compute(RegisterType::pred, "setp.le.and.u64", {sum_of(last, bytes, code), all, begins});
  code.branch_if(!CodePredicate(fits), elsewhere);
  const VirtualRegister runs = word(*words.runs_word, code);
  const bool follows = constant && (*constant == 0 || std::abs(*constant) == bytes);
  const CodeOperand row = follows ? CodeOperand(runs) : row_of(distance, runs, all, elsewhere, code);
  const CodeOperand number = sum_of(row, compute("shl.b64", {behind, 1}), code);
  const CodeOperand behind_number = sum_of(row, compute("shl.b64", {end, 1}), code);
  const CodeOperand weight = constant == 0 ? extent.executions : CodeOperand(1);
  const CodeOperand opposite = constant == 0 ? compute("neg.s64", {weight}) : CodeOperand(-1);
  for (std::int64_t at = 0; at < (follows ? word_bytes : bytes); at += word_bytes) {
    const std::int64_t place = RunNumbers::header_bytes + RunNumbers::scale * at;
    const auto address = [&](const CodeOperand& base) {
      return CodeAddress{std::get<VirtualRegister>(base.value), place};
    };
    code.emit("red.global.add.u64", {address(number), weight});
    const VirtualRegister is_inside =
        code.compute(RegisterType::pred, "setp.lt.u64", {at == 0 ? end : sum_of(end, at, code), all});
    code.emit_if(CodePredicate(is_inside), "red.global.add.u64", {address(behind_number), opposite});
  }
}

/// The row for words so far apart, from `numbers` on; goes elsewhere where there is none.
CodeOperand WordRunSites::row_of(const CodeOperand& distance, VirtualRegister numbers, VirtualRegister bytes,
                                 Label elsewhere, CodeBuilder& code) {
  if (constant_of(distance) == word_bytes) return numbers;
  const CodeAddress other{numbers, 8};
  const VirtualRegister row = code.compute(RegisterType::b64, "mov.b64", {numbers});
  const Label chosen = code.fresh_label();
  if (!constant_of(distance)) {
    const VirtualRegister follow = code.compute(RegisterType::pred, "setp.eq.s64", {distance, word_bytes});
    code.branch_if(CodePredicate(follow), chosen);
    const VirtualRegister rest = code.compute(RegisterType::b64, "and.b64", {distance, word_bytes - 1});
    const VirtualRegister is_odd = code.compute(RegisterType::pred, "setp.ne.s64", {rest, 0});
    const VirtualRegister is_none = code.compute(RegisterType::pred, "setp.eq.or.s64", {distance, 0, is_odd});
    code.branch_if(CodePredicate(is_none), elsewhere);
  }
  const VirtualRegister known = code.compute(RegisterType::b64, "ld.volatile.global.u64", {other});
  const Label compare = code.fresh_label();
  code.branch_if(CodePredicate(code.compute(RegisterType::pred, "setp.ne.s64", {known, 0})), compare);
  code.emit("atom.global.cas.b64", {known, other, 0, distance});
  const VirtualRegister is_first = code.compute(RegisterType::pred, "setp.eq.s64", {known, 0});
  code.mov_if(CodePredicate(is_first), known, distance);
  code.place(compare);
  const VirtualRegister differs = code.compute(RegisterType::pred, "setp.ne.s64", {known, distance});
  code.branch_if(CodePredicate(differs), elsewhere);
  code.emit("mad.lo.s64", {row, bytes, RunNumbers::scale, row});
  code.place(chosen);
  return row;
}

void WordRunSites::add_routines(const Run& run, const Extent& extent, const Routine& routine,
                                CodeBuilder& code) const {
  Probe& probe = unit_.spliced.probes[run.probe];
  const std::vector<std::uint32_t>& instructions = run.run->instructions;
  const VirtualRegister address = code.compute(RegisterType::b64, "mov.b64", {extent.first});
  const VirtualRegister left = code.compute(RegisterType::b64, "mov.b64", {extent.executions});
  const Label again = code.fresh_label();
  code.place(again);
  for (const std::uint32_t each : instructions) {
    code.append(routine(probe, each, address));
    code.emit("add.s64", {address, address, extent.distance});
  }
  code.emit("sub.s64", {left, left, 1});
  code.branch_if(CodePredicate(code.compute(RegisterType::pred, "setp.ne.s64", {left, 0})), again);
}

VirtualRegister WordRunSites::word(std::uint32_t index, CodeBuilder& code) const {
  const bool is_kernel = function_.function->is_entry;
  CodeRegister base = Name{std::string(probe_parameter)};
  if (!is_kernel) base = *unit_.thread_registers(*function_.function).frame;
  return code.compute(RegisterType::b64, is_kernel ? "ld.param.b64" : "ld.local.b64",
                      {CodeAddress{base, std::int64_t{8} * index}});
}

}  // namespace lynxpp::ptx
