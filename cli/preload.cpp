#include "cli/preload.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cod/specification.h"
#include "instrumentors/catalogue.h"
#include "support/launch_filter.h"
#include "support/name_pattern.h"

namespace lynxpp::cli {

using instrumentors::LoadedSpecification;

namespace {

std::string joined(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + text;
  return list;
}

/// True if a GPU's driver can be opened. It is not closed: the driver does not support unloading, and this
/// process is replaced soon.
bool opens_driver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return library != nullptr && ::dlsym(library, "lynxpp_stands_in_for_driver") == nullptr;
}

bool has_gpu() {
  const auto exists = [](const char* path) { return ::access(path, F_OK) == 0; };
  return (exists("/dev/nvidiactl") || exists("/dev/nvidia0") || exists("/dev/dxg")) && opens_driver();
}

/// Returns the folders, each after a colon, of stand-ins for the versions of CUDA's runtime library that the
/// dynamic linker does not find. They come last, so that it finds a library of the program's own first.
std::string missing_runtimes(const std::string& folder) {
  std::string folders;
  for (const std::string version : {"12", "13"}) {
    const std::string name = "libcudart.so." + version, stand_in = folder + "/runtime-" + version;
    const bool is_missing = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr;
    if (is_missing && ::access((stand_in + "/" + name).c_str(), R_OK) == 0) folders += ":" + stand_in;
  }
  return folders;
}

/// Returns `first`, followed by the current value of a variable that holds a list.
std::string before_value_of(const char* variable, const std::string& first) {
  const char* const others = std::getenv(variable);
  const bool has_others = others != nullptr && *others != '\0';
  return has_others ? first + ":" + others : first;
}

}  // namespace

Result<std::string> specification_list(const std::vector<std::string>& specifications) {
  Result<std::vector<LoadedSpecification>> found = instrumentors::parse_list(joined(specifications));
  if (!found) return found.error();
  std::vector<std::string> names;
  for (const LoadedSpecification& specification : *found) {
    if (specification.is_text) {
      names.push_back(instrumentors::text_entry(specification.name, specification.source));
      continue;
    }
    names.push_back(specification.is_ready_made ? specification.name : absolute_path(specification.path));
    if (names.back().find(',') != std::string::npos) {
      return failure("the path '" + names.back() + "' contains a comma, which separates specifications");
    }
  }
  return joined(names);
}

bool compiles(const std::string& list) {
  const Result<std::vector<LoadedSpecification>> found = instrumentors::parse_list(list);
  if (!found) {
    print(found.error().diagnostics);
    return false;
  }
  bool all = true;
  for (const LoadedSpecification& each : *found) {
    if (each.is_ready_made) continue;  // without errors, and the program compiles them again
    const auto complain = [&](const Failure& problem) {
      print(problem.diagnostics, each.source);
      all = false;
    };
    const auto specification = cod::compile(each.source, each.path);
    if (!specification) {
      complain(specification.error());
    } else if (const auto host = (*specification)->compile_host(); !host) {
      complain(host.error());
    }
  }
  return all;
}

Status check_filters(const Filters& filters) {
  if (Result<NamePattern> kernels = NamePattern::parse(filters.kernels.text); !kernels) {
    kernels.error().diagnostics.front().message.insert(0, filters.kernels.option + ": ");
    return std::move(kernels.error());
  }
  const auto launches = LaunchFilter::parse(filters.launches.text, filters.launches.option);
  return launches ? success() : Status(launches.error());
}

Option option_or_variable(const std::string& value, const char* option, const char* variable) {
  if (!value.empty()) return {option, value};
  const char* inherited = std::getenv(variable);
  return {variable, inherited != nullptr ? inherited : ""};
}

Status check_device(const std::string& device) {
  if (device != "cuda") return success();
  if (opens_driver()) return success();
  return failure("there is no NVIDIA driver (libcuda.so.1) on this machine",
                 "use -d cpu to run the kernels on the built-in device");
}

Result<std::string> preload_library() {
  const std::string path = absolute_path(executable_folder() + "/../lib/liblynxpp.so");
  if (::access(path.c_str(), R_OK) != 0) {
    return failure("cannot find " + path,
                   "bin/lynxpp and lib/liblynxpp.so must be in one installation folder");
  }
  if (path.find_first_of(":;") != std::string::npos) {
    return failure(
        "the path " + path + " contains a colon or semicolon, which separate folders in LD_LIBRARY_PATH",
        "install lynxpp in another folder");
  }
  // Blanks separate files in LD_PRELOAD, but not folders in LD_LIBRARY_PATH, where names without a slash are
  // searched for.
  if (path.find(' ') == std::string::npos) return path;
  const std::filesystem::path library = path;
  ::setenv("LD_LIBRARY_PATH", before_value_of("LD_LIBRARY_PATH", library.parent_path()).c_str(), 1);
  return library.filename().string();
}

std::string library_path_for(const std::string& device) {
  if (device == "cuda" || (device != "cpu" && has_gpu())) return {};
  const std::string folder = absolute_path(executable_folder() + "/../lib/cpu-driver");
  if (::access((folder + "/libcuda.so.1").c_str(), R_OK) != 0) return {};
  return before_value_of("LD_LIBRARY_PATH", folder) + missing_runtimes(folder);
}

void add_cpu_driver_path(const std::string& device) {
  if (const std::string path = library_path_for(device); !path.empty())
    ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
}

std::string with_other_preloads(const std::string& library) { return before_value_of("LD_PRELOAD", library); }

int find_or_report(const std::string& name, ProgramSearch& program, const std::string& hint) {
  program = find_program(name);
  if (program.outcome == ProgramSearch::Outcome::missing) {
    print_error(name.find('/') == std::string::npos ? "no program '" + name + "' in the folders of PATH"
                                                    : "no program '" + name + "'",
                hint);
    return exit_not_found;
  }
  if (program.outcome == ProgramSearch::Outcome::not_executable) {
    print_error("'" + program.path + "' is not executable");
    return exit_cannot_execute;
  }
  return exit_success;
}

}  // namespace lynxpp::cli
