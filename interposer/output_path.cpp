#include "interposer/output_path.h"

#include "interposer/this_process.h"

namespace lynxpp::interposer {
bool names_device(std::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] == '%' && pattern[++i] == 'd') return true;
  }
  return false;
}

Result<std::string> expand_output_path(std::string_view pattern, std::uint64_t device,
                                       std::string_view variable) {
  const report::ProcessRecord process = describe_process();
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path += pattern[i];
      continue;
    }
    const char letter = ++i < pattern.size() ? pattern[i] : '\0';
    switch (letter) {
      case 'p': path += std::to_string(process.pid); break;
      case 'h': path += process.host.empty() ? "unknown-host" : process.host; break;
      case 'r': path += std::to_string(process.rank.value_or(0)); break;
      case 'd': path += std::to_string(device); break;
      case '%': path += '%'; break;
      default:
        return failure(std::string(variable) + " '" + std::string(pattern) + "': " +
                       (letter != '\0' ? std::string("unknown placeholder '%") + letter + "'"
                                       : std::string("incomplete placeholder at the end")) +
                       "; use %p (process), %h (host), %r (MPI rank), %d (device) or %%");
    }
  }
  return path;
}

}  // namespace lynxpp::interposer
