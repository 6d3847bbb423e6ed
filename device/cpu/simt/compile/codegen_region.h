// A region while it is emitted. Internal to codegen_regions.cpp and codegen_rows.cpp.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "device/cpu/simt/compile/codegen.h"

namespace lynxpp::device::cpu {

struct FunctionCodegen::Region {
  std::vector<std::uint32_t> segments;                   ///< the first one is where it begins
  std::map<std::uint32_t, llvm::BasicBlock*> begins;     ///< of each
  std::map<std::uint32_t, llvm::AllocaInst*> registers;  ///< by id
  std::set<std::uint32_t> written;
  std::set<std::uint32_t> joins;  ///< segments of the function where lanes may wait for others
  llvm::AllocaInst* turn = nullptr;
  Value* join = nullptr;      ///< where the group joins the one below
  Value* together = nullptr;  ///< no other lanes are elsewhere
  struct Exit {
    std::uint32_t segment = 0;
    llvm::BasicBlock* block = nullptr;
    Value* taken = nullptr;
  };
  std::vector<Exit> exits;

  // What tells where values come from (codegen_rows.cpp).
  struct RegisterIn {
    std::uint32_t id = 0;
    std::uint32_t segment = 0;
  };
  struct Writer {
    std::uint32_t segment = 0;
    Value* value = nullptr;
  };
  std::uint32_t segment = 0;                              ///< at hand
  Value* has_rows = nullptr;                              ///< WarpContext::has_rows
  std::map<const Value*, unsigned> indices;               ///< axes, by what was loaded of the thread's index
  std::map<const Value*, RegisterIn> loads;               ///< of registers
  std::map<std::uint32_t, std::uint32_t> writes;          ///< instructions that write a register, by id
  std::map<std::uint32_t, Writer> writers;                ///< of those that were emitted, by id
  std::map<std::uint32_t, std::set<std::uint32_t>> next;  ///< segments behind each
  /// Whether every path to the segment goes through `through`, another one.
  bool is_behind(std::uint32_t segment, std::uint32_t through) const;
  /// Whether the warp may come to the segment again without leaving the region.
  bool is_in_loop(std::uint32_t segment) const;
};

}  // namespace lynxpp::device::cpu
