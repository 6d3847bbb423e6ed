// Counts of words, added to by a few instructions at the access.
//
// The routine of countWords() finds a word's count for every access there can be. Here is the code for most:
// of known size, to memory whose counts follow one another. One comparison says so, and one
// addition leads from the word to its count; whatever else there is runs the routine.
//
//   sub.u64 d, address, begin;  setp.lt.u64 p, d, bytes;  add.u64 c, counts, d;
//   @p red.global.add.u32 [c + margin], 1;
//   @p bra done;  …the routine…  done:
//
// Accesses of a block whose addresses are one register plus constants share the comparison: the first one
// counts for all, as nothing between them can keep a thread from coming to the last. Their distances stay
// within the margin.
//
// Those through several registers are counted after the last one of them: additions and branches between two
// loads would keep the assembler from moving the second one up. They share the branch: each comparison asks
// for all before it, too, and a thread with one outside runs the routines from that one on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/ir/memory_access.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// A probe, by position in SplicedCode::probes, and an instruction of the function.
using CountedAccess = std::pair<std::size_t, std::uint32_t>;

/// The code of one function, block after block.
class WordCounters {
 public:
  /// Accesses that count together lie so near each other, or less.
  static constexpr std::int64_t most_distance = 16 * 1024;

  WordCounters(InstrumentationUnit& unit, const FunctionUnit& function);

  void begin_block(std::uint32_t block);

  /// Accesses through several registers that are counted together.
  struct Batch {
    std::size_t probe = 0;
    std::vector<std::vector<std::uint32_t>> groups;  ///< instructions, those through one register together
  };
  /// Those of the block that are counted before `instruction`.
  std::span<const Batch> batches_before(const Instruction& instruction) const;
  /// Counts them; routines[i] does the same for groups[i].
  void add_batch(const Batch& batch, std::vector<Code> routines, CodeBuilder& code);

  /// The instructions whose accesses are counted before that of `access` in the block, itself the first; none
  /// where an earlier one has counted it. Null: the routine stands there.
  const std::vector<std::uint32_t>* counted_before(CountedAccess access) const;
  /// Whether add() needs the address of `access`, the first of these.
  bool asks_for_address(CountedAccess access) const;

  /// Counts them. `address`, of 64 bits, is the first one's; `routines` do the same for all of them.
  void add(std::size_t probe, const std::vector<std::uint32_t>& instructions, const CodeOperand& address,
           Code routines, CodeBuilder& code);

  /// Counts an access that was made before, at `address`.
  void add_at(CountedAccess access, const CodeOperand& address, Code routine, CodeBuilder& code);

  /// A word of the hidden parameter.
  VirtualRegister word(std::uint32_t index, CodeBuilder& code) const;

  /// Counts some of fewer than `most` accesses to device memory, `run.distance` apart. Goes elsewhere where
  /// they do not begin in the window.
  void add_few(std::size_t probe, const WordRun& run, const CodeOperand& first, const CodeOperand& accesses,
               std::int64_t most, Label elsewhere, CodeBuilder& code) const;

  /// Fills the registers that the blocks' code reads, after everything else at the function's entry.
  void insert();

 private:
  /// A register of the program.
  struct Base {
    Name name;
    RegisterId reg = no_register;
    bool is_wide = true;      ///< of 64 bits
    std::uint32_t value = 0;  ///< what it holds
  };
  /// What an access's words are counted by.
  struct Place {
    std::optional<Base> base;  ///< nothing: the address is computed at the site
    std::int64_t offset = 0;
    std::uint32_t bytes = 4;
    bool is_generic = false;  ///< names no space; has no base
  };
  /// What code reads of the launch, in registers.
  struct Kept {
    std::optional<VirtualRegister> begin;  ///< of the counted memory; nothing: 0
    VirtualRegister bytes, counts;
  };

  class Additions;

  bool counts_in_block(const CountedWords& words, std::uint32_t instruction) const;
  std::optional<Place> place_of(CountedAccess access) const;
  std::vector<Place> places_of(std::size_t probe, const std::vector<std::uint32_t>& instructions) const;
  void group(std::size_t probe, std::uint32_t block);
  void gather(std::size_t probe, std::uint32_t block);
  std::optional<RegisterId> gathered_base(CountedAccess first) const;
  void add_places(std::size_t probe, std::vector<Place> places, bool in_block, const CodeOperand& address,
                  Code routines, CodeBuilder& code);
  Kept kept(std::size_t probe, bool in_block, CodeBuilder& code) const;
  Kept fill(const CountedWords& words, bool in_block, CodeBuilder& code) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  FunctionAnalyses& analyses_;
  std::map<CountedAccess, std::vector<std::uint32_t>> groups_;  ///< of the block
  std::map<std::uint32_t, std::vector<Batch>> batches_;         ///< of the block, by what they stand before
  std::set<CountedAccess> in_runs_;  ///< what is counted after a loop (probes/words/word_run_sites.h)
  /// By probe, and whether counters are in the block's shared memory: filled at the function's entry.
  std::map<std::pair<std::size_t, bool>, Kept> kept_;
  Code entry_;
};

}  // namespace lynxpp::ptx
