// Any text as a description of a kernel's accesses: parsed, and its choices combined. Errors must say what is
// wrong.
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
  for (const auto period : periods_of(*description, variants->front())) {
    if (period < 1) std::abort();
  }
  return 0;
}
