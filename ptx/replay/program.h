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
// Owns all it needs: the module may be gone.
#pragma once

#include <cstdint>
#include <string>
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
  std::uint32_t instruction = 0;  ///< index in the function's body
  std::uint32_t side = 0;         ///< access: which of memory_accesses(instruction)
  std::uint32_t bytes = 0;        ///< access: per thread; load_parameter: of the parameter
};

struct ReplayBlock {
  std::uint32_t begin = 0, end = 0;  ///< operations
  std::uint32_t target = no_block;
  std::uint32_t fall_through = no_block;
  std::uint32_t post_dominator = no_block;
  /// Its branch cannot be followed: replay goes on at `post_dominator`, or ends when there is none.
  bool is_skipped_over = false;
  std::vector<RegisterId> written;  ///< by the paths between here and `post_dominator`
};

struct ReplayProgram {
  std::vector<ReplayOperation> operations;
  std::vector<ReplayBlock> blocks;
  std::uint32_t registers = 0;
  std::vector<std::string> variables;  ///< whose addresses are asked for
  /// Per operation; false for all but accesses.
  std::vector<bool> is_predictable;

  /// `side`: which of memory_accesses(instruction); false when it makes no such access.
  bool predicts(std::uint32_t instruction, std::uint32_t side) const;
};

/// Of one function of the module, the kernel. `may_exit_in_calls`: some function that it calls may end the
/// thread.
ReplayProgram make_replay_program(const Module& module, FunctionAnalyses& analyses, bool may_exit_in_calls);

}  // namespace lynxpp::ptx
