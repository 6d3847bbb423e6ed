// What of a kernel follows from its parameters and thread indices alone, decoded for replay (replay.h).
//
// Every instruction becomes an operation; those that depend on memory, on other lanes or on floating-point
// numbers make unknown values. A branch on an unknown value is jumped over: replay goes on where its paths
// meet again, and what they may write is unknown there. An access is *predictable* when every execution of it
// has a known address and happens for known threads; all others are left to probes.
//
//   matmul:    row * n + k with k from 0 to n          predictable, loops included
//   spmv:      column[j], j from row[i] to row[i + 1]  not: how far j goes stands in memory
//
// Calls are followed: the program holds a copy of a function for each call that leads to it, with registers
// of its own, so an argument is as known as what the caller passes. A pointer to shared memory stays one when
// it becomes a generic address.
//
// Owns all it needs: the module may be gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ptx/analysis/analyses.h"

namespace lynxpp::ptx {

struct ReplayOperand {
  enum class Kind : std::uint8_t {
    none,
    reg,
    constant,
    variable,  ///< the address of ReplayProgram::variables[index], plus `number`
    tid,       ///< index: 0 for x
    ctaid,
    ntid,
    nctaid,
    lane,  ///< %laneid
  };
  Kind kind = Kind::none;
  std::uint32_t index = 0;
  std::int64_t number = 0;
};

enum class ReplayKind : std::uint8_t {
  unknown,  ///< makes values of which nothing is known
  move,
  add,
  subtract,
  multiply,  ///< and adds the third source
  shift_left,
  shift_right,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  negate,
  minimum,
  maximum,
  absolute,
  divide,
  remainder,
  convert,
  compare,
  select,
  generic_of_shared,  ///< the generic address of an address of shared memory
  shared_of_generic,
  load_parameter,  ///< `number` of the first source is the offset in the parameter buffer
  access,          ///< the first source is the base of the address, the second what is added
  branch,
  exit,
  call,  ///< makes unknown values
};
enum class ReplayComparison : std::uint8_t { equal, unequal, less, less_or_equal, greater, greater_or_equal };
enum class ReplayLogic : std::uint8_t { none, bit_and, bit_or, bit_xor };

struct ReplayOperation {
  ReplayKind kind = ReplayKind::unknown;
  std::uint8_t bits = 32;         ///< of the sources; 1: predicates
  std::uint8_t result_bits = 32;  ///< more: the sources are read as numbers, not modulo 2^bits
  bool is_signed = false;
  bool guard_negated = false;
  ReplayComparison comparison = ReplayComparison::equal;
  ReplayLogic logic = ReplayLogic::none;  ///< of a comparison with the predicate in the third source
  RegisterId guard = no_register;
  std::vector<RegisterId> destinations;  ///< of a comparison the second is its opposite
  ReplayOperand source[3];
  std::uint32_t function = 0;           ///< position in ReplayedFunctions::functions
  std::uint32_t instruction = 0;        ///< index in the function's body
  std::uint32_t side = 0;               ///< access: which of memory_accesses(instruction)
  std::uint32_t bytes = 0;              ///< access: per thread; load_parameter: of the parameter
  StateSpace space = StateSpace::none;  ///< access: in which it is, or generic
  bool is_shared = false;               ///< access: it leads to shared memory; only of predictable ones
};

struct ReplayBlock {
  std::uint32_t begin = 0, end = 0;  ///< operations
  std::uint32_t target = no_block;   ///< of its branch
  std::uint32_t fall_through = no_block;
  std::uint32_t post_dominator = no_block;
  /// Its branch cannot be followed: replay goes on at `post_dominator`, or ends when there is none.
  bool is_skipped_over = false;
  std::vector<RegisterId> written;  ///< by the paths between here and `post_dominator`
};

/// A variable whose address is asked for.
struct ReplayVariable {
  std::string name;
  /// Whose own it is, by position in ReplayedFunctions::functions; nothing: the module's.
  std::optional<std::uint32_t> function;
  bool operator==(const ReplayVariable&) const = default;
};

struct ReplayProgram {
  std::vector<ReplayOperation> operations;  ///< those that something depends on
  std::vector<ReplayBlock> blocks;
  std::uint32_t entry = 0;  ///< block
  std::uint32_t registers = 0;
  std::vector<ReplayVariable> variables;
  /// Per operation; false for all but accesses.
  std::vector<bool> is_predictable;
  /// By function, instruction and side: whether every copy of the access is predictable, and every call of
  /// the function followed.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, bool> accesses;

  /// `side`: which of memory_accesses(instruction); false when it makes no such access.
  bool predicts(std::uint32_t function, std::uint32_t instruction, std::uint32_t side) const;
};

/// What a kernel's threads execute.
struct ReplayedFunctions {
  const Module& module;
  std::vector<FunctionAnalyses*> functions;  ///< the kernel first; not null
  /// The position of the function that a call leads to. Nothing: it is not among `functions`, or nobody
  /// knows.
  std::function<std::optional<std::uint32_t>(const Instruction& call)> callee;
  bool follows_shared = true;      ///< accesses to shared memory are visited, too
  bool may_exit_in_calls = false;  ///< a call that is not followed may end the thread
};

/// The copies of functions have at most so many registers more than the kernel; calls beyond that are not
/// followed.
inline constexpr std::uint32_t most_replayed_registers = 4096;

ReplayProgram make_replay_program(const ReplayedFunctions& functions);

}  // namespace lynxpp::ptx
