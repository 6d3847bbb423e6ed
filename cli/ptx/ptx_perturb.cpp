// `lynxpp ptx perturb`: prints the variant of a kernel that repeats a class of operations.
#include <cstdio>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/ptx/arguments.h"
#include "cli/ptx/ptx_input.h"
#include "engine/instrument.h"

namespace lynxpp::cli {
namespace {

/// Prints a line for each selected instruction that has a note or is left out, and the number of all, on
/// stderr.
void print_sites(const std::string& kernel, const std::vector<ptx::PerturbedSite>& sites) {
  std::size_t perturbed = 0;
  for (const ptx::PerturbedSite& site : sites) {
    perturbed += site.is_perturbed ? 1 : 0;
    if (site.note.empty()) continue;
    std::fprintf(stderr, "  line %u: %s: %s%s\n", site.ptx_line, site.opcode.c_str(),
                 site.is_perturbed ? "" : "left out: ", site.note.c_str());
  }
  std::fprintf(stderr, "%s: %zu of %s perturbed\n", kernel.c_str(), perturbed,
               counted(sites.size(), "site").c_str());
}

}  // namespace

int ptx_perturb(const PtxArguments& arguments) {
  const Result<ptx::Perturbation> perturbation = ptx::parse_perturbation(arguments.perturbation);
  if (!perturbation) return print(perturbation.error().diagnostics), exit_usage_error;
  PtxInput input;
  if (!read_ptx_input(arguments.input, arguments.kernel, Wanted::kernels, input)) return exit_input_error;
  int exit_code = exit_success;
  for (const std::string& kernel : input.functions) {
    engine::Request request;
    request.ptx = &input.text;
    request.kernel = kernel;
    request.perturbation = *perturbation;
    const Result<engine::Instrumented> result = engine::instrument(request);
    if (!result) {
      print(result.error().diagnostics, input.text);
      exit_code = exit_input_error;
      continue;
    }
    std::fwrite(result->ptx.data(), 1, result->ptx.size(), stdout);
    print_sites(readable_name(*input.module.find_function(kernel)), result->perturbed);
    for (const std::string& note : result->notes) print({{Severity::note, {}, note, ""}});
  }
  return exit_code;
}

}  // namespace lynxpp::cli
