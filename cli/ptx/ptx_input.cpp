#include "cli/ptx/ptx_input.h"

#include <utility>

#include "cli/diagnostics.h"
#include "cli/ptx/program_ptx.h"
#include "ptx/parser/parser.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

std::string without_parameters(const std::string& demangled) {
  return demangled.substr(0, demangled.find('('));
}

Status choose_functions(const std::string& name, Wanted wanted, PtxInput& input) {
  const bool only_kernels = wanted == Wanted::kernels;
  std::vector<std::string> spellings;
  for (const ptx::Function& function : input.module.functions) {
    if ((only_kernels && !function.is_entry) || function.is_declaration()) continue;
    const std::string demangled = demangle(function.name);
    const std::string plain = without_parameters(demangled);
    if (name.empty() || name == function.name || name == demangled || name == plain)
      input.functions.push_back(function.name);
    spellings.push_back(function.name);
    spellings.push_back(plain);
  }
  if (!input.functions.empty() || (name.empty() && !only_kernels)) return success();
  const std::string missing = input.path + " defines no " + (only_kernels ? "kernel" : "function");
  if (name.empty()) return failure(missing);
  const std::string close = closest_match(name, spellings);
  return failure(missing + " '" + name + "'", close.empty() ? "`lynxpp ptx stat " + input.path + "` lists " +
                                                                  (only_kernels ? "its kernels" : "them")
                                                            : "did you mean '" + close + "'?");
}

}  // namespace

bool read_ptx_input(const std::string& path, const std::string& name, Wanted wanted, PtxInput& input) {
  input.path = path;
  Result<std::string> text = read_ptx_module(path, name);
  if (!text) {
    print(text.error().diagnostics);
    return false;
  }
  input.text = std::move(*text);
  Result<ptx::Module> module = ptx::parse_module(input.text, path);
  if (!module) {
    print(module.error().diagnostics, input.text);
    return false;
  }
  input.module = std::move(*module);
  const Status chosen = choose_functions(name, wanted, input);
  if (!chosen) print(chosen.error().diagnostics);
  return chosen.ok();
}

bool parse_body_of(PtxInput& input, ptx::Function& function) {
  const Status parsed = ptx::parse_body(input.module, function, input.path);
  if (!parsed) print(parsed.error().diagnostics, input.text);
  return parsed.ok();
}

std::string readable_name(const ptx::Function& function) { return demangle(function.name); }

std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace lynxpp::cli
