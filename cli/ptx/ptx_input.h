// The input of the `lynxpp ptx` commands: a PTX module and the selected kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/ir/module.h"
#include "support/result.h"

namespace lynxpp::cli {

struct PtxInput {
  std::string path;
  std::string text;
  ptx::Module module{std::string()};
  std::vector<std::string> functions;  ///< selected functions, mangled, in textual order
};

/// The kinds of functions that a command accepts.
enum class Wanted : std::uint8_t { kernels, kernels_and_functions };

/// Reads a module and selects the kernels named `name` (mangled, demangled, or without its parameter list),
/// or the device functions if `wanted` includes them; all if `name` is empty. If the module cannot be read or
/// nothing is selected, prints an error and returns false.
bool read_ptx_input(const std::string& path, const std::string& name, Wanted wanted, PtxInput& input);

/// Parses the body of one function. If it has errors, prints them on stderr and returns false.
bool parse_body_of(PtxInput& input, ptx::Function& function);

/// Returns the name with its parameter list, "matmul(float*, int)".
std::string readable_name(const ptx::Function& function);

/// Returns "1 block", "2 blocks".
std::string counted(std::uint64_t count, const std::string& noun);

}  // namespace lynxpp::cli
