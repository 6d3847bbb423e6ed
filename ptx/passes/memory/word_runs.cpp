#include "ptx/passes/memory/word_runs.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/facts.h"

namespace lynxpp::ptx {
namespace {

/// A 64-bit value, modulo 2^64, in an iteration of a loop.
struct Sum {
  ValueId phi = no_value;  ///< of the loop's header, or none
  std::int64_t constant = 0;
  std::map<ValueId, std::int64_t> outside;  ///< values from before the loop, with their factors
  bool operator==(const Sum&) const = default;
};

std::optional<Sum> added(const Sum& left, const Sum& right, std::int64_t factor) {
  if (right.phi != no_value && (left.phi != no_value || factor != 1)) return std::nullopt;
  Sum sum = left;
  if (right.phi != no_value) sum.phi = right.phi;
  sum.constant += factor * right.constant;
  for (const auto& [value, times] : right.outside) {
    std::int64_t& all = sum.outside[value];
    all += factor * times;
    if (all == 0) sum.outside.erase(value);
  }
  return sum;
}

/// An address that changes by the same step in every iteration: rest + position + iteration × step, where
/// position and step are multiples of `unit`.
struct Walk {
  std::uint32_t block = no_block;
  std::uint32_t bytes = 0;
  Sum rest;
  std::optional<ValueId> unit;  ///< nullopt: bytes, or a step that is not a multiple of one value
  std::int64_t step = 0;
  bool has_other_step = false;
  auto key() const { return std::tie(block, bytes, rest.phi, rest.constant, rest.outside, unit, step); }
};

class RunFinder {
 public:
  explicit RunFinder(FunctionAnalyses& analyses)
      : analyses_(analyses), body_(*analyses.function().body), loops_(analyses.loops()) {
    calls_.resize(loops_.loops().size());
    for (std::uint32_t block = 0; block < analyses.graph().blocks.size(); ++block) {
      const BasicBlock& range = analyses.graph().blocks[block];
      const bool calls =  // a call ends its block
          range.size() != 0 && body_.instructions[range.end - 1].traits.kind == OpcodeClass::call;
      for (std::uint32_t loop = loops_.loop_of(block); calls && loop != no_loop;
           loop = loops_.loops()[loop].parent)
        calls_[loop] = true;
    }
  }

  void add(std::uint32_t instruction) {
    std::int64_t position = 0;
    const std::optional<Walk> walk = walk_of(instruction, position);
    if (!walk) return;
    const auto same =
        std::ranges::find_if(groups_, [&](const Group& group) { return group.walk.key() == walk->key(); });
    Group& group = same != groups_.end() ? *same : groups_.emplace_back(Group{*walk, {}});
    group.members.emplace_back(position, instruction);
  }

  std::vector<WordRun> take() {
    for (Group& group : groups_) add_runs(group);
    return std::move(runs_);
  }

 private:
  struct Group {
    Walk walk;
    std::vector<std::pair<std::int64_t, std::uint32_t>> members;  ///< position, instruction
  };

  std::optional<Walk> walk_of(std::uint32_t instruction, std::int64_t& position) {
    const Instruction& read = body_.instructions[instruction];
    const MemoryAccesses accesses = memory_accesses(read);
    const MemoryAccess& access = accesses.access[0];
    const std::uint32_t block = analyses_.graph().block_of[instruction];
    const std::uint32_t loop = loops_.loop_of(block);
    const bool is_plain = accesses.count == 1 && is_whole_words(access.bytes) && !access.selects_lanes() &&
                          access.follows_from_lanes() && access.address != nullptr &&
                          access.space == StateSpace::global && !read.guarded();
    if (!is_plain || loop == no_loop || calls_[loop] || loops_.is_irreducible(block)) return std::nullopt;
    const bool is_in_every_iteration = std::ranges::all_of(loops_.loops()[loop].latches, [&](auto latch) {
      return analyses_.dominators().dominates(block, latch);
    });
    const std::optional<ValueId> base = base_of(instruction, *access.address);
    if (!is_in_every_iteration || !base) return std::nullopt;
    const std::optional<Sum> address = sum_of(*base, loop, 0);
    if (!address) return std::nullopt;
    Walk walk{block, access.bytes, *address, {}, 0, false};
    walk.rest.constant += access.address->offset + access.address->elements[0].offset;
    return divide(loop, walk, position) ? std::optional(std::move(walk)) : std::nullopt;
  }

  /// Returns the 64-bit register that the address consists of, apart from a constant.
  std::optional<ValueId> base_of(std::uint32_t instruction, const Operand& address) {
    if (address.elements.size() != 1 || address.elements[0].kind != OperandKind::identifier)
      return std::nullopt;
    const std::string_view name = address.elements[0].name;
    const std::uint32_t scope = body_.statements[body_.instructions[instruction].statement].scope;
    const RegisterDeclaration* const declared = body_.find_register(name, scope);
    if (declared == nullptr || size_of(declared->type) != 8) return std::nullopt;
    return read_of(instruction, name);
  }

  std::optional<ValueId> read_of(std::uint32_t instruction, std::string_view name) {
    const RegisterId reg = analyses_.registers().find(name, instruction);
    const ValueId value = reg == no_register ? no_value : analyses_.ssa().read_of(instruction, reg);
    return value == no_value ? std::nullopt : std::optional(value);
  }

  /// Follows additions within the loop.
  std::optional<Sum> sum_of(ValueId value, std::uint32_t loop, int depth) {
    constexpr int deepest = 64;
    const Value& known = analyses_.ssa().values()[value];
    if (known.kind == ValueKind::entry || !loops_.contains(loop, known.block))
      return Sum{no_value, 0, {{value, 1}}};
    if (known.kind == ValueKind::phi) {
      const bool is_of_header = known.block == loops_.loops()[loop].header;
      return is_of_header ? std::optional(Sum{value, 0, {}}) : std::nullopt;
    }
    const Instruction& made_by = body_.instructions[known.instruction];
    const std::string_view opcode = made_by.opcode;
    if (known.previous != no_value || made_by.guarded() || depth == deepest) return std::nullopt;
    const bool is_sum = opcode == "add.s64" || opcode == "add.u64";
    const bool is_difference = opcode == "sub.s64" || opcode == "sub.u64";
    const bool is_copy = opcode == "mov.b64" || opcode == "mov.u64" || opcode == "mov.s64";
    if (is_copy) return operand_of(known.instruction, 1, loop, depth);
    if (!is_sum && !is_difference) return std::nullopt;
    const std::optional<Sum> left = operand_of(known.instruction, 1, loop, depth);
    const std::optional<Sum> right = operand_of(known.instruction, 2, loop, depth);
    return left && right ? added(*left, *right, is_sum ? 1 : -1) : std::nullopt;
  }

  std::optional<Sum> operand_of(std::uint32_t instruction, std::size_t index, std::uint32_t loop, int depth) {
    const OperandList& operands = body_.instructions[instruction].operands;
    if (index >= operands.size() || operands[index].negated) return std::nullopt;
    const Operand& operand = operands[index];
    if (operand.kind == OperandKind::integer) return Sum{no_value, operand.integer, {}};
    if (operand.kind != OperandKind::identifier || operand.offset != 0) return std::nullopt;
    const std::optional<ValueId> value = read_of(instruction, operand.name);
    return value ? sum_of(*value, loop, depth + 1) : std::nullopt;
  }

  /// Returns the value that one iteration adds to the phi.
  std::optional<Sum> step_of(ValueId phi, std::uint32_t loop) {
    const std::uint32_t header = loops_.loops()[loop].header;
    const std::vector<std::uint32_t>& before = analyses_.graph().blocks[header].predecessors;
    const std::span<const ValueId> inputs = analyses_.ssa().phi_inputs(phi);
    std::optional<Sum> step;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!loops_.contains(loop, before[i])) continue;
      std::optional<Sum> next = inputs[i] == no_value ? std::nullopt : sum_of(inputs[i], loop, 0);
      if (!next || next->phi != phi || (step && *step != *next)) return std::nullopt;
      step = std::move(next);
    }
    return step;
  }

  /// Splits the address, walk.rest, into the parts of a walk. Returns false if it is not one.
  bool divide(std::uint32_t loop, Walk& walk, std::int64_t& position) {
    Sum step;
    if (walk.rest.phi != no_value) {
      const std::optional<Sum> found = step_of(walk.rest.phi, loop);
      if (!found) return false;
      step = *found;
    }
    if (step.outside.empty()) {
      walk.step = step.constant;
      std::swap(position, walk.rest.constant);
      return walk.step % 4 == 0;
    }
    walk.has_other_step = true;
    if (step.outside.size() != 1 || step.constant != 0) return true;
    const auto& [unit, times] = *step.outside.begin();
    walk.unit = unit;
    walk.step = times;
    if (const auto own = walk.rest.outside.find(unit); own != walk.rest.outside.end()) {
      position = own->second;
      walk.rest.outside.erase(own);
    }
    return true;
  }

  void add_runs(Group& group) {
    std::ranges::sort(group.members);
    const Walk& walk = group.walk;
    const auto count = static_cast<std::int64_t>(group.members.size());
    bool is_one = walk.step > 0 && walk.step % (walk.unit ? count : 4 * count) == 0;
    for (std::size_t i = 1; i < group.members.size(); ++i) {
      is_one &= group.members[i].first - group.members[i - 1].first == walk.step / count;
      // The addresses of two executed accesses reveal a distance that the code does not.
      is_one &= !walk.unit || group.members[i].second > group.members[i - 1].second;
    }
    WordRun run{loops_.loop_of(walk.block), walk.block, {}, walk.bytes, {}, {}, {}};
    if (!walk.has_other_step) run.distance = walk.step / (is_one ? count : 1);
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      if (i == 0 || !is_one) runs_.push_back(run);
      const std::uint32_t instruction = group.members[i].second;
      const Operand& address = *memory_accesses(body_.instructions[instruction]).access[0].address;
      runs_.back().instructions.push_back(instruction);
      runs_.back().offsets.push_back(address.offset + address.elements[0].offset);
    }
  }

  FunctionAnalyses& analyses_;
  const Body& body_;
  const LoopNest& loops_;
  std::vector<bool> calls_;  ///< by loop
  std::vector<Group> groups_;
  std::vector<WordRun> runs_;
};

}  // namespace

std::vector<WordRun> find_word_runs(FunctionAnalyses& analyses,
                                    const std::function<bool(std::uint32_t)>& is_counted) {
  RunFinder finder(analyses);
  for (std::uint32_t i = 0; i < analyses.function().body->instructions.size(); ++i) {
    if (is_counted(i) && analyses.dominators().is_reachable(analyses.graph().block_of[i])) finder.add(i);
  }
  return finder.take();
}

}  // namespace lynxpp::ptx
