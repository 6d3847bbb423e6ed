#include "ptx/ir/directives.h"

#include <algorithm>
#include <charconv>

namespace lynxpp::ptx {

std::string_view directives_of(const Module& module, const Function& kernel) {
  const TextRange& before = kernel.parameter_list.empty() ? kernel.name_text : kernel.parameter_list;
  return module.text({before.end, kernel.body_text.begin});
}

std::vector<std::uint32_t> directive_values(const Module& module, const Function& kernel,
                                            std::string_view directive) {
  const std::string_view text = directives_of(module, kernel);
  std::vector<std::uint32_t> numbers;
  std::size_t at = text.find(directive);
  if (at == std::string_view::npos) return numbers;
  for (at += directive.size(); at < text.size();) {
    std::uint32_t number = 0;
    const char* const begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
    if (error == std::errc()) {
      numbers.push_back(number);
      at += static_cast<std::size_t>(end - begin);
    } else if (std::string_view(" \t\r\n,").find(*begin) != std::string_view::npos) {
      ++at;
    } else {
      break;
    }
  }
  return numbers;
}

std::vector<std::uint32_t> block_limits(const Module& module, const Function& kernel) {
  std::vector<std::uint32_t> limits = directive_values(module, kernel, ".reqntid");
  return limits.empty() ? directive_values(module, kernel, ".maxntid") : limits;
}

std::uint32_t most_threads(const Module& module, const Function& kernel) {
  constexpr std::uint64_t most = 1024;
  std::uint64_t threads = 1;
  const std::vector<std::uint32_t> limits = block_limits(module, kernel);
  for (const std::uint32_t limit : limits) threads = std::min(threads * limit, most);
  return static_cast<std::uint32_t>(limits.empty() || threads == 0 ? most : threads);
}

}  // namespace lynxpp::ptx
