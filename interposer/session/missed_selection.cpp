#include "interposer/session/missed_selection.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "report/kernel_name.h"
#include "support/spelling.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

/// Returns the part of a regular expression or name that is compared: letters, digits and "_", in lower case.
std::string letters_of(std::string_view text) {
  std::string letters;
  for (const char each : text) {
    const auto letter = static_cast<unsigned char>(each);
    if (std::isalnum(letter) != 0 || each == '_') letters += static_cast<char>(std::tolower(letter));
  }
  return letters;
}

/// Returns "matmul" for "void linear::matmul<float>(float*)".
std::string plain_name(const std::string& kernel) {
  std::string name = demangle(kernel);
  name = name.substr(0, name.find_first_of("(<"));
  const std::size_t scope = name.find_last_of(": ");
  return letters_of(scope == std::string::npos ? name : name.substr(scope + 1));
}

}  // namespace

std::vector<std::size_t> nearest_first(const std::string& pattern, const std::vector<std::string>& kernels) {
  const std::string wanted = letters_of(pattern);
  std::vector<std::size_t> distances;
  for (const std::string& kernel : kernels) {
    const std::string name = plain_name(kernel);
    const bool is_within = !wanted.empty() && name.find(wanted) != std::string::npos;
    // A filter is often the beginning of a name.
    const std::size_t of_beginning = edit_distance(wanted, name.substr(0, wanted.size()));
    distances.push_back(is_within ? 0 : std::min(edit_distance(wanted, name), of_beginning));
  }
  std::vector<std::size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t index) { return distances[index]; });
  return order;
}

std::string missed_selection(const std::string& pattern, const std::vector<std::string>& nearest) {
  constexpr std::size_t most = 5;
  constexpr std::size_t width = 60;
  std::string text = "'" + pattern + "' matches ";
  if (nearest.size() == 1) {
    text += "no kernel; the one that was launched is ";
  } else {
    text += "none of the " + std::to_string(nearest.size()) + " kernels that were launched; the nearest: ";
  }
  for (std::size_t i = 0; i < std::min(most, nearest.size()); ++i)
    text += (i == 0 ? "" : ", ") + report::short_kernel_name(demangle(nearest[i]), width);
  return text + (nearest.size() > most ? ", …" : "");
}

}  // namespace lynxpp::interposer
