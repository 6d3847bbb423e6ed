#include "ptx/replay/program_builder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "ptx/ir/directives.h"
#include "ptx/replay/decoder.h"
#include "ptx/replay/possible_bits.h"
#include "ptx/replay/prediction.h"
#include "ptx/replay/thread_box.h"

namespace lynxpp::ptx {
namespace {

using Kind = ReplayOperand::Kind;

/// True for 2^k - 1 and its complement.
bool is_low_or_high_bits(std::uint64_t mask) {
  return (mask & (mask + 1)) == 0 || (~mask & (~mask + 1)) == 0;
}

/// Variance of an operation's first two sources.
using SourceVariance = std::array<Variance, 2>;

SourceVariance variance_of(const ReplayOperation& operation, std::uint32_t first_register,
                           FunctionAnalyses& analyses) {
  const std::size_t registers = analyses.registers().registers().size();
  const auto of = [&](const ReplayOperand& each) -> Variance {
    switch (each.kind) {
      case Kind::reg:
        if (each.index - first_register >= registers) return varies;
        return analyses.uniformity().of_register_read(operation.instruction, each.index - first_register);
      case Kind::tid:
      case Kind::lane: return varies_in_warp | varies_in_block;
      case Kind::ctaid: return varies_over_blocks;
      default: return uniform;
    }
  };
  return {of(operation.source[0]), of(operation.source[1])};
}

bool is_of_bits(const ReplayOperation& operation) {
  switch (operation.kind) {
    case ReplayKind::bit_and:
    case ReplayKind::bit_or:
    case ReplayKind::bit_xor:
    case ReplayKind::shift_right: return operation.bits != 1;
    default: return false;
  }
}

/// Each bit that two values share may halve a box.
constexpr int most_shared_bits = 3;

/// True if replay would have to process threads one by one: the operation is not linear on large parts of a
/// grid. `bits`, of the sources, is given if bits of tid.x are dimensions of their own.
bool is_costly(const ReplayOperation& operation, const SourceVariance& variance,
               const std::array<PossibleBits, 2>* bits) {
  const bool is_plain = operation.kind == ReplayKind::move || operation.kind == ReplayKind::convert;
  if (operation.bits == 1 || is_plain) return false;
  const bool first = variance[0] != uniform;
  const bool second = variance[1] != uniform;
  switch (operation.kind) {
    case ReplayKind::multiply: return first && second;
    case ReplayKind::shift_left:
    case ReplayKind::shift_right: return second;
    case ReplayKind::divide:
    case ReplayKind::remainder: return second || (bits != nullptr && (variance[0] & varies_in_block) != 0);
    case ReplayKind::bit_xor:
    case ReplayKind::bit_or:
    case ReplayKind::bit_and: break;
    default: return false;
  }
  if (!first && !second) return false;
  if (operation.kind == ReplayKind::bit_and && first != second) {
    const ReplayOperand& mask = operation.source[first ? 1 : 0];
    const auto number = static_cast<std::uint64_t>(mask.number);
    if (mask.kind == Kind::constant && is_low_or_high_bits(number)) return false;
  }
  if (bits == nullptr) return operation.kind != ReplayKind::bit_or || (first && second);
  const auto& [left, right] = *bits;
  const std::uint64_t shared = left.possible & right.possible;
  if (shared == 0) return false;
  if (!left.are_apart || !right.are_apart) return true;
  const bool is_with_constant = operation.source[first ? 1 : 0].kind == Kind::constant;
  return !is_with_constant && std::popcount(shared) > most_shared_bits;
}

/// Concatenates copies of the functions' code.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(const ReplayedFunctions& functions)
      : functions_(functions),
        parameters_(program_.registers),
        is_followed_(functions.functions.size(), true),
        may_exit_(functions.functions.size(), false) {
    for (std::size_t i = 1; i < functions.functions.size(); ++i) {
      may_exit_[i] = std::ranges::any_of(
          body_of(i).instructions, [](const Instruction& each) { return each.traits.is_thread_exit(); });
    }
    most_registers_ = most_replayed_registers + functions.functions[0]->registers().registers().size();
  }

  ReplayProgram build(bool splits_bits) {
    FunctionCopy kernel;
    program_.splits_bits = splits_bits;
    program_.entry = add(kernel, no_block);
    forget_costly();
    forget_hidden_parameters();
    predict_accesses(program_, successors_, functions_.may_exit_in_calls);
    join_copies();
    drop_unused_operations(program_, functions_.follows_shared);
    return std::move(program_);
  }

  /// True if the code selects or moves bits of values that differ between the threads of a block.
  bool combines_bits() const { return combines_bits_; }

 private:
  /// A call whose function is copied: the block that the call ends.
  struct Followed {
    std::uint32_t block = 0;
    FunctionCopy copy;
  };

  const Body& body_of(std::size_t function) const { return *functions_.functions[function]->function().body; }

  /// Returns the first block of the copy. Its returns go to `return_block`; no_block: they end the thread.
  std::uint32_t add(FunctionCopy& copy, std::uint32_t return_block) {
    FunctionAnalyses& analyses = *functions_.functions[copy.function];
    const ControlFlowGraph& graph = analyses.graph();
    copy.first_register = program_.registers;
    program_.registers += static_cast<std::uint32_t>(analyses.registers().registers().size());
    for (const Variable& each : body_of(copy.function).variables) {
      if (each.space == StateSpace::param) copy.storages.emplace(&each, parameters_.add());
    }
    if (!path_.empty()) promised_ -= analyses.registers().registers().size();
    path_.push_back(copy.function);
    ReplayDecoder decoder(functions_.module, analyses.function(), analyses.registers(), copy, parameters_,
                          program_.variables);
    // Each followed call ends a block.
    std::vector<std::map<std::uint32_t, FunctionCopy>> calls(graph.blocks.size());
    std::vector<std::uint32_t> first(graph.blocks.size() + 1);
    auto count = static_cast<std::uint32_t>(program_.blocks.size());
    for (std::uint32_t index = 0; index < graph.blocks.size(); ++index) {
      calls[index] = followed_calls(graph.blocks[index], copy, decoder);
      first[index] = count;
      count += 1 + static_cast<std::uint32_t>(calls[index].size());
    }
    first.back() = count;  // empty: the end of the copy
    program_.blocks.resize(count + 1);
    successors_.resize(count + 1);
    program_.blocks[count].fall_through = return_block;
    if (return_block != no_block) successors_[count] = {return_block};
    std::vector<Followed> followed;
    for (std::uint32_t index = 0; index < graph.blocks.size(); ++index)
      add_block(index, first, calls[index], return_block, copy, decoder, followed);
    for (Followed& each : followed) {
      const std::uint32_t entry = add(each.copy, each.block + 1);
      program_.blocks[each.block].fall_through = entry;
      successors_[each.block] = {entry};
    }
    path_.pop_back();
    return first[0];
  }

  /// Keyed by instruction.
  std::map<std::uint32_t, FunctionCopy> followed_calls(const BasicBlock& block, const FunctionCopy& copy,
                                                       const ReplayDecoder& decoder) {
    std::map<std::uint32_t, FunctionCopy> calls;
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const Instruction& call = body_of(copy.function).instructions[at];
      if (call.traits.kind != OpcodeClass::call) continue;
      const std::optional<std::uint32_t> callee = functions_.callee(call);
      const std::optional<std::vector<const Variable*>> passed = decoder.passed(at);
      if (std::optional<FunctionCopy> called = copy_of(call, callee, passed, copy)) {
        calls.emplace(at, std::move(*called));
        continue;
      }
      if (callee) leave_out(*callee);
      for (const Variable* each : passed.value_or(std::vector<const Variable*>{})) {
        const auto storage = copy.storages.find(each);
        if (storage != copy.storages.end()) parameters_.forget(storage->second);
      }
    }
    return calls;
  }

  std::optional<FunctionCopy> copy_of(const Instruction& call, std::optional<std::uint32_t> callee,
                                      const std::optional<std::vector<const Variable*>>& passed,
                                      const FunctionCopy& caller) {
    if (call.guarded() || !callee || !passed || may_exit_[*callee]) return std::nullopt;
    const Function& function = functions_.functions[*callee]->function();
    const std::size_t registers = functions_.functions[*callee]->registers().registers().size();
    const bool is_recursive = std::ranges::find(path_, *callee) != path_.end();
    const bool has_room = program_.registers + promised_ + registers <= most_registers_;
    if (is_recursive || !has_room || path_.size() >= deepest ||
        passed->size() != function.returns.size() + function.parameters.size())
      return std::nullopt;
    FunctionCopy copy;
    copy.function = *callee;
    for (std::size_t i = 0; i < passed->size(); ++i) {
      const bool is_result = i < function.returns.size();
      const Variable& own =
          is_result ? function.returns[i] : function.parameters[i - function.returns.size()];
      const auto storage = caller.storages.find((*passed)[i]);
      if (own.space != StateSpace::param || storage == caller.storages.end()) return std::nullopt;
      copy.storages.emplace(&own, storage->second);
    }
    promised_ += registers;
    return copy;
  }

  /// Stops following calls of the function, and all calls that it makes.
  void leave_out(std::uint32_t function) {
    if (!is_followed_[function]) return;
    is_followed_[function] = false;
    for (const Instruction& each : body_of(function).instructions) {
      if (each.traits.kind != OpcodeClass::call) continue;
      if (const std::optional<std::uint32_t> callee = functions_.callee(each)) leave_out(*callee);
    }
  }

  void add_block(std::uint32_t index, const std::vector<std::uint32_t>& first,
                 std::map<std::uint32_t, FunctionCopy>& calls, std::uint32_t return_block,
                 const FunctionCopy& copy, ReplayDecoder& decoder, std::vector<Followed>& followed) {
    FunctionAnalyses& analyses = *functions_.functions[copy.function];
    const BasicBlock& from = analyses.graph().blocks[index];
    std::uint32_t part = first[index];
    program_.blocks[part].begin = next_operation();
    bool returns = from.fall_through == no_block && !ends_in_branch(from, copy);
    for (std::uint32_t at = from.begin; at < from.end; ++at) {
      if (const auto call = calls.find(at); call != calls.end()) {
        program_.blocks[part].end = next_operation();
        program_.blocks[part].post_dominator = part + 1;
        followed.push_back({part, std::move(call->second)});
        program_.blocks[++part].begin = next_operation();
        continue;
      }
      for (ReplayOperation& each : decoder.decode(at)) {
        variances_.push_back(variance_of(each, copy.first_register, analyses));
        returns |= each.kind == ReplayKind::exit;
        if (each.kind == ReplayKind::exit && return_block != no_block) each.kind = ReplayKind::branch;
        program_.operations.push_back(std::move(each));
      }
    }
    ReplayBlock& block = program_.blocks[part];
    block.end = next_operation();
    const auto block_of = [&](std::uint32_t each) { return each == no_block ? return_block : first[each]; };
    if (from.targets.size() == 1) block.target = first[from.targets[0]];
    if (returns) block.target = return_block;
    block.fall_through = block_of(from.fall_through);
    block.post_dominator = block_of(analyses.post_dominators()[index]);
    for (const std::uint32_t each : from.successors) successors_[part].push_back(first[each]);
    if (returns && return_block != no_block) successors_[part].push_back(return_block);
  }

  bool ends_in_branch(const BasicBlock& block, const FunctionCopy& copy) const {
    if (block.begin == block.end) return false;
    const Instruction& last = body_of(copy.function).instructions[block.end - 1];
    return last.traits.kind == OpcodeClass::branch && !last.guarded();
  }

  std::uint32_t next_operation() const { return static_cast<std::uint32_t>(program_.operations.size()); }

  /// Returns the greatest extent of a block in x.
  std::uint32_t threads() const {
    const std::vector<std::uint32_t> limits =
        block_limits(functions_.module, functions_.functions[0]->function());
    return limits.empty() || limits[0] == 0 ? 1u << most_thread_bits : limits[0];
  }

  /// Makes results of costly operations unknown.
  void forget_costly() {
    std::optional<PossibleBitsOfRegisters> registers;
    if (program_.splits_bits) registers.emplace(program_, threads());
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      ReplayOperation& each = program_.operations[i];
      combines_bits_ |= is_of_bits(each) && ((variances_[i][0] | variances_[i][1]) & varies_in_block) != 0;
      std::array<PossibleBits, 2> bits;
      for (std::size_t k = 0; registers && k < bits.size(); ++k)
        bits[k] = registers->of(each.source[k], each.bits);
      if (is_costly(each, variances_[i], registers ? &bits : nullptr)) each.kind = ReplayKind::unknown;
    }
  }

  void forget_hidden_parameters() {
    std::vector<bool> is_unknown(program_.registers, false);
    for (const RegisterId each : parameters_.unknown()) is_unknown[each] = true;
    for (ReplayOperation& each : program_.operations) {
      const bool is_hidden = each.source[0].kind == Kind::reg && is_unknown[each.source[0].index];
      if (is_hidden) each.kind = ReplayKind::unknown;
    }
  }

  /// An access loses its probe in all copies or in none.
  void join_copies() {
    const auto key_of = [](const ReplayOperation& each) {
      return std::tuple(each.function, each.instruction, each.side);
    };
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      const ReplayOperation& each = program_.operations[i];
      if (each.kind != ReplayKind::access) continue;
      const bool is_known = program_.is_predictable[i] && is_followed_[each.function];
      const auto [found, is_new] = program_.accesses.try_emplace(key_of(each), is_known);
      if (!is_new) found->second &= is_known;
    }
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      if (program_.is_predictable[i])
        program_.is_predictable[i] = program_.accesses.at(key_of(program_.operations[i]));
    }
  }

  static constexpr std::size_t deepest = 32;  // depth of nested calls

  const ReplayedFunctions& functions_;
  ReplayProgram program_;
  std::vector<SourceVariance> variances_;  ///< by operation
  bool combines_bits_ = false;
  ParameterRegisters parameters_;
  std::vector<std::vector<std::uint32_t>> successors_;  ///< by block
  std::vector<bool> is_followed_;                       ///< by function: true if every call of it is followed
  std::vector<bool> may_exit_;                          ///< by function
  std::vector<std::uint32_t> path_;                     ///< the current chain of calls
  std::size_t promised_ = 0;                            ///< registers of copies that are yet to be created
  std::size_t most_registers_ = 0;
};

}  // namespace

ReplayProgram make_replay_program(const ReplayedFunctions& functions) {
  ProgramBuilder builder(functions);
  ReplayProgram in_intervals = builder.build(false);
  if (!builder.combines_bits()) return in_intervals;
  ReplayProgram in_bits = ProgramBuilder(functions).build(true);
  const auto known = [](const ReplayProgram& each) { return std::ranges::count(each.is_predictable, true); };
  return known(in_bits) >= known(in_intervals) ? in_bits : in_intervals;
}

}  // namespace lynxpp::ptx
