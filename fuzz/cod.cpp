// Lexes, parses and checks any text as a specification. Errors must have a location.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cod/specification.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto specification =
      lynxpp::cod::compile(std::string(reinterpret_cast<const char*>(data), size), "fuzz.cod");
  if (!specification && specification.error().diagnostics.empty()) std::abort();
  return 0;
}
