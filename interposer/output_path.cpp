#include "interposer/output_path.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace lynxpp::interposer {
namespace {

std::string host() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown-host";
  return name.data();
}

std::string rank() {
  for (const char* const variable :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    const char* const value = std::getenv(variable);
    const std::string_view text = value != nullptr ? value : "";
    const auto is_digit = [](char each) { return std::isdigit(static_cast<unsigned char>(each)) != 0; };
    if (!text.empty() && std::ranges::all_of(text, is_digit)) return std::string(text);
  }
  return "0";
}

}  // namespace

Result<std::string> expand_output_path(std::string_view pattern) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path += pattern[i];
      continue;
    }
    const char letter = ++i < pattern.size() ? pattern[i] : '\0';
    switch (letter) {
      case 'p': path += std::to_string(getpid()); break;
      case 'h': path += host(); break;
      case 'r': path += rank(); break;
      case '%': path += '%'; break;
      default:
        return failure("LYNXPP_OUTPUT '" + std::string(pattern) + "': " +
                       (letter != '\0' ? std::string("nothing is known of '%") + letter + "'"
                                       : std::string("nothing stands behind the last '%'")) +
                       "; there are %p (process), %h (host), %r (MPI rank) and %%");
    }
  }
  return path;
}

}  // namespace lynxpp::interposer
