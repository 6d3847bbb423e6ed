#include "models/word_profile/profile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace lynxpp::models {

double ArrayProfile::mean() const {
  return accessed_words() == 0 ? 0 : static_cast<double>(accesses) / static_cast<double>(accessed_words());
}

std::uint64_t ArrayProfile::least_of_accessed() const {
  if (never == 0) return least;
  const auto first = std::ranges::find_if(distribution, [](std::uint64_t of_bin) { return of_bin != 0; });
  if (first == distribution.end() || first - distribution.begin() >= 63) return greatest;
  return std::min(greatest, (std::uint64_t{2} << (first - distribution.begin())) - 1);
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string rounded(double number) {
  const bool is_whole = std::fabs(number - std::round(number)) < 0.005;
  if (number >= 100 || is_whole)
    return grouped(static_cast<std::uint64_t>(std::llround(std::max(number, 0.0))));
  char text[32];
  std::snprintf(text, sizeof text, number >= 10 ? "%.1f" : "%.2f", number);
  return text;
}

}  // namespace lynxpp::models
