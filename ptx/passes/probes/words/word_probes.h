// Probes that count words of memory, in one function: by a few instructions at the access, by one thread for
// all of a block or one lane for its warp, after the loop that repeats the access, or by the routine itself,
// whichever of these the access allows first.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/probes/routine_copies.h"
#include "ptx/passes/probes/words/word_count_sites.h"
#include "ptx/passes/probes/words/word_counters.h"
#include "ptx/passes/probes/words/word_run_sites.h"

namespace lynxpp::ptx {

/// The code of one function, block after block.
class WordProbes {
 public:
  /// The references outlive this.
  WordProbes(InstrumentationUnit& unit, const FunctionUnit& function, RoutineCopies& copies)
      : unit_(unit),
        function_(function),
        body_(*function.function->body),
        names_(unit.edits.names(*function.function)),
        copies_(copies),
        sites_(unit, function),
        counters_(unit, function),
        runs_(unit, function, counters_) {}

  /// At the function's entry.
  void add_entry(CodeBuilder& code) const;
  /// Before the block's first instruction: what was kept in loops that an edge to it exits.
  void add_block_start(std::uint32_t block, CodeBuilder& code);
  /// Before an instruction of the block, whatever guards it: what is counted together of those before it.
  void add_before(std::uint32_t block, const Instruction& instruction, CodeBuilder& code);
  /// At an instruction at which the probe stands. False: the routine is to stand there.
  bool add(Probe& probe, std::uint32_t block, const Instruction& instruction, CodeBuilder& code);
  /// Before an instruction that ends the thread or returns, and where the body ends without one: what was
  /// kept in the loops around it.
  void add_before_exit(std::uint32_t block, CodeBuilder& code);
  /// Where the block ends, before its branch, and after it.
  void add_before_end(std::uint32_t block, CodeBuilder& code) const { runs_.add_before_end(block, code); }
  void add_behind_end(std::uint32_t block, CodeBuilder& code) const { runs_.add_behind_end(block, code); }
  /// After everything else at the function's entry.
  void insert() { counters_.insert(); }

 private:
  Code routines_of(Probe& probe, std::uint32_t block, const std::vector<std::uint32_t>& instructions);
  bool add_by_counters(Probe& probe, CountedAccess access, const Site& site, CodeBuilder& code);
  bool add_by_site(Probe& probe, const Site& site, CodeBuilder& code);
  void add_of_block(Probe& probe, Site site, CodeBuilder& code);
  void add_of_warp(Probe& probe, Site site, CodeBuilder& code);
  void add_kept(const WordCountSites::Kept& kept, std::uint32_t block, CodeBuilder& code);
  void add_later(Probe& probe, const Site& site, CodeBuilder& code);
  WordRunSites::Routine routine_of_run(std::uint32_t block);

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  NameSource& names_;
  RoutineCopies& copies_;
  WordCountSites sites_;
  WordCounters counters_;
  WordRunSites runs_;
};

}  // namespace lynxpp::ptx
