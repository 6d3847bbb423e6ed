// What `lynxpp bench` has saved, beside what it measures now.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "report/overhead/overhead.h"
#include "support/result.h"

namespace lynxpp::cli {

struct SavedBench {
  std::string path;
  std::string device;
  std::map<std::pair<std::string, std::string>, double> ratios;  ///< by specifications and mangled kernel
  std::map<std::string, double> geometric_means;                 ///< by specifications
};

/// Failure: it cannot be read, or is not what `lynxpp bench --output` wrote.
Result<SavedBench> read_saved_bench(const std::string& path);

/// The kernels' ratios then and now, those that changed most first, in lines of at most `width` characters.
std::string compared_text(const SavedBench& before, const report::Overhead& now, std::size_t width);

}  // namespace lynxpp::cli
