#include "tests/cod/test_support.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>

#include "support/text.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp::cod {
namespace {

std::string ptxas_path() {
  for (const char* path : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return {};
}

/// "instruction_is_4194304": the filters that a routine tests.
std::set<std::string> filters_in(const std::string& routine) {
  std::set<std::string> filters;
  const std::string prefix = std::string(site_prefix) + std::string(name_of(SiteValue::instruction_is)) + "_";
  for (std::size_t at = routine.find(prefix); at != std::string::npos; at = routine.find(prefix, at + 1)) {
    const std::size_t end = routine.find_first_not_of("0123456789", at + prefix.size());
    filters.insert(routine.substr(at, end - at));
  }
  return filters;
}

void declare_registers(std::string& text, const std::string& routine) {
  for (const std::string& filter : filters_in(routine)) text += "  .reg .b32 " + filter + ";\n";

  for (int i = 0; i < 32; ++i) {
    text += "  .reg .b64 " + std::string(word_prefix) + std::to_string(i) + ";\n";
  }
  for (int i = 0; i < 8; ++i) {
    text += "  .reg .b64 " + std::string(memory_prefix) + std::to_string(i) + ";\n";
  }
  for (int i = 0; i <= static_cast<int>(SiteValue::predicate_value); ++i) {
    const auto value = static_cast<SiteValue>(i);
    if (value == SiteValue::instruction_is) continue;
    const std::string name = std::string(is_wide(value) ? ".b64 " : ".b32 ") + std::string(site_prefix) +
                             std::string(name_of(value));
    for (int parameter = 0; parameter < (has_parameter(value) ? 8 : 1); ++parameter)
      text += "  .reg " + name + (has_parameter(value) ? "_" + std::to_string(parameter) : "") + ";\n";
  }
}

/// True if the routine contains a line "mov.b64 …, name;".
bool reads_wide(const std::string& routine, const std::string& name) {
  const std::size_t use = routine.find(", " + name + ";");
  if (use == std::string::npos) return false;
  return routine.compare(routine.rfind("mov.b", use), 7, "mov.b64") == 0;
}

}  // namespace

SpecificationPtr compiled(const std::string& source) {
  auto result = compile(source, "t.cod");
  if (result) return *result;
  ADD_FAILURE() << render(result.error().diagnostics, source);
  return nullptr;
}

std::string errors_of(const std::string& source) {
  const auto result = compile(source, "t.cod");
  return result ? std::string() : render(result.error().diagnostics, source);
}

std::vector<std::string> lowered(const Specification& specification, int sm) {
  std::vector<std::string> routines;
  const auto code = specification.lower_device({sm, true});
  if (!code) {
    ADD_FAILURE() << render(code.error().diagnostics, specification.source());
    return routines;
  }
  EXPECT_EQ(code->handlers.size(), specification.handlers().size());
  for (const HandlerCode& handler : code->handlers) routines.push_back(handler.ptx);
  return routines;
}

std::string wrapped(const std::string& routine, int sm) {
  const std::size_t begin = routine.find('{');
  const std::size_t functions = std::min(routine.find("\n.func", begin), routine.size());
  const std::size_t end = routine.rfind('}', functions);
  std::string text = ".version 7.8\n.target sm_" + std::to_string(sm) + "\n.address_size 64\n" +
                     routine.substr(functions) + "\n.visible .entry wrapped()\n{\n";
  declare_registers(text, routine);
  for (int i = 0; i < 16; ++i) {
    const std::string name = std::string(state_prefix) + std::to_string(i);
    // The width of a state register follows from the moves that use it.
    const bool is_wide =
        routine.find("mov.b64 " + name + ",") != std::string::npos || reads_wide(routine, name);
    text += "  .reg " + std::string(is_wide ? ".b64 " : ".b32 ") + name + ";\n";
  }
  return text + routine.substr(begin, end - begin + 1) + "\n}\n";
}

bool has_ptxas() { return !ptxas_path().empty(); }

std::string ptxas_errors(const std::string& module, int sm) {
  std::string machine_code;
  return assembled(module, sm, machine_code);
}

std::string assembled(const std::string& module, int sm, std::string& machine_code) {
  const TemporaryFolder folder;
  const std::string base = folder.file("module");
  write_file(base + ".ptx", module);
  std::string target = "sm_" + std::to_string(sm);
  if (module.find(".target " + target + "a") != std::string::npos) target += "a";
  const std::string command =
      ptxas_path() + " -arch=" + target + " -o " + base + ".cubin " + base + ".ptx > " + base + ".log 2>&1";
  const bool accepted = std::system(command.c_str()) == 0;
  std::string log;
  read_file(base + ".log", log);
  if (accepted) read_file(base + ".cubin", machine_code);
  return accepted ? std::string() : log + "\n" + module;
}

const Emitted* ReportRun::find(const std::string& name) const {
  for (const Emitted& each : emitted) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

double ReportRun::number(const std::string& name) const {
  const Emitted* found = find(name);
  if (found == nullptr) return std::numeric_limits<double>::quiet_NaN();
  const auto first = [](const auto& values) { return static_cast<double>(values.at(0)); };
  const double number = std::visit(first, found->values);
  return found->denominators ? number / std::visit(first, *found->denominators) : number;
}

ReportRun run_report(const std::string& source, LaunchView launch) {
  ReportRun run;
  const SpecificationPtr specification = compiled(source);
  if (specification == nullptr) return run;
  const auto report = specification->compile_host();
  if (!report) {
    ADD_FAILURE() << render(report.error().diagnostics, source);
    return run;
  }
  launch.emit = [&](Emitted emitted) { run.emitted.push_back(std::move(emitted)); };
  launch.print = [&](std::string_view text) { run.printed += text; };
  const Status status = (*report)->run(launch);
  if (!status) run.failure = render(status.error().diagnostics, source);
  return run;
}

}  // namespace lynxpp::cod
