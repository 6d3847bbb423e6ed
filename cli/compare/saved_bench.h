// Compares the results of `lynxpp bench` with saved ones.
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

/// Fails if the file cannot be read or was not written by `lynxpp bench --output`.
Result<SavedBench> read_saved_bench(const std::string& path);

/// Returns the kernels' saved and current ratios, largest change first, in lines of at most `width`
/// characters.
std::string compared_text(const SavedBench& before, const report::Overhead& now, std::size_t width);

}  // namespace lynxpp::cli
