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
#include <utility>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/ir/memory_access.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

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
  std::vector<Batch> batches_before(const Instruction& instruction) const;
  /// Counts them; routines[i] does the same for groups[i].
  void add_batch(const Batch& batch, std::vector<Code> routines, CodeBuilder& code);

  /// The instructions whose accesses are counted before `instruction` of the block, itself the first; none
  /// where an earlier one has counted it. Null: the routine stands there.
  const std::vector<std::uint32_t>* counted_before(const Probe& probe, const Instruction& instruction) const;
  /// Whether add() needs the address of `instruction`, the first of these.
  bool asks_for_address(const Probe& probe, const Instruction& instruction) const;

  /// Counts them. `address`, of 64 bits, is the first one's; `routines` do the same for all of them.
  void add(const Probe& probe, const std::vector<std::uint32_t>& instructions, const CodeOperand& address,
           Code routines, CodeBuilder& code);

  /// Counts an access that was made before, at `address`.
  void add_at(const Probe& probe, std::uint32_t instruction, const CodeOperand& address, Code routine,
              CodeBuilder& code);

  /// A word of the hidden parameter.
  VirtualRegister word(std::uint32_t index, CodeBuilder& code) const;

  /// Counts some of fewer than `most` accesses to device memory, `run.distance` apart. Goes elsewhere where
  /// they do not begin in the window.
  void add_few(const Probe& probe, const WordRun& run, const CodeOperand& first, const CodeOperand& accesses,
               std::int64_t most, Label elsewhere, CodeBuilder& code) const;

  /// Fills the registers that the blocks' code reads, after everything else at the function's entry.
  void insert();

 private:
  using Key = std::pair<std::size_t, std::uint32_t>;  // probe, instruction
  /// What an access's words are counted by.
  struct Place {
    std::optional<Name> base;  ///< a register of the program; nothing: the address is computed at the site
    bool is_wide = true;       ///< which has 64 bits
    std::uint32_t value = 0;   ///< what it holds
    std::int64_t offset = 0;
    std::uint32_t bytes = 4;
    bool is_generic = false;  ///< names no space; has no base
  };
  /// What code reads of the launch, in registers.
  struct Kept {
    std::optional<VirtualRegister> begin;  ///< of the counted memory; nothing: 0
    VirtualRegister bytes, counts;
  };

  bool counts_in_block(const CountedWords& words, std::uint32_t instruction) const;
  Key key_of(const Probe& probe, const Instruction& instruction) const;
  std::optional<Place> place_of(std::size_t probe, std::uint32_t instruction) const;
  void group(std::size_t probe, std::uint32_t block);
  void gather(std::size_t probe, std::uint32_t block);
  std::optional<RegisterId> gathered_base(Key first) const;
  void add_places(std::size_t number, std::vector<Place> places, bool in_block, const CodeOperand& address,
                  Code routines, CodeBuilder& code);
  Kept kept(std::size_t probe, bool in_block, CodeBuilder& code) const;
  Kept fill(const CountedWords& words, bool in_block, CodeBuilder& code) const;
  void add_in_device(const CountedWords& words, std::vector<Place> places, const CodeOperand& address,
                     const Kept& kept, Code routines, CodeBuilder& code);
  void add_of_shared(const CountedWords& words, std::vector<Place> places, const CodeOperand& address,
                     const Kept& kept, Code routines, CodeBuilder& code);
  void add_in_block(const CountedWords& words, std::vector<Place> places, const CodeOperand& address,
                    const Kept& kept, Code routines, CodeBuilder& code);

  static CodeOperand base_of(const CountedWords& words, const Place& place, const CodeOperand& address,
                             CodeBuilder& code);
  static CodeOperand whole_word(CodeOperand base, RegisterType type, Place& place, CodeBuilder& code);
  struct Counted {
    VirtualRegister holds;   ///< all words have counts that follow one another, and so do those before
    VirtualRegister counts;  ///< where the register's word has its own, but for the margin
  };
  static Counted find_in_device(const CountedWords& words, std::vector<Place>& places,
                                const CodeOperand& address, const Kept& kept,
                                const std::optional<VirtualRegister>& before, CodeBuilder& code);
  static VirtualRegister is_inside(const std::vector<Place>& places, const CodeOperand& base,
                                   const Kept& kept, CodeBuilder& code);
  static void add_saturating(const CodePredicate& holds, const CodeAddress& count, CodeBuilder& code);
  void add_reductions(const CountedWords& words, const std::vector<Place>& places, const CodePredicate& holds,
                      VirtualRegister counts, std::int64_t distance, CodeBuilder& code) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  FunctionAnalyses& analyses_;
  std::map<Key, std::vector<std::uint32_t>> groups_;  ///< of the block
  std::multimap<std::uint32_t, Batch> batches_;       ///< of the block, by what they stand before
  std::set<Key> in_runs_;  ///< what is counted after a loop (probes/words/word_run_sites.h)
  /// By probe, and whether counters are in the block's shared memory: filled at the function's entry.
  std::map<std::pair<std::size_t, bool>, Kept> kept_;
  Code entry_;
};

}  // namespace lynxpp::ptx
