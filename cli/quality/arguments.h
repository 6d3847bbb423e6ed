// The command line of `lynxpp quality`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// `lynxpp quality`.
struct QualityArguments {
  std::string kernels;
  std::string launches;
  std::string device;
  std::string weights;              ///< a file or "paper"; empty: the device's, else the paper's
  std::string machine;              ///< machine of the modelled clock on the cpu device; empty: the default
  std::vector<std::string> ranges;  ///< ranges to show; empty: everything
  std::string functions;            ///< separated by commas: launches called from them form ranges, too
  std::uint64_t problem_bytes = 0;  ///< 0: computed from the launches' arrays
  bool inputs = false;              ///< show the raw inputs
  bool json = false;
  bool fit = false;                  ///< fit weights to the ranges PRIMITIVE/IMPLEMENTATION
  std::string output;                ///< a file for the fitted weights; empty: in the user's data folder
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

CLI::App* add_quality(CLI::App& app, QualityArguments& arguments);

}  // namespace lynxpp::cli
