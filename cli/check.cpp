#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/specification_arguments.h"
#include "cli/texts/texts.h"
#include "cod/specification.h"
#include "instrumentors/catalogue.h"

namespace lynxpp::cli {
namespace {

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string summary(const cod::Specification& specification, const cod::DeviceCode& code) {
  std::string text = "ok, " + counted(specification.handlers().size(), "handler") + ", " +
                     counted(specification.arrays().size(), "array") + ", " +
                     counted(specification.state().size(), "per-thread variable");
  if (code.minimum_sm != 0) text += ", code for sm_" + std::to_string(code.minimum_sm) + " and newer";
  return text;
}

void print_ptx(const cod::Specification& specification, const cod::DeviceCode& code) {
  for (std::size_t i = 0; i < code.handlers.size(); ++i) {
    const cod::Handler& handler = specification.handlers()[i];
    const std::string origin = handler.is_initializer
                                   ? "initial values"
                                   : std::string(cod::name_of(handler.target)) +
                                         (" of line " + std::to_string(handler.location.line));
    const std::string ptx = handler.is_counted
                                ? "// no code at its sites: counted on few edges of the control flow\n"
                                : code.handlers[i].ptx;
    const std::string text = "// " + specification.name() + ": " + origin + "\n" + ptx + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

/// Compiles both halves as a launch would. If there are errors, prints them on stderr and returns false.
bool check_one(const instrumentors::LoadedSpecification& file, const CheckArguments& arguments) {
  Diagnostics warnings;
  const auto specification = cod::compile(file.source, file.path, &warnings);
  print(warnings, file.source);
  if (!specification) {
    print(specification.error().diagnostics, file.source);
    return false;
  }
  const Result<cod::DeviceCode> code = (*specification)->lower_device({arguments.sm});
  if (!code) {
    print(code.error().diagnostics, file.source);
    return false;
  }
  if (const auto host = (*specification)->compile_host(); !host) {
    print(host.error().diagnostics, file.source);
    return false;
  }
  if (arguments.emit_ptx) {
    print_ptx(**specification, *code);
  } else {
    const std::string line = file.path + ": " + summary(**specification, *code) + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
  return true;
}

}  // namespace

int check(const CheckArguments& arguments) {
  if (!arguments.explain.empty()) return explain(arguments);
  if (arguments.json || !arguments.kernel.empty()) {
    print_error("--json and --kernel require --explain FILE.ptx");
    return exit_usage_error;
  }
  bool is_good = true;
  const Result<std::vector<std::string>> names = with_texts(arguments.files, arguments.one_liners);
  if (!names) {
    print(names.error().diagnostics);
    return exit_input_error;
  }
  for (const std::string& name : *names) {
    const auto file = instrumentors::find_specification(name);
    if (!file) {
      print(file.error().diagnostics);
      is_good = false;
      continue;
    }
    is_good &= check_one(*file, arguments);
  }
  return is_good ? exit_success : exit_input_error;
}

}  // namespace lynxpp::cli
