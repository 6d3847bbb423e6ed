// Registers for accesses of one function whose words are counted less often than they are executed
// (memory/word_sites.h): the number of executions since the loop was entered, and the address.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/memory/lane_value_plan.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

class WordCountSites {
 public:
  struct Kept {
    const Instruction* instruction = nullptr;
    std::uint32_t access = 0;
    WordSite site;
    VirtualRegister executions;  ///< b32; assumes fewer than 2^32 executions per loop entry
    VirtualRegister address;     ///< b64
    bool is_counted = false;     ///< execution counting was requested by a probe
  };

  WordCountSites(InstrumentationUnit& unit, const FunctionUnit& function);

  void add_entry(CodeBuilder& code) const;
  /// Null: counted at each execution.
  const WordSite* find(const LaneSite& site) const;
  /// Counts one execution for all probes at the site; only the first call for a site emits code.
  void add_execution(const LaneSite& site, const CodeOperand& address, CodeBuilder& code);
  /// The number of lanes that a lane counts for, and a predicate for lanes that another lane counts: the
  /// lowest active lane counts for all lanes with its address, other lanes count for themselves.
  struct OfWarp {
    VirtualRegister number, follows;
  };
  static OfWarp of_warp(const CodeOperand& address, CodeBuilder& code);
  const std::map<LaneSite, Kept>& kept() const { return kept_; }
  // Valid in the function's first block and after it.
  VirtualRegister is_first_thread() const { return in_block_->is_first_thread; }
  VirtualRegister threads() const { return in_block_->threads; }

 private:
  struct InBlock {
    VirtualRegister is_first_thread;  ///< a predicate
    VirtualRegister threads;          ///< number of threads, b32
  };

  const InstrumentationUnit& unit_;
  std::map<LaneSite, Kept> kept_;
  std::optional<InBlock> in_block_;  ///< nullopt: the function has no such sites
};

}  // namespace lynxpp::ptx
