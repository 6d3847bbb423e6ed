// Parses any text as a description of a kernel's accesses, and combines its choices. Errors must have a
// message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "models/cumapz/description.h"
#include "models/cumapz/symmetry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lynxpp::models::cumapz;
  const auto description =
      parse_description(std::string(reinterpret_cast<const char*>(data), size), "fuzz.access");
  if (!description) {
    if (description.error().diagnostics.empty()) std::abort();
    return 0;
  }
  const auto variants = variants_of(*description, {});
  if (!variants) {
    if (variants.error().diagnostics.empty()) std::abort();
    return 0;
  }
  const auto segments = symmetry_of(*description, variants->front()).segments;
  for (unsigned d = 0; d < 3; ++d) {
    std::int64_t end = 0;
    for (const Segment& segment : segments[d]) {
      if (segment.begin != end || segment.end <= segment.begin) std::abort();
      if (segment.period < 1 || segment.period > segment.end - segment.begin) std::abort();
      end = segment.end;
    }
    if (end != variants->front().grid[d]) std::abort();
  }
  return 0;
}
