// Runs one instruction for all lanes of a warp, on registers with given values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lynxpp::device::cpu::test {

/// The registers of one operand: `{a, b}` if there are several.
struct OperandGroup {
  unsigned count = 1;
  unsigned bits = 32;  ///< per register; 1 for a predicate
};

struct InstructionForm {
  std::string opcode;
  std::vector<OperandGroup> results;
  std::vector<OperandGroup> sources;
  std::string tail = {};                    ///< further operands, as text: ", 3"
  std::string result_selector = {};         ///< ".b3"
  std::vector<std::string> selectors = {};  ///< of the sources
};

using WarpValues = std::array<std::uint64_t, 32>;

/// Returns a kernel that computes in[register][lane] ▶ the instruction ▶ out[register][lane].
std::string kernel_of(const InstructionForm& form);
unsigned registers_of(const std::vector<OperandGroup>& groups);

/// Returns the contents of a warp's result registers; `in` has one entry per source register.
std::vector<WarpValues> run_form(const InstructionForm& form, const std::vector<WarpValues>& in);

}  // namespace lynxpp::device::cpu::test
