// PTX text inside a cubin's debug information.
//
// `ptxas -lineinfo` (Triton, cuTile, every nvcc build with -lineinfo or -G) keeps the text that it assembled
// in section .nv_debug_ptx_txt, and in .nv_debug_ptx_txt.HASH of relocatable code, where nvlink keeps one
// section for each translation unit. Lines end in a zero byte. Comments, .loc and .file are dropped; their
// lines are there, empty, so line numbers are those of the original text (image/debug_lines.h fills them).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "image/bytes.h"
#include "support/result.h"

namespace lynxpp::image {

struct DebugPtx {
  std::vector<std::string> modules;  ///< one text each; several in a cubin linked from relocatable code
  /// True if ptxas was told --fmad=false and the text has multiplications that another compiler may contract.
  bool forbids_contraction = false;
};

/// No modules: the cubin keeps no text. Fails if it keeps one that cannot be used, with the reason.
Result<DebugPtx> debug_ptx(Bytes cubin);

/// True if a device of compute capability `sm` (0: any) can run code for the text's .target.
bool target_runs_on(std::string_view ptx, std::uint32_t sm);

/// Names of the functions with machine code in the cubin, kernels among them.
std::vector<std::string> functions_of(Bytes cubin);

}  // namespace lynxpp::image
