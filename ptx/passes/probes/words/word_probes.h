// Word-counting probes of one function. Uses the first method that the access allows: inline counters, one
// thread for its block or one lane for its warp, a count after the loop that repeats the access, or the
// routine itself.
#pragma once

#include <cstdint>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/probes/routine_copies.h"
#include "ptx/passes/probes/words/word_count_sites.h"
#include "ptx/passes/probes/words/word_counters.h"

namespace lynxpp::ptx {

/// Emits the code of one function, block by block.
class WordProbes {
 public:
  /// The references must outlive this object.
  WordProbes(InstrumentationUnit& unit, const FunctionUnit& function, RoutineCopies& copies)
      : unit_(unit),
        function_(function),
        body_(*function.function->body),
        names_(unit.edits.names(*function.function)),
        copies_(copies),
        sites_(unit, function),
        counters_(unit, function) {}

  /// At the function's entry.
  void add_entry(CodeBuilder& code) const { sites_.add_entry(code); }
  /// Before the block's first instruction: counts what was kept in loops that an edge to the block exits.
  void add_block_start(std::uint32_t block, CodeBuilder& code);
  /// At an instruction that the probe matches. Returns false if the routine must be inserted.
  bool add(Probe& probe, std::uint32_t block, const Instruction& instruction, CodeBuilder& code);
  /// Before an instruction that ends the thread or returns, and at the end of a body without one: counts what
  /// was kept in the loops around it.
  void add_before_exit(std::uint32_t block, CodeBuilder& code);
  /// Called after everything else at the function's entry has been inserted.
  void insert() { counters_.insert(); }

 private:
  bool add_by_counters(Probe& probe, CountedAccess access, const Site& site, CodeBuilder& code);
  bool add_by_site(Probe& probe, const Site& site, CodeBuilder& code);
  void add_of_block(Probe& probe, Site site, CodeBuilder& code);
  void add_of_warp(Probe& probe, Site site, CodeBuilder& code);
  void add_kept(const WordCountSites::Kept& kept, std::uint32_t block, CodeBuilder& code);

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  NameSource& names_;
  RoutineCopies& copies_;
  WordCountSites sites_;
  WordCounters counters_;
};

}  // namespace lynxpp::ptx
