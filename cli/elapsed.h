#pragma once

#include <string>
#include <vector>

#include "cli/run_arguments.h"

namespace lynxpp::cli {

/// `lynxpp bench --elapsed`: runs the program at `path` without lynxpp and with each of `lists`, in turn, as
/// `lynxpp run` starts it, and prints wall and processor times. `lists` has a list of specifications for each
/// of the arguments' settings; `library` is the preload library. Returns the exit code.
int bench_elapsed(const std::string& path, const BenchArguments& arguments,
                  const std::vector<std::string>& lists, const std::string& library);

}  // namespace lynxpp::cli
