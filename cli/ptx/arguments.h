// The command lines of `lynxpp ptx instrument` and `lynxpp ptx`.
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

/// How `lynxpp ptx run` launches a kernel. The texts are read by the module lynxpp.ptx_run of the Python
/// package.
struct PtxLaunch {
  std::string grid;
  std::string block;    ///< empty: the size that the kernel requires
  std::string cluster;  ///< empty: none, or those that the kernel requires
  std::string device = "cpu";
  std::vector<std::string> values;
  std::vector<std::string> expected;
  std::vector<std::string> printed;
  std::vector<std::string> outputs;
  std::string tolerance = "0";
  std::string timeout;  ///< in seconds; empty: none
  std::string records;  ///< a file; empty: records are only shown
  std::string python = "python3";
  unsigned shared_bytes = 0;
  unsigned seed = 0;
  bool check = false;
};

/// `lynxpp ptx stat`, `cfg`, `annotate`, `perturb` and `run`.
struct PtxArguments {
  enum class Command { stat, cfg, annotate, perturb, run };
  Command command = Command::stat;
  std::string input;
  std::string kernel;                       ///< empty: every entry
  bool dot = false;                         ///< cfg: print Graphviz
  std::vector<std::string> specifications;  ///< annotate, run
  bool side_by_side = false;                ///< annotate
  std::string perturbation;                 ///< perturb: as in ptx::parse_perturbation()
  PtxLaunch launch;                         ///< run
};

CLI::App* add_instrument(CLI::App& app, InstrumentArguments& arguments);
CLI::App* add_ptx(CLI::App& app, PtxArguments& arguments);

}  // namespace lynxpp::cli
