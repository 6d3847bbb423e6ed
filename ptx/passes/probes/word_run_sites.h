// Counts of the words that accesses go through in loops (memory/word_runs.h), in one function. In the loop a
// thread keeps how often it made the accesses of a block and where it made the last ones. Behind the loop it
// adds 1 where the run begins and takes 1 where it ends, in numbers of which the host makes sums of words one
// distance apart:
//
//   numbers    0 0 +1 0 0 0 -1 0      a run of four words
//   sums       0 0  1 1 1 1  0 0
//
// Numbers, of 64 bits, stand for the words of the launch's window (cod::WordMap), or of its beginning. There
// are two rows of them: for words that follow one another, and for one other distance, that of the first run
// which has one. All else is counted by the routine, access by access.
//
//   array of runs    0 other distance (0: none yet) … RunNumbers::header_bytes: first row, second row
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

struct RunNumbers {
  static constexpr std::uint64_t header_bytes = 256;
  static constexpr std::uint64_t scale = 2;  ///< bytes of numbers to a byte of memory
};

class WordRunSites {
 public:
  /// What counts the words of `instruction`'s access at this address.
  using Routine = std::function<Code(Probe&, std::uint32_t instruction, const CodeOperand& address)>;

  WordRunSites(InstrumentationUnit& unit, const FunctionUnit& function);

  /// At the function's entry.
  void add_entry(CodeBuilder& code) const;
  /// Before the instruction: what is kept of it. False: it is in no run of the probe.
  bool add_execution(Probe& probe, const Instruction& instruction, CodeBuilder& code) const;
  /// Where the block begins: the runs of loops that an edge to it leaves.
  void add_left(std::uint32_t block, const Routine& routine, CodeBuilder& code) const;
  /// Before an instruction of the block that ends the thread or returns.
  void add_before_exit(std::uint32_t block, const Routine& routine, CodeBuilder& code) const;

 private:
  /// How often a thread has come by the accesses of a block since it entered the block's loop.
  struct Kept {
    std::uint32_t loop = no_loop;
    VirtualRegister executions;  ///< b32; a thread that comes by 2^32 times in one loop is none
    std::vector<std::size_t> runs;
  };
  struct Run {
    std::size_t probe = 0;
    const WordRun* run = nullptr;
    std::vector<std::int64_t> offsets;        ///< of the accesses, from their registers
    VirtualRegister last;                     ///< b64: what the first one's was last
    std::optional<VirtualRegister> distance;  ///< b64: found out, but for the difference of two offsets
  };
  /// Registers of 64 bits, behind a loop.
  struct Extent {
    CodeOperand executions = 0;
    CodeOperand distance = 0;  ///< from access to access
    CodeOperand first = 0;     ///< address
    CodeOperand accesses = 0;
    CodeOperand length = 0;  ///< distance × accesses
  };

  void add_run(const Run& run, const Kept& kept, const Routine& routine, CodeBuilder& code) const;
  void add_kept(const Kept& kept, const Routine& routine, CodeBuilder& code) const;
  Extent extent_of(const Run& run, const Kept& kept, CodeBuilder& code) const;
  void add_numbers(const Run& run, const Extent& extent, Label elsewhere, CodeBuilder& code) const;
  static CodeOperand row_of(const CodeOperand& distance, VirtualRegister numbers, VirtualRegister bytes,
                            Label elsewhere, CodeBuilder& code);
  void add_routines(const Run& run, const Extent& extent, const Routine& routine, CodeBuilder& code) const;
  VirtualRegister word(std::uint32_t index, CodeBuilder& code) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  std::vector<Run> runs_;
  std::map<std::uint32_t, Kept> kept_;  ///< by block
  std::map<std::pair<std::size_t, std::uint32_t>, std::pair<std::size_t, std::size_t>>
      places_;  ///< by probe and instruction: the run, and which of its accesses
};

}  // namespace lynxpp::ptx
