// The part of a kernel that follows from its parameters and thread indices alone, decoded for replay
// (replay.h).
//
// Every instruction becomes an operation; operations that depend on memory, on other lanes or on
// floating-point values produce unknown values. Replay skips over a branch on an unknown value: it continues
// where the paths reconverge, and registers that the paths may write are unknown there. An access is
// *predictable* if every execution of it has a known address and a known set of threads; all others are left
// to probes.
//
//   matmul:    row * n + k with k from 0 to n          predictable, including loops
//   spmv:      column[j], j from row[i] to row[i + 1]  not predictable: the range of j is in memory
//
// Calls are followed: the program contains a copy of a function for each call that reaches it, with registers
// of its own, so an argument is as known as the value that the caller passes. A pointer to shared memory
// stays known when it is converted to a generic address.
//
// Owns all its data: the module need not outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/ir/memory_access.h"

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
  unknown,  ///< produces unknown values
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
  generic_of_shared,  ///< converts an address of shared memory to a generic address
  shared_of_generic,
  load_parameter,  ///< `number` of the first source is the offset in the parameter buffer
  access,          ///< sources: the base of the address, the offset, and perhaps the size (lane_size)
  branch,
  exit,
  call,  ///< produces unknown values
};
enum class ReplayLogic : std::uint8_t { none, bit_and, bit_or, bit_xor };

struct ReplayOperation {
  ReplayKind kind = ReplayKind::unknown;
  std::uint8_t bits = 32;         ///< of the sources; 1: predicates
  std::uint8_t result_bits = 32;  ///< if larger: sources are integers, not modulo 2^bits
  bool is_signed = false;
  bool guard_negated = false;
  Comparison comparison = Comparison::equal;
  ReplayLogic logic = ReplayLogic::none;  ///< combines a comparison with the predicate in the third source
  RegisterId guard = no_register;
  std::vector<RegisterId> destinations;  ///< for a comparison, the second is the negated result
  ReplayOperand source[3];
  std::uint32_t function = 0;     ///< position in ReplayedFunctions::functions (program_builder.h)
  std::uint32_t instruction = 0;  ///< index in the function's body
  std::uint32_t side = 0;         ///< access: index in memory_accesses(instruction)
  std::uint32_t bytes = 0;        ///< access: per thread, at most; load_parameter: size of the parameter
  LaneSize lane_size = LaneSize::bytes;  ///< access with a third source: its meaning
  StateSpace space = StateSpace::none;   ///< access: its state space, or generic
  bool is_shared = false;  ///< access: it refers to shared memory; set only for predictable ones
};

struct ReplayBlock {
  std::uint32_t begin = 0, end = 0;  ///< operations
  std::uint32_t target = no_block;   ///< target of its branch
  std::uint32_t fall_through = no_block;
  std::uint32_t post_dominator = no_block;
  /// Its branch cannot be followed: replay continues at `post_dominator`, or ends if that is no_block.
  bool is_skipped_over = false;
  std::vector<RegisterId> written;  ///< by the paths between the branch and `post_dominator`
};

/// A variable whose address is used.
struct ReplayVariable {
  std::string name;
  /// Index in ReplayedFunctions::functions of the function that declares it; nullopt: the module.
  std::optional<std::uint32_t> function;
  bool operator==(const ReplayVariable&) const = default;
};

struct ReplayProgram {
  bool splits_bits = false;                 ///< bits of tid.x are dimensions of their own (thread_box.h)
  std::vector<ReplayOperation> operations;  ///< those that another operation depends on
  std::vector<ReplayBlock> blocks;
  std::uint32_t entry = 0;  ///< index of the entry block
  std::uint32_t registers = 0;
  std::vector<ReplayVariable> variables;
  /// One per operation; false for all but accesses.
  std::vector<bool> is_predictable;
  /// By function, instruction and side: true if every copy of the access is predictable and every call of the
  /// function is followed.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, bool> accesses;

  /// `side` is the index in memory_accesses(instruction); false if the instruction has no such access.
  bool predicts(std::uint32_t function, std::uint32_t instruction, std::uint32_t side) const {
    const auto found = accesses.find({function, instruction, side});
    return found != accesses.end() && found->second;
  }
};

}  // namespace lynxpp::ptx
