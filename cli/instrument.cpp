#include "engine/instrument.h"
#include "cli/exit_code.h"
#include "cli/ptx/arguments.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/preload.h"
#include "cli/progress/progress.h"
#include "cli/ptx/passes.h"
#include "cli/ptx/program_ptx.h"
#include "cli/texts/texts.h"
#include "instrumentors/catalogue.h"
#include "instrumentors/gmprof/schemes.h"
#include "ptx/parser/parser.h"
#include "ptx/passes/counting/refinements.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

constexpr std::string_view extension = ".ptx";
constexpr const char* standard_output = "-";

struct LoadedSpecifications {
  std::vector<engine::SpecificationPtr> compiled;
  std::vector<instrumentors::LoadedSpecification> texts;  ///< same order
};

/// Compiles every specification; prints the errors of all.
bool load_specifications(const std::vector<std::string>& names, LoadedSpecifications& loaded,
                         int& exit_code) {
  const Result<std::vector<std::string>> entries = with_texts(names, {});
  if (!entries) {
    print(entries.error().diagnostics);
    exit_code = exit_usage_error;
    return false;
  }
  std::string list;
  for (const std::string& name : *entries) list += (list.empty() ? "" : ",") + name;
  auto found = instrumentors::parse_list(list, instrumentors::Pipes::read);
  if (!found) {
    print(found.error().diagnostics);
    exit_code = exit_usage_error;
    return false;
  }
  loaded.texts = std::move(*found);
  for (const instrumentors::LoadedSpecification& text : loaded.texts) {
    Diagnostics warnings;
    auto specification = cod::compile(text.source, text.path, &warnings);
    print(warnings, text.source);
    if (specification) {
      loaded.compiled.push_back(std::move(*specification));
    } else {
      print(specification.error().diagnostics, text.source);
      exit_code = exit_input_error;
    }
  }
  return loaded.compiled.size() == loaded.texts.size();
}

/// Returns "first, second, third, …". Each pair is two spellings; the second is the readable one.
std::string first_demangled(const std::vector<std::string>& spellings) {
  constexpr std::size_t shown = 5;
  std::string text;
  for (std::size_t i = 1; i < spellings.size(); i += 2) {
    if (i / 2 == shown) return text + " and " + std::to_string(spellings.size() / 2 - shown) + " more";
    text += (text.empty() ? "" : ", ") + spellings[i];
  }
  return text;
}

/// Returns the kernels to instrument: all that the module defines, or the one named (mangled, demangled, or
/// without its parameter list).
Result<std::vector<std::string>> choose_kernels(const ptx::Module& module,
                                                const InstrumentArguments& arguments) {
  std::vector<std::string> kernels;
  std::vector<std::string> spellings;
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry || function.is_declaration()) continue;
    const std::string demangled = demangle(function.name);
    const std::string plain = demangled.substr(0, demangled.find('('));
    const bool is_named =
        arguments.kernel == function.name || arguments.kernel == demangled || arguments.kernel == plain;
    if (arguments.kernel.empty() || is_named) kernels.push_back(function.name);
    spellings.insert(spellings.end(), {function.name, plain});
  }
  if (!kernels.empty()) return kernels;
  if (arguments.kernel.empty()) return failure(arguments.input + " defines no kernel");
  const std::string close = closest_match(arguments.kernel, spellings);
  const std::string message = arguments.input + " defines no kernel '" + arguments.kernel + "'";
  if (!close.empty()) return failure(message, "did you mean '" + close + "'?");
  return failure(message,
                 spellings.empty() ? "it defines no kernel" : "it defines " + first_demangled(spellings));
}

/// Maps "out.ptx" to "out-KERNEL.ptx". File systems limit names to 255 bytes; longer names are cut and end in
/// a hash.
std::string path_for_kernel(std::string path, const std::string& kernel) {
  constexpr std::size_t longest = 180;
  const bool has_extension = path.ends_with(extension);
  if (has_extension) path.erase(path.size() - extension.size());
  path += "-" + kernel.substr(0, longest);
  if (kernel.size() > longest) {
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (const char byte : kernel) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
    path += std::string("-") + digits;
  }
  return has_extension ? path + std::string(extension) : path;
}

bool write_result(const std::string& path, const std::string& ptx) {
  if (path != standard_output) {
    if (write_file(path, ptx)) return true;
  } else if (std::fwrite(ptx.data(), 1, ptx.size(), stdout) == ptx.size() && std::fflush(stdout) == 0) {
    return true;
  }
  print_error("cannot write " + (path == standard_output ? std::string("to standard output") : path));
  return false;
}

/// Handlers of the user's own specifications that match no site in any kernel. Bundled specifications are not
/// checked: they are written for all kernels, and most of their handlers match nothing in most kernels.
class UnmatchedHandlers {
 public:
  explicit UnmatchedHandlers(const LoadedSpecifications& specifications) : specifications_(specifications) {}

  void add(const engine::Instrumented& result) {
    sites_.resize(std::max(sites_.size(), result.sites_per_handler.size()));
    for (std::size_t i = 0; i < result.sites_per_handler.size(); ++i)
      sites_[i] += result.sites_per_handler[i];
    kernels_.push_back(demangle(result.kernel));
  }

  void print_warnings() const {
    if (kernels_.empty()) return;
    const std::string where =
        kernels_.size() == 1 ? kernels_.front() : "the " + std::to_string(kernels_.size()) + " kernels";
    std::size_t next = 0;
    for (std::size_t i = 0; i < specifications_.compiled.size(); ++i) {
      for (const cod::Handler& handler : specifications_.compiled[i]->handlers()) {
        const bool is_matched = next >= sites_.size() || sites_[next] != 0;
        ++next;
        if (is_matched || specifications_.texts[i].is_ready_made) continue;
        print({{Severity::warning, handler.location, "nothing in " + where + " matches this target",
                "the handler never runs there"}},
              specifications_.texts[i].source);
      }
    }
  }

 private:
  const LoadedSpecifications& specifications_;
  std::vector<std::uint64_t> sites_;  ///< per handler, over all kernels
  std::vector<std::string> kernels_;
};

/// Prints which parts of the specifications the engine could not cover.
void print_notes(const engine::Instrumented& result) {
  for (const std::string& note : result.notes)
    print({{Severity::note, {}, demangle(result.kernel) + ": " + note, ""}});
}

void print_summary(const engine::Instrumented& result, const std::string& path) {
  std::uint64_t sites = 0;
  for (const std::uint64_t count : result.sites_per_handler) sites += count;
  const auto counted = [](std::uint64_t count, const char* noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
  };
  const std::string where = path == standard_output ? "" : path + ": ";
  std::string registers;
  if (result.size.registers) {
    registers = ", live registers " + std::to_string(result.size.registers->original) + " to " +
                std::to_string(result.size.registers->instrumented) + " (estimate)";
  }
  std::fprintf(stderr, "%s%s: %s, %s, %s%s, %.1f ms\n", where.c_str(), demangle(result.kernel).c_str(),
               counted(result.size.instructions, "instruction").c_str(),
               counted(result.size.basic_blocks, "basic block").c_str(), counted(sites, "site").c_str(),
               registers.c_str(), result.spent.parse_ms + result.spent.instrument_ms + result.spent.emit_ms);
}

/// Prints the engine's diagnostics under the name of the input, since the engine parses the text under a name
/// of its own.
void print_engine_failure(Diagnostics diagnostics, const std::string& input, const std::string& ptx) {
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.location.file != "<ptx>") continue;
    diagnostic.location.file = input;
    print({diagnostic}, ptx);
    diagnostic.location.line = 0;
    diagnostic.message.clear();
  }
  std::erase_if(diagnostics, [](const Diagnostic& diagnostic) { return diagnostic.message.empty(); });
  print(diagnostics);
}

}  // namespace

/// Returns an exit code if one of `names` is not a refinement; nullopt if all are valid.
std::optional<int> check_refinements(const std::string& names) {
  if (names == "list") {
    for (const ptx::RefinementDescription& each : ptx::refinement_table())
      std::printf("%-22s %s\n", std::string(each.name).c_str(), std::string(each.summary).c_str());
    return 0;
  }
  for (const std::string& name : engine::names_in(names)) {
    if (ptx::refinement_named(name)) continue;
    std::fprintf(stderr, "error: unknown refinement '%s'\n  hint: `--without list` prints the names\n",
                 name.c_str());
    return 2;
  }
  return std::nullopt;
}

int instrument(const InstrumentArguments& arguments) {
  if (const std::optional<int> status = check_refinements(arguments.without)) return *status;
  const Option words = option_or_variable(arguments.words, "--words", "LYNXPP_WORDS");
  const Result<cod::WordScheme> scheme = gmprof::parse_schemes(words.text, words.option);
  if (!scheme) return print(scheme.error().diagnostics), exit_usage_error;
  if (!are_passes(arguments.print_before) || !are_passes(arguments.print_after)) return exit_usage_error;
  LoadedSpecifications specifications;
  int exit_code = exit_success;
  if (!load_specifications(arguments.specifications, specifications, exit_code)) return exit_code;

  const Result<std::string> ptx =
      read_ptx_module(arguments.input, arguments.kernel, static_cast<int>(arguments.sm));
  if (!ptx) return print(ptx.error().diagnostics), exit_input_error;
  const Result<ptx::Module> module = ptx::parse_module(*ptx, arguments.input);
  if (!module) return print(module.error().diagnostics, *ptx), exit_input_error;
  const Result<std::vector<std::string>> kernels = choose_kernels(*module, arguments);
  if (!kernels) return print(kernels.error().diagnostics), exit_input_error;

  const std::string output = arguments.output.empty() ? standard_output : arguments.output;
  if (kernels->size() > 1 && output == standard_output) {
    print_error(arguments.input + " defines " + std::to_string(kernels->size()) +
                    " kernels, and each becomes a separate module",
                "choose one with -k, or use -o out.ptx to write out-KERNEL.ptx for each");
    return exit_usage_error;
  }
  Progress progress;
  UnmatchedHandlers unmatched(specifications);
  for (const std::string& kernel : *kernels) {
    const std::size_t number = static_cast<std::size_t>(&kernel - kernels->data()) + 1;
    progress.show("kernel " + std::to_string(number) + " of " + std::to_string(kernels->size()) + ": " +
                  demangle(kernel));
    engine::Request request;
    request.ptx = &*ptx;
    request.kernel = kernel;
    request.specifications = specifications.compiled;
    request.device_sm = arguments.sm;
    request.launch = arguments.launch;
    request.words.scheme = *scheme;
    request.limits.without.merge(engine::refinements_in(arguments.without));
    request.launch.has_full_warps |= request.launch.has_whole_rows;
    request.inspection.observer = printing_observer(arguments);
    request.inspection.wants_registers = true;
    const Result<engine::Instrumented> result = engine::instrument(request);
    progress.clear();
    if (!result) {
      print_error("cannot instrument " + demangle(kernel));
      print_engine_failure(result.error().diagnostics, arguments.input, *ptx);
      exit_code = exit_input_error;
      continue;
    }
    const std::string path = kernels->size() > 1 ? path_for_kernel(output, kernel) : output;
    if (!write_result(path, result->ptx)) return exit_input_error;
    unmatched.add(*result);
    print_notes(*result);
    if (arguments.time_passes) print_pass_timings(*result);
    print_summary(*result, path);
  }
  unmatched.print_warnings();
  return exit_code;
}

}  // namespace lynxpp::cli
