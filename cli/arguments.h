// The command line of `lynxpp`, as data. Only arguments.cpp depends on the parsing library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ptx/analysis/launch_shape.h"

namespace lynxpp::cli {

/// Exit codes of lynxpp itself; otherwise `lynxpp run` exits with the program's code.
enum ExitCode {
  exit_success = 0,
  exit_input_error = 1,       ///< a specification or PTX file has errors
  exit_usage_error = 2,       ///< invalid command line or unknown specification
  exit_nothing_measured = 3,  ///< the program exited with status 0, and nothing was measured or checked
  exit_cannot_execute = 126,  ///< the program of `run` exists but cannot be executed
  exit_not_found = 127,       ///< the program of `run` does not exist
};

struct RunArguments {
  std::vector<std::string> specifications;  ///< each a name, a path, "-", or several separated by commas
  std::vector<std::string> one_liners;      ///< specification texts
  std::string kernels;
  std::string launches;
  std::string output;
  std::string device;
  std::string dump;
  std::string trace;  ///< a folder for trace entries; empty: none
  std::string words;  ///< a word counting scheme (cod/word_scheme.h)
  std::string start;  ///< when measuring starts (support/start_condition.h)
  bool timing = false;
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

/// `lynxpp record`.
struct RecordArguments {
  RunArguments run;  ///< defaults: the usual specifications, and an output file named after the program
};

/// `lynxpp check-run`.
struct CheckRunArguments {
  std::string checks = "memory,race,init,sync";
  std::string output;                ///< a file for JSON Lines; empty: none
  int error_exit = 0;                ///< the exit code if something is found; 0: the program's
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

/// `lynxpp bench`.
struct BenchArguments {
  std::vector<std::string> settings;  ///< each a list of specifications that are measured together; not empty
  std::string kernels;
  std::string launches;
  std::string device;
  std::string output;    ///< a file for JSON; empty: none
  std::string compare;   ///< a JSON file of an earlier run; empty: none
  bool elapsed = false;  ///< measure whole programs instead of kernels
  int rounds = 5;
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

/// `lynxpp characterize`.
struct CharacterizeArguments {
  std::vector<std::string> programs;  ///< each a program and its arguments in one string
  std::string list;                   ///< a file with more programs, one per line; empty: none
  std::string kernels;
  std::string launches;
  std::string device;
  std::string csv;                   ///< a file; empty: none
  std::string svg;                   ///< a file; empty: none
  std::vector<std::string> command;  ///< another program and its arguments; may be empty
};

/// `lynxpp report`.
struct ReportArguments {
  std::vector<std::string> files;
  std::string format = "table";
  std::string output;      ///< empty or "-": standard output
  std::string by;          ///< "rank", "host", "process", "device"; empty: all combined
  int width = 0;           ///< columns of the table; 0: the terminal's width
  bool all = false;        ///< table: show every row, element and site
  bool no_source = false;  ///< page: omit the text of source files
};

/// `lynxpp merge`.
struct MergeArguments {
  std::vector<std::string> files;
  std::string output;  ///< empty or "-": standard output
};

/// `lynxpp trace`.
struct TraceArguments {
  std::vector<std::string> paths;  ///< folders, or files in them
  std::string trace;               ///< the trace's name; empty: all
  std::string kernels;
  std::string launches;
  std::string format = "csv";
  bool list = false;
};

/// `lynxpp diff`.
struct DiffArguments {
  std::string a;  ///< record files
  std::string b;
  std::optional<std::size_t> top;  ///< rows of each list; 0: all; nullopt: the format's default
  bool json = false;
};

struct CheckArguments {
  std::vector<std::string> files;       ///< "-": standard input
  std::vector<std::string> one_liners;  ///< specification texts
  bool emit_ptx = false;
  std::string explain;  ///< a PTX file: show the sites of the handlers in it
  std::string kernel;   ///< explain: mangled, demangled or plain name; empty: every entry
  bool json = false;    ///< explain
  int sm = 90;
};

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

/// `lynxpp ptx stat`, `cfg` and `annotate`.
struct PtxArguments {
  enum class Command { stat, cfg, annotate };
  Command command = Command::stat;
  std::string input;
  std::string kernel;                       ///< empty: every entry
  bool dot = false;                         ///< cfg: print Graphviz
  std::vector<std::string> specifications;  ///< annotate
  bool side_by_side = false;                ///< annotate
};

/// Options for observing a program with `lynxpp advise`.
struct Observed {
  std::string kernels;
  std::string launches = "0";
  std::string device;
  std::uint64_t blocks = 64;  ///< per launch
  std::uint64_t seed = 1;
  std::uint32_t registers = 0;  ///< per thread; 0: as the device reports
  bool sharing = false;         ///< show which warps access the arrays
  std::string keep;             ///< a folder to keep the observations in
  std::string from;             ///< such a folder, read instead of running a program
};

/// `lynxpp advise`.
struct AdviseArguments {
  std::vector<std::string> files;
  std::string machine = "compute_9_0";  ///< a name, a file, or "list"
  std::vector<std::string> values;      ///< NAME=VALUE definitions of constants and choices
  bool references = false;              ///< show each reference of each variant
  bool explore = false;                 ///< explore alternatives to the description
  std::size_t best = 20;                ///< explored alternatives to print
  bool by_estimate = false;             ///< rank by the estimate even if the machine has caches
  bool json = false;
  std::string html;  ///< write a page to this file; empty: none
  /// The program to observe and its arguments; empty if descriptions are analysed.
  std::vector<std::string> command;
  Observed observed;
};

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

/// `lynxpp calibrate`.
struct CalibrateArguments {
  std::string machine;     ///< a name or file: use the cpu device with its modelled clock; empty: use the GPU
  std::string output;      ///< empty: in the user's data folder
  std::string benchmarks;  ///< the benchmark program; empty: the one installed with lynxpp
  int iterations = 512;
  bool uses_printed_loops = false;  ///< use the paper's loops, which compute an index for each access
  bool scatters = false;            ///< each lane of a warp makes its own transaction
};

/// `lynxpp band`: the band of a program's kernels, or of values given as options.
struct BandArguments {
  std::string calibration;           ///< a device's name or a file; empty: the only stored calibration
  std::string equation = "samples";  ///< name of a models::campprof::Form
  double loads[3] = {0, 0, 0};       ///< transactions of 32, 64 and 128 bytes
  double stores[3] = {0, 0, 0};
  std::uint32_t blocks = 0;             ///< blocks of the grid; 0: unknown
  std::uint32_t block_threads = 0;      ///< 0: unknown
  std::uint32_t warps = 0;              ///< active warps per multiprocessor
  std::uint32_t most_warps = 0;         ///< 0: the device's
  double milliseconds = 0;              ///< 0: unknown
  bool is_of_caches = false;            ///< between all hits and all misses of modelled caches
  bool is_cold = false;                 ///< caches: empty the L2 before each kernel
  std::string machine = "compute_9_0";  ///< caches: the machine
  bool json = false;
  std::string svg, html;               ///< files; empty: none
  std::string kernels, launches;       ///< filters of the program's launches
  std::uint32_t added_arithmetic = 0;  ///< instructions added to each access in an extra run; 0: no such run
  std::vector<std::string> command;    ///< empty: use the values above
};

struct ListArguments {
  std::string name;  ///< print this specification's text; empty: list all
};

/// `lynxpp lsp`.
struct LspArguments {
  bool stdio = false;  ///< ignored: standard input and output are always used
};

/// `lynxpp attach`, `detach`, `status` and `top`.
struct ControlArguments {
  enum class Command { attach, detach, status, top };
  std::optional<Command> command;
  int process = 0;
  std::vector<std::string> specifications;  ///< attach
  std::vector<std::string> one_liners;      ///< attach: specification texts
  std::string kernels;                      ///< attach
  bool once = false;                        ///< top
};

/// Nothing is left to do: help, the version or an error was printed.
struct Finished {
  int exit_code = exit_success;
};

using Arguments =
    std::variant<Finished, RunArguments, RecordArguments, CheckRunArguments, BenchArguments,
                 CharacterizeArguments, ReportArguments, MergeArguments, TraceArguments, DiffArguments,
                 CheckArguments, InstrumentArguments, PtxArguments, AdviseArguments, QualityArguments,
                 CalibrateArguments, BandArguments, ListArguments, LspArguments, ControlArguments>;

/// Prints help and version on stdout, errors on stderr.
Arguments parse_arguments(int count, char** values);

}  // namespace lynxpp::cli
