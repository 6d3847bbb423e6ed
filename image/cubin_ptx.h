// Machine code ▶ the PTX that it was compiled from, from any source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "image/bytes.h"
#include "support/result.h"

namespace lynxpp::image {

enum class PtxOrigin : std::uint8_t {
  image,           ///< PTX of the program image
  store,           ///< stored when the compiler was observed (image/compiled_ptx.h)
  compiler_cache,  ///< next to the cubin in the cache of Triton or torch.compile
  debug_section,   ///< image/debug_ptx.h
};

/// "the debug section of the cubin"; empty for PTX of the program image.
std::string_view describe(PtxOrigin origin);

struct CubinPtx {
  std::vector<std::string> texts;  ///< several for a cubin that was linked; empty: no usable text
  PtxOrigin origin = PtxOrigin::image;
  std::string problem;  ///< why an existing text cannot be used; empty if it can
};

/// Requirements of the text's next compiler.
struct PtxUse {
  std::uint32_t sm = 0;   ///< compute capability × 10 of the device; 0: any
  bool contracts = true;  ///< true if that compiler contracts products and sums into fma
};

/// Prefers texts with source lines: first the store, then the compilers' caches, then the debug section.
CubinPtx ptx_of_cubin(Bytes cubin, const PtxUse& use);

/// Returns, for each container of the image without PTX, the PTX of its newest machine code, for a device
/// that cannot execute machine code. Fails if the image is damaged.
Result<std::vector<CubinPtx>> ptx_of_machine_code(Bytes image);

}  // namespace lynxpp::image
