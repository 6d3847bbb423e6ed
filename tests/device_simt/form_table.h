// A table of instruction forms: opcode, registers, and the expected result for one lane.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "operation_fixture.h"

namespace lynxpp::device::cpu::test {

using Registers = std::vector<std::uint64_t>;

struct FormCase {
  std::string name;
  InstructionForm form;
  std::vector<Registers> values;  ///< per source register: one value per lane, repeated
  std::function<Registers(const Registers&)> expected;
};

inline std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
inline float float_of(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

inline Registers rotated(Registers values, std::ptrdiff_t by) {
  std::rotate(values.begin(), values.begin() + by, values.end());
  return values;
}

/// Edge cases of integer instructions, and other words.
inline Registers words() {
  Registers values;
  std::uint32_t state = 99;
  for (int i = 0; i < 26; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(state);
  }
  for (const std::uint32_t edge : {0u, ~0u, 0x80000000u, 0x7fffffffu, 0x80808080u, 0x7f7f7f7fu})
    values.push_back(edge);
  return values;
}

/// Extracts `bits` bits of the word from `position`.
inline std::int64_t field(std::uint64_t word, unsigned position, unsigned bits, bool sign) {
  const std::uint64_t value = word >> position & ((std::uint64_t{1} << bits) - 1);
  const bool negative = sign && (value >> (bits - 1) & 1) != 0;
  return static_cast<std::int64_t>(value) - (negative ? std::int64_t{1} << bits : 0);
}

inline std::int64_t clamp_to(std::int64_t value, unsigned bits, bool sign) {
  const std::int64_t high = (std::int64_t{1} << (sign ? bits - 1 : bits)) - 1;
  return std::clamp(value, sign ? -high - 1 : std::int64_t{0}, high);
}

/// Checks that the instruction computes the same as C++.
void check_form(const FormCase& form);

inline std::string name_of_form(const ::testing::TestParamInfo<FormCase>& info) { return info.param.name; }

}  // namespace lynxpp::device::cpu::test
