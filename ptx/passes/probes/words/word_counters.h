// Inline word counters: a few instructions at the access add to the words' counts.
//
// The routine of countWords() handles every possible access. This code handles the common case: an access of
// known size to memory whose counts are contiguous. One comparison tests for it, and one addition maps the
// word to its count; everything else runs the routine.
//
//   sub.u64 d, address, begin;  setp.lt.u64 p, d, bytes;  add.u64 c, counts, d;
//   @p red.global.add.u32 [c + margin], 1;
//   @p bra done;  …the routine…  done:
//
// Accesses of a block whose addresses are one register plus constants share the comparison: one of them
// counts for all, because a thread that reaches the first also reaches the last. Their distances are at most
// the margin. In device memory, accesses through other registers join them, if these still hold the addresses
// at the last access: each comparison includes the ones before, so that one branch is enough.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/ir/memory_access.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// A probe, by position in SplicedCode::probes, and an instruction of the function.
using CountedAccess = std::pair<std::size_t, std::uint32_t>;

/// Emits the code of one function.
class WordCounters {
 public:
  WordCounters(InstrumentationUnit& unit, const FunctionUnit& function);

  /// A register of the program.
  struct Base {
    Name name;
    bool is_wide = true;      ///< 64 bits
    std::uint32_t value = 0;  ///< the value it holds
  };
  /// How the words of an access are addressed.
  struct WordAddress {
    std::uint32_t instruction = 0;
    std::optional<Base> base;  ///< nullopt: the address is computed at the site
    std::int64_t offset = 0;
    std::uint32_t bytes = 4;
    bool is_generic = false;  ///< generic state space; has no base
  };
  /// Accesses of a block that are counted together.
  using Group = std::vector<WordAddress>;

  /// Returns the accesses that are counted at `access`; empty if another access counts it. Null: the routine
  /// is used.
  const Group* counted_before(CountedAccess access) const;

  /// Counts a group. `address` (64 bits) is that of the first access, used if that has no base; `routines` is
  /// equivalent for all of them.
  void add(std::size_t probe, const Group& group, const CodeOperand& address, Code routines,
           CodeBuilder& code);

  /// Sets the registers that the blocks' code reads. Called after everything else at the function's entry.
  void insert();

 private:
  /// Launch values that the code reads, in registers.
  struct Kept {
    VirtualRegister begin;  ///< of the counted device memory
    VirtualRegister bytes, counts;
  };

  class Additions;

  std::optional<WordAddress> address_of(CountedAccess access) const;
  void group(std::size_t probe, std::uint32_t block);
  void join(std::size_t probe, const std::vector<std::uint32_t>& firsts);
  bool holds_until(const Group& group, std::uint32_t last) const;
  VirtualRegister load_slot(std::uint32_t index, CodeBuilder& code) const;
  Kept kept(std::size_t probe, CodeBuilder& code) const;
  Kept fill(const CountedWords& words, CodeBuilder& code) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  FunctionAnalyses& analyses_;
  std::map<CountedAccess, Group> groups_;  ///< by the access that counts them; empty for the others
  std::map<std::size_t, Kept> kept_;       ///< by probe: set at the function's entry
  Code entry_;
};

}  // namespace lynxpp::ptx
