// PTX text inside a cubin's debug information.
//
// `ptxas -lineinfo` (Triton, cuTile, every nvcc build with -lineinfo or -G) stores the assembled text in
// section .nv_debug_ptx_txt, or .nv_debug_ptx_txt.HASH for relocatable code, for which nvlink keeps one
// section per translation unit. Lines end in a zero byte. Comments, .loc and .file are dropped; their lines
// remain, empty, so line numbers are those of the original text (image/debug_lines.h fills them).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "image/bytes.h"
#include "support/result.h"

namespace lynxpp::image {

struct DebugPtx {
  std::vector<std::string> modules;  ///< one text each; several in a cubin linked from relocatable code
  /// True if ptxas ran with --fmad=false and the text has products that another compiler may contract.
  bool forbids_contraction = false;
};

/// Returns no modules if the cubin contains no text. Fails with the reason if its text cannot be used.
Result<DebugPtx> debug_ptx(Bytes cubin);

/// True if a device of compute capability `sm` (0: any) can run code for the text's .target.
bool target_runs_on(std::string_view ptx, std::uint32_t sm);

/// Returns the names of the functions with machine code in the cubin, including kernels.
std::vector<std::string> functions_of(Bytes cubin);

}  // namespace lynxpp::image
