// Records of the words that accesses go through in loops (memory/word_runs.h), in one function. In the loop a
// thread keeps how often it made the accesses of a block and where it made the last ones. After the loop it
// records where the run begins, how far its accesses are apart, and how many there are; the host adds that up
// (engine/word_runs.h). Short runs, and those for which there is no room, are counted access by access.
//
//   array of runs    how many there are, u64 … RunRecord::header_bytes: records
//
// Of loops that a thread enters once at most, in launches of few threads, each thread has a place
// (memory/word_runs.h, LoopRecords): nothing is kept in the loop and nothing tested after it, a store before
// it and one after it record where addresses begin and end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/probes/words/word_counters.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// As the device writes it.
struct RunRecord {
  static constexpr std::uint64_t header_bytes = 64;

  std::uint64_t first = 0;  ///< the address of the first access
  std::int64_t distance = 0;
  std::uint64_t accesses = 0;
  std::uint64_t bytes = 0;  ///< of each
};

class WordRunSites {
 public:
  /// The routine of `instruction`'s access for this address.
  using Routine = std::function<Code(Probe&, std::uint32_t instruction, const CodeOperand& address)>;
  /// The fewest accesses of a run that is recorded.
  static constexpr std::int64_t fewest = 8;

  /// The references outlive this.
  WordRunSites(InstrumentationUnit& unit, const FunctionUnit& function, WordCounters& counters);

  /// At the function's entry.
  void add_entry(CodeBuilder& code) const;
  /// Before the access: what is kept of it. False: it is in no run.
  bool add_execution(CountedAccess access, CodeBuilder& code) const;
  /// Where the block begins: the runs of loops that an edge to it exits.
  void add_left(std::uint32_t block, const Routine& routine, CodeBuilder& code) const;
  /// Where the block ends, before its branch: the loops that an edge from it enters.
  void add_before_end(std::uint32_t block, CodeBuilder& code) const;
  /// After its branch: the loops that it exits there.
  void add_behind_end(std::uint32_t block, CodeBuilder& code) const;
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
    VirtualRegister last;                     ///< b64: what the first one's was last
    std::optional<VirtualRegister> distance;  ///< b64: computed, but for the difference of two offsets
  };
  /// A register that a loop record holds.
  struct Placed {
    const WordRun* run = nullptr;
    Name reg;
  };
  /// Registers of 64 bits, after a loop.
  struct Extent {
    CodeOperand executions = 0;
    CodeOperand distance = 0;  ///< from access to access
    CodeOperand first = 0;     ///< address
    CodeOperand accesses = 0;
  };

  void place_run(std::size_t probe, const WordRun& run);
  void add_run(const Run& run, const Kept& kept, const Routine& routine, CodeBuilder& code) const;
  void add_kept(const Kept& kept, const Routine& routine, CodeBuilder& code) const;
  Extent extent_of(const Run& run, const Kept& kept, CodeBuilder& code) const;
  void add_record(const Run& run, const Extent& extent, Label elsewhere, CodeBuilder& code) const;
  void add_routines(const Run& run, const Extent& extent, const Routine& routine, CodeBuilder& code) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  WordCounters& counters_;
  std::vector<Run> runs_;
  std::map<std::uint32_t, Kept> kept_;                   ///< by block
  std::map<std::uint32_t, std::vector<Placed>> placed_;  ///< by loop, the leading one first
  std::optional<VirtualRegister> record_;                ///< b64: where the thread's loop record begins
  /// The run, and which of its accesses; nothing: of a loop that has a record.
  std::map<CountedAccess, std::optional<std::pair<std::size_t, std::size_t>>> accesses_;
};

}  // namespace lynxpp::ptx
