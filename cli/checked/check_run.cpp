#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/checked/arguments.h"
#include "cli/checked/findings_file.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "image/compiler_caches.h"
#include "support/json.h"
#include "support/output_file.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

Status check_names(const std::string& checks) {
  static constexpr std::string_view known[] = {"memory", "race", "init", "sync", "leak"};
  for (const std::string& part : split(checks, ',')) {
    if (std::ranges::find(known, trim(part)) == std::end(known))
      return failure("unknown check '" + part + "'", "the checks are memory, race, init, sync and leak");
  }
  return success();
}

Status prepare_environment_of_checks(const CheckRunArguments& arguments, const std::string& output) {
  const Result<std::string> library = preload_library();
  if (!library) return library.error();
  ::setenv("LYNXPP_CPU_CHECK_OUTPUT", output.c_str(), 1);
  ::setenv("LYNXPP_CPU_CHECK", arguments.checks.c_str(), 1);
  ::setenv("LYNXPP_CPU_CHECK_SCHEDULES", std::to_string(arguments.schedules).c_str(), 1);
  ::unsetenv("LYNXPP_CPU_CHECK_SEED");
  if (arguments.seed != 0) ::setenv("LYNXPP_CPU_CHECK_SEED", std::to_string(arguments.seed).c_str(), 1);
  ::setenv("LYNXPP_DEVICE", "cpu", 1);
  ::setenv("LD_PRELOAD", with_other_preloads(*library).c_str(), 1);
  for (const auto& [variable, folder] : image::moved_compiler_caches())
    ::setenv(variable.c_str(), folder.c_str(), 1);
  add_cpu_driver_path("cpu");
  return success();
}

/// True for a pipe or a terminal.
bool cannot_be_read_again(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
}

/// Returns the objects that the program's processes have written.
std::vector<nlohmann::ordered_json> read_objects(const std::string& output) {
  std::vector<nlohmann::ordered_json> objects;
  std::string lines;
  read_file(output, lines);
  for (const std::string& line : split(lines, '\n')) {
    Result<nlohmann::ordered_json> object = parse_json<nlohmann::ordered_json>(line, {output, 1, 1, 1});
    if (object && object->is_object()) objects.push_back(std::move(*object));
  }
  return objects;
}

/// True if a process of the program has found something.
bool has_findings(const std::vector<nlohmann::ordered_json>& objects) {
  return std::ranges::any_of(objects, [](const nlohmann::ordered_json& each) {
    const auto findings = each.find("findings");
    return findings != each.end() && findings->is_number() && *findings != 0;
  });
}

/// Returns the contents of the output file in the format that the user wants. `lines`: JSON Lines.
std::string in_format(const std::string& format, const CheckedProgram& program, std::string lines) {
  if (format == "text") return findings_text(program);
  return format == "sarif" ? sarif_log(program) : std::move(lines);
}

}  // namespace

int check_run(const CheckRunArguments& arguments) {
  Status valid = check_names(arguments.checks);
  if (valid && arguments.output.empty() && arguments.format == "sarif")
    valid = failure("--format sarif needs a file", "add '-o findings.sarif'");
  if (!valid) {
    print(valid.error().diagnostics);
    return exit_usage_error;
  }
  ProgramSearch program;
  if (const int problem = find_or_report(arguments.command.front(), program); problem != exit_success)
    return problem;
  const WorkFolder folder;
  if (!folder.exists()) {
    print_error("cannot create a temporary folder");
    return exit_input_error;
  }
  const std::string wanted = arguments.output.empty() ? "" : absolute_path(arguments.output);
  const bool is_passed_on = !wanted.empty() && (arguments.format != "json" || cannot_be_read_again(wanted));
  const std::string output = wanted.empty() || is_passed_on ? folder.file("findings.jsonl") : wanted;
  Status prepared = wanted.empty() ? success() : begin_output(wanted);
  if (prepared) prepared = prepare_environment_of_checks(arguments, output);
  if (!prepared) {
    print(prepared.error().diagnostics);
    return exit_usage_error;
  }
  if (const std::string obstacle = preload_obstacle(program.path); !obstacle.empty())
    print_warning("'" + program.path + "' " + obstacle + "; nothing will be checked");
  const int exit_code = run_in_terminal(program.path, arguments.command);
  std::string lines;
  const bool has_checked = read_file(output, lines) && !lines.empty();
  const CheckedProgram checked{.objects = read_objects(output),
                               .file = program.path,
                               .folder = absolute_path("."),
                               .exit_code = exit_code,
                               .has_checked = has_checked};
  if (is_passed_on) {
    const std::string contents = in_format(arguments.format, checked, std::move(lines));
    if (const Status passed = append_to_output(wanted, contents); !passed) print(passed.error().diagnostics);
  }
  if (!has_checked && exit_code > exit_of_signal) {
    print_warning("signal " + std::to_string(exit_code - exit_of_signal) +
                  " ended the program before its findings were reported");
  } else if (!has_checked) {
    print_warning("the program launched no kernel on the cpu device; nothing was checked");
  }
  if (arguments.error_exit != 0 && has_findings(checked.objects)) return arguments.error_exit;
  return !has_checked && exit_code == exit_success ? exit_nothing_measured : exit_code;
}

}  // namespace lynxpp::cli
