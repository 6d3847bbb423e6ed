// Names of parametrised tests that are the same in every run: GoogleTest would print pointers and bytes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace lynxpp {

/// The letters and digits of the text, with an underscore for anything between them.
inline std::string name_of_text(std::string_view text) {
  constexpr std::size_t longest = 48;
  std::string name;
  for (const char each : text) {
    const bool is_word =
        (each >= '0' && each <= '9') || (each >= 'A' && each <= 'Z') || (each >= 'a' && each <= 'z');
    if (is_word) name += each;
    if (!is_word && !name.empty() && name.back() != '_') name += '_';
    if (name.size() == longest) break;
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? "empty" : name;
}

/// Adds the index, for texts that may be identical.
inline std::string numbered_name(std::size_t index, std::string_view text) {
  return std::to_string(index) + "_" + name_of_text(text);
}

/// INSTANTIATE_TEST_SUITE_P(…, ReadableName()): for texts, integers and tuples of both.
struct ReadableName {
  template <typename T>
  std::string operator()(const testing::TestParamInfo<T>& info) const {
    return part(info.param);
  }

 private:
  template <typename T>
  static std::string part(const T& value) {
    if constexpr (std::is_convertible_v<T, std::string_view>)
      return name_of_text(value);
    else
      return std::to_string(value);
  }
  template <typename... Ts>
  static std::string part(const std::tuple<Ts...>& values) {
    std::string name;
    std::apply([&](const auto&... each) { ((name += (name.empty() ? "" : "_") + part(each)), ...); }, values);
    return name;
  }
};

}  // namespace lynxpp
