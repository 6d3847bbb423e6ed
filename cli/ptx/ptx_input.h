// What the commands of `lynxpp ptx` read: a PTX module and the kernels wanted from it.
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
  std::vector<std::string> functions;  ///< wanted ones, mangled, in textual order
};

/// Which functions a command can do something with.
enum class Wanted : std::uint8_t { kernels, kernels_and_functions };

/// Reads a module and chooses the kernels `name` means (mangled, demangled, or without its parameter list),
/// or the device functions where these are wanted too; all of them when it is empty. Prints what is wrong and
/// returns false when that fails: when there is no such function, or no kernel where only these are wanted.
bool read_ptx_input(const std::string& path, const std::string& name, Wanted wanted, PtxInput& input);

/// Parses the body of one function, or says on stderr why it cannot be.
bool parse_body_of(PtxInput& input, ptx::Function& function);

/// The name with its parameter list, "matmul(float*, int)".
std::string readable_name(const ptx::Function& function);

/// "1 block", "2 blocks".
std::string counted(std::uint64_t count, const std::string& noun);

}  // namespace lynxpp::cli
