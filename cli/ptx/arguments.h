// The command lines of `lynxpp instrument` and `lynxpp ptx`.
#pragma once

#include <string>
#include <vector>

#include "ptx/analysis/launch_shape.h"

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

struct InstrumentArguments {
  std::string input;
  std::vector<std::string> specifications;
  std::string kernel;                     ///< empty: every entry
  std::string output;                     ///< empty or "-": standard output
  int sm = 0;                             ///< 0: the module's target
  ptx::LaunchShape launch;                ///< the launch shape to specialize for
  std::string words;                      ///< a word counting scheme
  std::string without;                    ///< engine::Limits::without, separated by commas
  std::vector<std::string> print_before;  ///< names of passes, or "all"
  std::vector<std::string> print_after;
  bool time_passes = false;
};

/// `lynxpp ptx stat`, `cfg`, `annotate` and `perturb`.
struct PtxArguments {
  enum class Command { stat, cfg, annotate, perturb };
  Command command = Command::stat;
  std::string input;
  std::string kernel;                       ///< empty: every entry
  bool dot = false;                         ///< cfg: print Graphviz
  std::vector<std::string> specifications;  ///< annotate
  bool side_by_side = false;                ///< annotate
  std::string perturbation;                 ///< perturb: as in ptx::parse_perturbation()
};

CLI::App* add_instrument(CLI::App& app, InstrumentArguments& arguments);
CLI::App* add_ptx(CLI::App& app, PtxArguments& arguments);

}  // namespace lynxpp::cli
