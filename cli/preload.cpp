#include "cli/preload.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <system_error>

#include "cli/arguments.h"
#include "cli/diagnostics.h"
#include "instrumentors/catalogue.h"

namespace lynxpp::cli {

using instrumentors::LoadedSpecification;

namespace {

std::string joined(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + text;
  return list;
}

}  // namespace

Result<std::string> specification_list(const std::vector<std::string>& specifications) {
  Result<std::vector<LoadedSpecification>> found = instrumentors::parse_list(joined(specifications));
  if (!found) return found.error();
  std::vector<std::string> names;
  for (const LoadedSpecification& specification : *found) {
    std::error_code error;
    if (!specification.is_ready_made && !std::filesystem::is_regular_file(specification.path, error)) {
      return failure("specification '" + specification.path +
                         "' is a pipe, which the program could not read a second time",
                     "save it to a file");
    }
    names.push_back(specification.is_ready_made ? specification.name : absolute_path(specification.path));
    if (names.back().find(',') != std::string::npos) {
      return failure("the path '" + names.back() + "' holds a comma, which separates specifications");
    }
  }
  return joined(names);
}

Status check_filters(const std::string& kernels, const std::string& launches) {
  try {
    const std::regex pattern(kernels, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    return failure("--kernels: '" + kernels + "' is no regular expression: " + error.what());
  }
  static const std::regex ranges(R"(\s*\d+(-\d*)?\s*(,\s*\d+(-\d*)?\s*)*)");
  if (!launches.empty() && !std::regex_match(launches, ranges)) {
    return failure("--launches: '" + launches + "' is no list of launch numbers",
                   "write numbers and ranges such as 0-9,100,200-");
  }
  return success();
}

Result<std::string> preload_library() {
  const std::string path = absolute_path(executable_folder() + "/../lib/liblynxpp.so");
  if (::access(path.c_str(), R_OK) != 0) {
    return failure("cannot find " + path, "bin/lynxpp and lib/liblynxpp.so belong into one folder");
  }
  if (path.find_first_of(": \t") != std::string::npos) {
    return failure("the path " + path + " holds a blank or a colon, which LD_PRELOAD takes for a separator",
                   "install lynxpp in another folder");
  }
  return path;
}

std::string with_other_preloads(const std::string& library) {
  const char* others = std::getenv("LD_PRELOAD");
  const bool has_others = others != nullptr && *others != '\0';
  return has_others ? library + ":" + others : library;
}

int find_or_complain(const std::string& name, ProgramSearch& program) {
  program = find_program(name);
  if (program.outcome == ProgramSearch::Outcome::missing) {
    print_error(name.find('/') == std::string::npos ? "no program '" + name + "' in the folders of PATH"
                                                    : "no program '" + name + "'");
    return exit_not_found;
  }
  if (program.outcome == ProgramSearch::Outcome::not_executable) {
    print_error("'" + program.path + "' is not executable");
    return exit_cannot_execute;
  }
  return exit_success;
}

}  // namespace lynxpp::cli
