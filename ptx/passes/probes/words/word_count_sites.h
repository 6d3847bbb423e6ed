// Registers for accesses whose words are counted less often than they are made (memory/word_sites.h), in one
// function: how often since its loop was entered, and where.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/memory/lane_values.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

class WordCountSites {
 public:
  struct Kept {
    const Instruction* instruction = nullptr;
    std::uint32_t access = 0;
    WordSite site;
    VirtualRegister executions;  ///< b32; a thread that makes the access 2^32 times in one loop is none
    VirtualRegister address;     ///< b64
    bool is_counted = false;     ///< executions are: one probe has asked for it
  };

  WordCountSites(InstrumentationUnit& unit, const FunctionUnit& function);

  void add_entry(CodeBuilder& code) const;
  /// Null: it is counted each time.
  const WordSite* find(const LaneSite& site) const;
  /// For all probes that stand there, whichever asks first.
  void add_execution(const LaneSite& site, const CodeOperand& address, CodeBuilder& code);
  /// For how many lanes one counts, and a predicate that holds in those for which another one does: the
  /// lowest lane that is here counts for all that have its address, the others count for themselves.
  struct OfWarp {
    VirtualRegister number, follows;
  };
  static OfWarp of_warp(const CodeOperand& address, CodeBuilder& code);
  const std::map<LaneSite, Kept>& kept() const { return kept_; }
  // In the function's first block and after it.
  VirtualRegister is_first_thread() const { return in_block_->is_first_thread; }
  VirtualRegister threads() const { return in_block_->threads; }

 private:
  struct InBlock {
    VirtualRegister is_first_thread;  ///< a predicate
    VirtualRegister threads;          ///< how many there are, b32
  };

  const InstrumentationUnit& unit_;
  std::map<LaneSite, Kept> kept_;
  std::optional<InBlock> in_block_;  ///< nothing: the function has no sites
};

}  // namespace lynxpp::ptx
