#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "support/own_stack.h"
#include "support/text.h"

namespace lynxpp {

std::string demangle(const std::string& symbol) {
  // Without the prefix the demangler reads names of C functions as encoded types: "f" as float.
  if (!symbol.starts_with("_Z")) return symbol;
  // The demangler rejects symbols of more than 1024 characters, and recurses a few times per character.
  constexpr std::size_t most_characters = 1024;
  constexpr std::size_t bytes_per_character = 1024;
  constexpr std::size_t least_bytes = 16 << 10;
  std::string name;
  run_with_stack(least_bytes + bytes_per_character * std::min(symbol.size(), most_characters), [&] {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> found(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    if (status == 0 && found) name = found.get();
  });
  return name.empty() ? symbol : name;
}

}  // namespace lynxpp
