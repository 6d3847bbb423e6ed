#include "ptx/passes/probes/words/word_counters.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "ptx/passes/facts.h"
#include "ptx/passes/module/entry.h"
#include "ptx/passes/module/parameter_slots.h"
#include "ptx/passes/probes/site.h"

namespace lynxpp::ptx {
namespace {

constexpr std::size_t most_together = 16;
constexpr std::int64_t most_distance = 16 * 1024;  // between accesses that are counted together
constexpr std::uint32_t last_count = 0xffffffff;   // maximum of a 32-bit count before it overflows

bool is_supported(std::uint32_t bytes) { return bytes != 0 && bytes <= 16 && (bytes & (bytes - 1)) == 0; }

}  // namespace

/// Emits code that adds to the word counts of one probe, and branches to `done` if all words are counted.
class WordCounters::Additions {
 public:
  Additions(const WordCounters& counters, std::size_t probe, CodeBuilder& code)
      : counters_(counters),
        words_(counters.unit_.words.counted.at(probe)),
        kept_(counters.kept(probe, code)),
        code_(code) {}

  /// Counts the accesses if all their words have contiguous counts.
  void add_in_device(const Group& accesses, const CodeOperand& address, Label done) {
    std::vector<Group> by_base;
    for (const WordAddress& each : accesses) {
      if (by_base.empty() || by_base.back()[0].base->value != each.base->value) by_base.emplace_back();
      by_base.back().push_back(each);
    }
    std::optional<VirtualRegister> holds;
    // Between allocations there may be memory that does not belong to the device.
    if (accesses[0].is_generic) holds = code_.pred("isspacep.global", {address});
    std::vector<VirtualRegister> offsets;
    for (const Group& each : by_base) {
      offsets.push_back(code_.b64("sub.u64", {base_of(each[0], address), kept_.begin}));
      holds = holds ? code_.pred("setp.lt.and.u64", {offsets.back(), kept_.bytes, *holds})
                    : code_.pred("setp.lt.u64", {offsets.back(), kept_.bytes});
    }
    for (std::size_t i = 0; i < by_base.size(); ++i)
      add_reductions(by_base[i], *holds, counts_at(whole_word(offsets[i], RegisterType::b64, by_base[i][0])));
    code_.branch_if(*holds, done);
  }

  /// Counts shared memory words in device memory.
  void add_of_shared(std::vector<WordAddress> accesses, const CodeOperand& address, Label done) {
    const CodeOperand base = whole_word(base_of(accesses[0], address), RegisterType::b32, accesses[0]);
    const VirtualRegister holds = is_inside(accesses, base);
    add_reductions(accesses, holds, code_.b64("mad.wide.u32", {base, scale(), kept_.counts}));
    code_.branch_if(holds, done);
  }

  /// Adds to counters in the block's shared memory. Equivalent to the routine: if a 32-bit counter overflows,
  /// 2^32 is added in device memory.
  void add_in_block(std::vector<WordAddress> accesses, const CodeOperand& address, Label done) {
    const CodeOperand base = whole_word(base_of(accesses[0], address), RegisterType::b32, accesses[0]);
    const VirtualRegister holds = is_inside(accesses, base);
    const VirtualRegister counters = code_.b32("add.u32", {kept_.counts, base});
    std::vector<std::pair<VirtualRegister, std::int64_t>> before;  // and the word's distance from the base
    for (const WordAddress& word : accesses) {
      for (std::int64_t at = word.offset; at < word.offset + word.bytes; at += word_bytes) {
        const CodeAddress counter{counters, at};
        if (has_wide_counts()) {
          before.emplace_back(code_.fresh(RegisterType::b32), at);
          code_.emit_if(holds, "atom.shared.add.u32", {before.back().first, counter, 1});
        } else {
          code_.emit_if(holds, "red.shared.add.u32", {counter, 1});
        }
      }
    }
    if (!has_wide_counts()) return code_.branch_if(holds, done);
    VirtualRegister greatest = before[0].first;
    for (std::size_t i = 1; i < before.size(); ++i)
      greatest = code_.b32("max.u32", {greatest, before[i].first});
    code_.branch_if(code_.pred("setp.ne.and.u32", {greatest, last_count, holds}), done);
    const Label outside = code_.fresh_label();
    code_.branch_if(!CodePredicate(holds), outside);
    const VirtualRegister counts =
        code_.b64("mad.wide.u32", {base, scale(), counters_.load_slot(words_.array_slot, code_)});
    for (const auto& [count, at] : before) {
      const VirtualRegister wrapped = code_.pred("setp.eq.u32", {count, last_count});
      code_.emit_if(CodePredicate(wrapped), "red.global.add.u64",
                    {CodeAddress{counts, scale() * at}, std::int64_t{1} << 32});
    }
    code_.branch(done);
    code_.place(outside);
  }

 private:
  bool has_wide_counts() const { return words_.element_bytes != word_bytes; }
  std::int64_t scale() const { return words_.element_bytes / word_bytes; }

  /// Returns the base; of an address in shared memory, its low 32 bits.
  CodeOperand base_of(const WordAddress& word, const CodeOperand& address) {
    const bool is_wide = !word.base || word.base->is_wide;
    CodeOperand base = word.base ? CodeOperand(word.base->name) : address;
    if (words_.is_shared && word.is_generic) base = code_.b64("cvta.to.shared.u64", {base});
    if (words_.is_shared && is_wide) base = code_.b32("cvt.u32.u64", {base});
    return base;
  }

  /// Returns the start of the 4-byte word that contains a narrower access.
  CodeOperand whole_word(CodeOperand base, RegisterType type, WordAddress& word) {
    if (word.bytes >= word_bytes) return base;
    const std::string bits = type == RegisterType::b64 ? "64" : "32";
    if (word.offset != 0) base = code_.compute(type, "add.s" + bits, {base, word.offset});
    word.offset = 0;
    return code_.compute(type, "and.b" + bits, {base, -std::int64_t{word_bytes}});
  }

  /// Returns the address of the count, apart from the margin, at `distance` bytes after the first word.
  VirtualRegister counts_at(CodeOperand distance) {
    if (has_wide_counts()) distance = code_.b64("shl.b64", {distance, 1});
    return code_.b64("add.u64", {kept_.counts, distance});
  }

  /// Holds if all words have counts.
  VirtualRegister is_inside(const std::vector<WordAddress>& accesses, const CodeOperand& base) {
    std::int64_t lowest = accesses[0].offset, highest = accesses[0].offset;
    for (const WordAddress& each : accesses) {
      lowest = std::min(lowest, each.offset);
      highest = std::max(highest, each.offset + std::max(each.bytes, word_bytes) - word_bytes);
    }
    const auto at = [&](std::int64_t offset) -> CodeOperand {
      if (offset == 0) return base;
      return code_.b32("add.s32", {base, offset});
    };
    const VirtualRegister below = code_.pred("setp.lt.u32", {at(highest), kept_.bytes});
    // A single access is naturally aligned.
    if (accesses.size() == 1) return below;
    return code_.pred("setp.lt.and.u32", {at(lowest), kept_.bytes, below});
  }

  void add_reductions(const std::vector<WordAddress>& accesses, const CodePredicate& holds,
                      VirtualRegister counts) {
    const auto margin = static_cast<std::int64_t>(words_.margin_bytes);
    for (const WordAddress& word : accesses) {
      for (std::int64_t at = 0; at < word.bytes; at += word_bytes) {
        const CodeAddress count{counts, scale() * (margin + word.offset + at)};
        if (!has_wide_counts() && counters_.unit_.counting.is_wide) {
          add_saturating(holds, count);
        } else {
          code_.emit_if(holds, has_wide_counts() ? "red.global.add.u64" : "red.global.add.u32", {count, 1});
        }
      }
    }
  }

  /// In launches so long that a 32-bit count may overflow, saturates it: each thread whose addition overflows
  /// resets it to the maximum.
  void add_saturating(const CodePredicate& holds, const CodeAddress& count) {
    const VirtualRegister before = code_.b32("mov.b32", {0});
    code_.emit_if(holds, "atom.global.add.u32", {before, count, 1});
    const VirtualRegister wrapped = code_.pred("setp.eq.u32", {before, last_count});
    code_.emit_if(CodePredicate(wrapped), "red.global.max.u32", {count, last_count});
  }

  const WordCounters& counters_;
  const CountedWords& words_;
  const Kept kept_;
  CodeBuilder& code_;
};

WordCounters::WordCounters(InstrumentationUnit& unit, const FunctionUnit& function)
    : unit_(unit), function_(function), body_(*function.function->body), analyses_(*function.analyses) {
  for (const auto& [probe, words] : unit.words.counted) {
    for (std::uint32_t block = 0; block < function.graph().blocks.size(); ++block) group(probe, block);
  }
  std::map<std::size_t, std::size_t> uses;  // by probe; twice if in a loop
  for (const auto& [access, together] : groups_) {
    if (together.empty()) continue;
    const bool is_in_loop = analyses_.loops().loop_of(function.graph().block_of[access.second]) != no_loop;
    uses[access.first] += is_in_loop ? 2 : 1;
  }
  for (const auto& [probe, number] : uses) {
    if (number < 2) continue;
    CodeBuilder code(unit.edits.names(*function.function));
    kept_.emplace(probe, fill(unit.words.counted.at(probe), code));
    entry_.append(code.take());
  }
}

std::optional<WordCounters::WordAddress> WordCounters::address_of(CountedAccess access) const {
  const auto [probe, instruction] = access;
  const Probe& counting = unit_.spliced.probes[probe];
  const Instruction& at = body_.instructions[instruction];
  if (!counting.enabled || !at.traits.is_memory_access() || !counting.matches(at)) return std::nullopt;
  const std::optional<MemoryAccess> counted = counting.access_at(at);
  const StateSpace space = unit_.words.counted.at(probe).is_shared ? StateSpace::shared : StateSpace::global;
  const bool is_generic = counted && counted->space == StateSpace::generic;
  if (!counted || (counted->space != space && !is_generic) || counted->address == nullptr ||
      counted->selects_lanes() || counted->is_bulk || !is_supported(counted->bytes))
    return std::nullopt;
  WordAddress word;
  word.instruction = instruction;
  word.bytes = counted->bytes;
  word.is_generic = is_generic;
  if (is_generic) return word;
  const Operand& address = *counted->address;
  if (address.elements.size() != 1 || address.elements[0].kind != OperandKind::identifier) return word;
  const Operand& base = address.elements[0];
  const RegisterId reg = analyses_.registers().find(base.name, instruction);
  if (reg == no_register) return word;
  const std::uint32_t bytes = size_of(analyses_.registers().registers()[reg].type);
  const std::int64_t offset = address.offset + base.offset;
  const bool is_usable = bytes == 8 || (bytes == 4 && space == StateSpace::shared);
  if (!is_usable || std::abs(offset) > most_distance) return word;
  word.base = {Name{std::string(base.name)}, bytes == 8, analyses_.ssa().read_of(instruction, reg)};
  word.offset = offset;
  return word;
}

void WordCounters::group(std::size_t probe, std::uint32_t block) {
  const BasicBlock& range = function_.graph().blocks[block];
  std::map<std::uint32_t, std::uint32_t> firsts;  // by value of the register
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    const std::optional<WordAddress> word = address_of({probe, i});
    if (!word) continue;
    groups_[{probe, i}];
    const bool can_share = word->base && word->base->value != no_value && word->bytes >= word_bytes &&
                           !body_.instructions[i].guarded();
    std::uint32_t first = i;
    if (can_share) {
      std::uint32_t& known = firsts.try_emplace(word->base->value, i).first->second;
      if (groups_.at({probe, known}).size() == most_together) known = i;
      first = known;
    }
    groups_.at({probe, first}).push_back(*word);
  }
  if (!unit_.words.counted.at(probe).is_shared) {
    std::vector<std::uint32_t> alone;
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const auto found = groups_.find({probe, i});
      if (found == groups_.end() || found->second.empty()) continue;
      const WordAddress& word = found->second[0];
      if (word.base && word.base->value != no_value && word.bytes >= word_bytes &&
          !body_.instructions[i].guarded())
        alone.push_back(i);
    }
    join(probe, alone);
  }
}

/// Joins groups of a block that begin at these instructions, in ascending order.
void WordCounters::join(std::size_t probe, const std::vector<std::uint32_t>& firsts) {
  for (std::size_t begin = 0, end; begin < firsts.size(); begin = end) {
    std::size_t accesses = groups_.at({probe, firsts[begin]}).size();
    for (end = begin + 1; end < firsts.size(); ++end) {
      accesses += groups_.at({probe, firsts[end]}).size();
      const auto reaches = [&](std::uint32_t first) {
        return holds_until(groups_.at({probe, first}), firsts[end]);
      };
      if (accesses > most_together ||
          !std::all_of(firsts.begin() + static_cast<std::ptrdiff_t>(begin),
                       firsts.begin() + static_cast<std::ptrdiff_t>(end), reaches))
        break;
    }
    Group joined;
    for (std::size_t i = begin; i < end; ++i) {
      Group& group = groups_.at({probe, firsts[i]});
      joined.insert(joined.end(), group.begin(), group.end());
      group.clear();
    }
    groups_.at({probe, firsts[end - 1]}) = std::move(joined);
  }
}

/// True if the register of a group's addresses holds their value until `last`, an instruction of the same
/// block.
bool WordCounters::holds_until(const Group& group, std::uint32_t last) const {
  const std::vector<Value>& values = analyses_.ssa().values();
  const RegisterId reg = values[group[0].base->value].reg;
  const RegisterUsage& registers = analyses_.registers();
  if (registers.find(registers.registers()[reg].name, last) != reg) return false;
  for (std::uint32_t i = group[0].instruction; i < last; ++i) {
    for (const ValueId written : analyses_.ssa().writes(i)) {
      if (values[written].reg == reg) return false;
    }
  }
  return true;
}

const WordCounters::Group* WordCounters::counted_before(CountedAccess access) const {
  const auto found = groups_.find(access);
  return found == groups_.end() ? nullptr : &found->second;
}

VirtualRegister WordCounters::load_slot(std::uint32_t index, CodeBuilder& code) const {
  if (function_.function->is_entry) return ParameterSlots().load(index, code);
  return ParameterSlots(*unit_.thread_registers(*function_.function).frame).load(index, code);
}

WordCounters::Kept WordCounters::fill(const CountedWords& words, CodeBuilder& code) const {
  const auto low = [&](VirtualRegister wide) { return code.b32("cvt.u32.u64", {wide}); };
  Kept kept;
  if (!words.is_shared) {
    kept.begin = load_slot(words.begin_slot, code);
    kept.bytes = load_slot(words.bytes_slot, code);
    kept.counts = load_slot(words.array_slot, code);
    return kept;
  }
  kept.bytes = code.b32("shl.b32", {low(load_slot(words.extent_slot, code)), 2});
  if (!words.block_offset_slot) {
    kept.counts = load_slot(words.array_slot, code);
    return kept;
  }
  const Name dynamic{variable_name(unit_.words.block.variable)};
  kept.counts =
      code.b32("add.u32", {code.b32("mov.u32", {dynamic}), low(load_slot(*words.block_offset_slot, code))});
  return kept;
}

WordCounters::Kept WordCounters::kept(std::size_t probe, CodeBuilder& code) const {
  const auto found = kept_.find(probe);
  return found == kept_.end() ? fill(unit_.words.counted.at(probe), code) : found->second;
}

void WordCounters::add(std::size_t probe, const Group& group, const CodeOperand& address, Code routines,
                       CodeBuilder& code) {
  const CountedWords& words = unit_.words.counted.at(probe);
  std::optional<Label> elsewhere;
  if (group[0].is_generic) {
    elsewhere = code.fresh_label();
    // A generic address equals the device address unless it is in the shared window.
    CodeBuilder test(unit_.edits.names(*function_.function));
    const VirtualRegister is_shared = test.pred("isspacep.shared", {address});
    test.branch_if(words.is_shared ? !CodePredicate(is_shared) : CodePredicate(is_shared), *elsewhere);
    if (words.is_shared) {
      code.append(test.take());
    } else {
      test.append(std::move(routines));
      routines = test.take();
    }
  }
  Additions additions(*this, probe, code);
  const Label done = code.fresh_label();
  if (!words.is_shared) {
    additions.add_in_device(group, address, done);
  } else if (words.block_offset_slot) {
    additions.add_in_block(group, address, done);
  } else {
    additions.add_of_shared(group, address, done);
  }
  code.append(std::move(routines));
  code.place(done);
  if (elsewhere) code.place(*elsewhere);
}

void WordCounters::insert() {
  unit_.edits.insert_before(entry_position(*function_.function), std::move(entry_));
}

}  // namespace lynxpp::ptx
