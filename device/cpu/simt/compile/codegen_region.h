// A region during emission. Internal to codegen_regions.cpp and codegen_rows.cpp.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "device/cpu/simt/compile/codegen.h"

namespace lynxpp::device::cpu {

struct FunctionCodegen::Region {
  std::vector<std::uint32_t> segments;                   ///< the first one is the entry
  std::map<std::uint32_t, llvm::BasicBlock*> begins;     ///< first block of each segment
  std::map<std::uint32_t, llvm::AllocaInst*> registers;  ///< by id
  std::set<std::uint32_t> written;
  std::set<std::uint32_t> joins;  ///< segments where lanes may wait to reconverge
  llvm::AllocaInst* turn = nullptr;
  Value* join = nullptr;      ///< segment where the group joins the one below
  Value* together = nullptr;  ///< true if all live lanes are in the region
  struct Exit {
    std::uint32_t segment = 0;
    llvm::BasicBlock* block = nullptr;
    Value* taken = nullptr;
  };
  std::vector<Exit> exits;

  // Data flow within the region (codegen_rows.cpp).
  struct RegisterIn {
    std::uint32_t id = 0;
    std::uint32_t segment = 0;
  };
  struct Writer {
    std::uint32_t segment = 0;
    Value* value = nullptr;
  };
  std::uint32_t segment = 0;                              ///< current segment
  Value* has_rows = nullptr;                              ///< WarpContext::has_rows
  std::map<const Value*, unsigned> indices;               ///< axes, by values loaded from the thread's index
  std::map<const Value*, RegisterIn> loads;               ///< loaded registers
  std::map<std::uint32_t, std::uint32_t> writes;          ///< writes per register, by id
  std::map<std::uint32_t, Writer> writers;                ///< writers emitted so far, by id
  std::map<std::uint32_t, std::set<std::uint32_t>> next;  ///< successors of each segment
  /// True if every path to the segment goes through `through`, a different segment.
  bool is_dominated_by(std::uint32_t segment, std::uint32_t through) const;
  /// True if the warp may reach the segment again without leaving the region.
  bool is_in_loop(std::uint32_t segment) const;
};

}  // namespace lynxpp::device::cpu
