// Machine code ▶ the PTX that it was compiled from, wherever somebody kept it.
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
  store,           ///< remembered when the compiler was seen at work (image/compiled_ptx.h)
  compiler_cache,  ///< beside the cubin in the cache of Triton or torch.compile
  debug_section,   ///< image/debug_ptx.h
};

/// "the debug section of the cubin"; empty for PTX of the program image.
std::string_view describe(PtxOrigin origin);

struct CubinPtx {
  std::vector<std::string> texts;  ///< several for a cubin that was linked; empty: there is no usable text
  PtxOrigin origin = PtxOrigin::image;
  std::string problem;  ///< why a text that is there cannot be used; empty if there is none
};

/// Demands on the text, by what compiles it again.
struct PtxUse {
  std::uint32_t sm = 0;   ///< compute capability × 10 of the device; 0: any
  bool contracts = true;  ///< true if that compiler contracts products and sums into fma
};

/// Texts with source lines come first: the store, the compilers' caches, then the debug section.
CubinPtx ptx_of_cubin(Bytes cubin, const PtxUse& use);

/// For each container of the image without PTX, what its newest machine code was compiled from. For a device
/// that executes no machine code. Fails if the image is damaged.
Result<std::vector<CubinPtx>> ptx_of_machine_code(Bytes image);

}  // namespace lynxpp::image
