// Records strided accesses in loops (memory/word_runs.h), in one function. In the loop, a thread keeps the
// number of executions of a block's accesses and their last address. After the loop it records where the run
// begins, its distance and its number of accesses; the host adds these up (engine/word_runs.h). Short runs,
// and runs for which there is no room, are counted access by access.
//
//   array of runs    number of records, u64 … RunRecord::header_bytes: records
//
// For loops that a thread enters at most once, in launches of few threads, each thread has its own slot
// (memory/word_runs.h, LoopRecords): nothing is kept in the loop or tested after it; one store before and one
// after the loop record where the addresses begin and end.
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

/// The device's record format.
struct RunRecord {
  static constexpr std::uint64_t header_bytes = 64;

  std::uint64_t first = 0;  ///< the address of the first access
  std::int64_t distance = 0;
  std::uint64_t accesses = 0;
  std::uint64_t bytes = 0;  ///< per access
};

class WordRunSites {
 public:
  /// Returns the routine of `instruction`'s access for this address.
  using Routine = std::function<Code(Probe&, std::uint32_t instruction, const CodeOperand& address)>;
  /// The minimum number of accesses of a recorded run.
  static constexpr std::int64_t fewest = 8;

  /// The references must outlive this object.
  WordRunSites(InstrumentationUnit& unit, const FunctionUnit& function, WordCounters& counters);

  /// At the function's entry.
  void add_entry(CodeBuilder& code) const;
  /// Before the access: updates what is kept. Returns false if the access is in no run.
  bool add_execution(CountedAccess access, CodeBuilder& code) const;
  /// At the block's start: records the runs of loops that an edge to the block exits.
  void add_left(std::uint32_t block, const Routine& routine, CodeBuilder& code) const;
  /// At the block's end, before its branch: for loops that an edge from the block enters.
  void add_before_end(std::uint32_t block, CodeBuilder& code) const;
  /// After the block's branch: for loops that are exited there.
  void add_after_end(std::uint32_t block, CodeBuilder& code) const;
  /// Before an instruction of the block that ends the thread or returns.
  void add_before_exit(std::uint32_t block, const Routine& routine, CodeBuilder& code) const;

 private:
  /// The number of times that a thread has executed a block's accesses since it entered the block's loop.
  struct Kept {
    std::uint32_t loop = no_loop;
    VirtualRegister executions;  ///< b32; assumes fewer than 2^32 executions per loop entry
    std::vector<std::size_t> runs;
  };
  struct Run {
    std::size_t probe = 0;
    const WordRun* run = nullptr;
    VirtualRegister last;                     ///< b64: last address of the first access
    std::optional<VirtualRegister> distance;  ///< b64: computed, up to the difference of two offsets
  };
  /// A register that a loop record stores.
  struct Recorded {
    const WordRun* run = nullptr;
    Name reg;
  };
  /// 64-bit registers, after a loop.
  struct Extent {
    CodeOperand executions = 0;
    CodeOperand distance = 0;  ///< between accesses
    CodeOperand first = 0;     ///< address
    CodeOperand accesses = 0;
  };

  void add_recorded(std::size_t probe, const WordRun& run);
  void add_run(const Run& run, const Kept& kept, const Routine& routine, CodeBuilder& code) const;
  void add_kept(const Kept& kept, const Routine& routine, CodeBuilder& code) const;
  Extent extent_of(const Run& run, const Kept& kept, CodeBuilder& code) const;
  void add_record(const Run& run, const Extent& extent, Label elsewhere, CodeBuilder& code) const;
  void add_routines(const Run& run, const Extent& extent, const Routine& routine, CodeBuilder& code) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  WordCounters& counters_;
  std::vector<Run> runs_;
  std::map<std::uint32_t, Kept> kept_;                       ///< by block
  std::map<std::uint32_t, std::vector<Recorded>> recorded_;  ///< by loop, the leading one first
  std::optional<VirtualRegister> record_;                    ///< b64: address of the thread's loop record
  /// The run and the position in it; nullopt: the loop has a record.
  std::map<CountedAccess, std::optional<std::pair<std::size_t, std::size_t>>> accesses_;
};

}  // namespace lynxpp::ptx
