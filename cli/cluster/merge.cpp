#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "cli/cluster/arguments.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "report/cluster/merge.h"

namespace lynxpp::cli {
namespace {

/// True if both paths exist and name the same file.
bool are_same(const std::string& a, const std::string& b) {
  struct stat left = {}, right = {};
  return stat(a.c_str(), &left) == 0 && stat(b.c_str(), &right) == 0 && S_ISREG(left.st_mode) &&
         left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

struct Close {
  void operator()(std::FILE* file) const {
    if (file != stdout) std::fclose(file);
  }
};

}  // namespace

int merge(const MergeArguments& arguments) {
  const bool to_file = !arguments.output.empty() && arguments.output != "-";
  for (const std::string& path : arguments.files) {
    if (!to_file || !are_same(path, arguments.output)) continue;
    print_error(path + " is both an input and the output", "choose another file with -o");
    return exit_input_error;
  }
  const std::unique_ptr<std::FILE, Close> output(to_file ? std::fopen(arguments.output.c_str(), "we")
                                                         : stdout);
  if (output == nullptr) {
    print_error("cannot write " + arguments.output);
    return exit_input_error;
  }
  bool is_written = true;
  report::Merger merger([&](std::string_view line) {
    is_written = is_written && std::fwrite(line.data(), 1, line.size(), output.get()) == line.size();
  });
  bool is_good = true;
  for (const std::string& path : arguments.files) {
    Diagnostics problems;
    const Status added = merger.add(path, problems);
    print(problems);
    if (!added) print(added.error().diagnostics);
    is_good = is_good && added.ok();
    if (!is_written) break;
  }
  if (std::fflush(output.get()) != 0 || !is_written) {
    print_error("cannot write " + (to_file ? arguments.output : "the records"));
    return exit_input_error;
  }
  return is_good ? exit_success : exit_input_error;
}

}  // namespace lynxpp::cli
