// The command line of `lynxpp`, as data. Only arguments.cpp knows the library that parses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ptx/analysis/launch_shape.h"

namespace lynxpp::cli {

/// Exit codes of lynxpp itself; `lynxpp run` otherwise ends as the program it starts does.
enum ExitCode {
  exit_success = 0,
  exit_input_error = 1,       ///< a specification or PTX file has errors
  exit_usage_error = 2,       ///< the command line, or a specification that does not exist
  exit_nothing_measured = 3,  ///< the program exited with status 0, and nothing was measured or checked
  exit_cannot_execute = 126,  ///< the program of `run` is there but cannot be executed
  exit_not_found = 127,       ///< the program of `run` does not exist
};

struct RunArguments {
  std::vector<std::string> specifications;  ///< each a name, a path, "-", or several separated by commas
  std::vector<std::string> one_liners;      ///< texts
  std::string kernels;
  std::string launches;
  std::string output;
  std::string device;
  std::string dump;
  std::string trace;  ///< a folder for entries of traces; empty: none
  std::string words;  ///< a scheme of counting words (cod/word_scheme.h)
  std::string start;  ///< when launches begin to be measured (support/start_condition.h)
  bool timing = false;
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

/// `lynxpp record`.
struct RecordArguments {
  RunArguments run;  ///< without specifications: the usual ones; without output: a name of the program's
};

/// `lynxpp check-run`.
struct CheckRunArguments {
  std::string checks = "memory,race,init,sync";
  std::string output;                ///< a file for JSON Lines; empty: none
  int error_exit = 0;                ///< the exit code when something is found; 0: the program's
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

/// `lynxpp bench`.
struct BenchArguments {
  std::vector<std::string> settings;  ///< each a list of specifications, measured by itself; not empty
  std::string kernels;
  std::string launches;
  std::string device;
  std::string output;   ///< a file for JSON; empty: none
  std::string compare;  ///< such a file of before; empty: none
  bool elapsed = false;  ///< measure whole programs instead of kernels
  int rounds = 5;
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

/// `lynxpp characterize`.
struct CharacterizeArguments {
  std::vector<std::string> programs;  ///< each a program and its arguments in one text
  std::string list;                   ///< a file with more of them, one a line; empty: none
  std::string kernels;
  std::string launches;
  std::string device;
  std::string csv;                   ///< a file; empty: none
  std::string svg;                   ///< a file; empty: none
  std::vector<std::string> command;  ///< one more program and its arguments; may be empty
};

/// `lynxpp report`.
struct ReportArguments {
  std::vector<std::string> files;
  std::string format = "table";
  std::string output;      ///< empty or "-": standard output
  std::string by;          ///< "rank", "host", "process", "device"; empty: all of them together
  int width = 0;           ///< of the table; 0: the terminal's
  bool all = false;        ///< of the table: every row, element and place
  bool no_source = false;  ///< of the page: no text of source files
};

/// `lynxpp merge`.
struct MergeArguments {
  std::vector<std::string> files;
  std::string output;  ///< empty or "-": standard output
};

/// `lynxpp trace`.
struct TraceArguments {
  std::vector<std::string> paths;  ///< folders, or files in them
  std::string trace;               ///< the name; empty: all
  std::string kernels;
  std::string launches;
  std::string format = "csv";
  bool list = false;
};

/// `lynxpp diff`.
struct DiffArguments {
  std::string a;  ///< files of records
  std::string b;
  std::optional<std::size_t> top;  ///< rows of each list; 0: all; none: as the format has it
  bool json = false;
};

struct CheckArguments {
  std::vector<std::string> files;       ///< "-": standard input
  std::vector<std::string> one_liners;  ///< texts
  bool emit_ptx = false;
  std::string explain;  ///< a PTX file: show where handlers would stand in it
  std::string kernel;   ///< explain: mangled, demangled or plain; empty: every entry
  bool json = false;    ///< explain
  int sm = 90;
};

struct InstrumentArguments {
  std::string input;
  std::vector<std::string> specifications;
  std::string kernel;                     ///< empty: every entry
  std::string output;                     ///< empty or "-": standard output
  int sm = 0;                             ///< 0: the module's own target
  ptx::LaunchShape launch;                ///< that the result is for
  std::string words;                      ///< a scheme of counting words
  std::string without;                    ///< engine::Limits::without, with commas
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
  bool dot = false;                         ///< cfg: for Graphviz
  std::vector<std::string> specifications;  ///< annotate
  bool side_by_side = false;                ///< annotate
};

/// What `lynxpp advise` observes of a program.
struct Observed {
  std::string kernels;
  std::string launches = "0";
  std::string device;
  std::uint64_t blocks = 64;  ///< of each launch
  std::uint64_t seed = 1;
  std::uint32_t registers = 0;  ///< of a thread; 0: the device's, where it knows them
  bool sharing = false;         ///< show who visits the arrays
  std::string keep;             ///< a folder for what was observed
  std::string from;             ///< such a folder, in place of a program
};

/// `lynxpp advise`.
struct AdviseArguments {
  std::vector<std::string> files;
  std::string machine = "compute_9_0";  ///< a name, a file, or "list"
  std::vector<std::string> values;      ///< NAME=VALUE for constants and choices
  bool references = false;              ///< show each reference of each variant
  bool explore = false;                 ///< other ways to write the kernel, too
  std::size_t best = 20;                ///< of explored ways, how many are printed
  bool by_estimate = false;             ///< rank by it where the machine has caches, too
  bool json = false;
  std::string html;  ///< write a page there; empty: none
  /// A program and its arguments, to be observed instead of descriptions; empty: none.
  std::vector<std::string> command;
  Observed observed;
};

/// `lynxpp quality`.
struct QualityArguments {
  std::string kernels;
  std::string launches;
  std::string device;
  std::string weights;              ///< a file, or "paper"; empty: the device's, else the paper's
  std::string machine;              ///< whose clock times kernels on the cpu device; empty: the default
  std::vector<std::string> ranges;  ///< only these; empty: everything
  std::string functions;            ///< with commas: launches below them are ranges, too
  std::uint64_t problem_bytes = 0;  ///< 0: as the launches' arrays say
  bool inputs = false;              ///< show the raw inputs
  bool json = false;
  bool fit = false;                  ///< weights to the ranges PRIMITIVE/IMPLEMENTATION
  std::string output;                ///< for the fitted weights; empty: the user's data folder
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

/// `lynxpp calibrate`.
struct CalibrateArguments {
  std::string machine;     ///< a name or file: the cpu device with its modelled clock; empty: the GPU
  std::string output;      ///< empty: the user's data folder
  std::string benchmarks;  ///< the program that runs them; empty: lynxpp's own
  int iterations = 512;
  bool uses_printed_loops = false;  ///< of the paper's Figures, with an index computed for each access
  bool scatters = false;            ///< the lanes of a warp make transactions of their own
};

/// `lynxpp band`: of a program's kernels, or of numbers that were typed.
struct BandArguments {
  std::string calibration;           ///< a device's name or a file; empty: the only one there is
  std::string equation = "samples";  ///< models::campprof::Form by name
  double loads[3] = {0, 0, 0};       ///< transactions of 32, 64 and 128 bytes
  double stores[3] = {0, 0, 0};
  std::uint32_t blocks = 0;             ///< of the grid; 0: not known
  std::uint32_t block_threads = 0;      ///< 0: not known
  std::uint32_t warps = 0;              ///< active on a multiprocessor
  std::uint32_t most_warps = 0;         ///< 0: the device's
  double milliseconds = 0;              ///< 0: not known
  bool is_of_caches = false;            ///< between all hits and all misses, of a modelled machine
  bool is_cold = false;                 ///< … its L2 emptied before each kernel
  std::string machine = "compute_9_0";  ///< … which one
  bool json = false;
  std::string svg, html;               ///< files; empty: none
  std::string kernels, launches;       ///< of the program
  std::uint32_t added_arithmetic = 0;  ///< instructions beside each access of it; 0: it is not run with any
  std::vector<std::string> command;    ///< empty: the numbers above
};

struct ListArguments {
  std::string name;  ///< print this one's text; empty: list all
};

/// `lynxpp lsp`.
struct LspArguments {
  bool stdio = false;  ///< says what is so in any case
};

/// `lynxpp attach`, `detach`, `status` and `top`.
struct ControlArguments {
  enum class Command { attach, detach, status, top };
  std::optional<Command> command;
  int process = 0;
  std::vector<std::string> specifications;  ///< attach
  std::vector<std::string> one_liners;      ///< attach: texts
  std::string kernels;                      ///< attach
  bool once = false;                        ///< top
};

/// Nothing to do but leave: help, the version or an error was printed.
struct Finished {
  int exit_code = exit_success;
};

using Arguments =
    std::variant<Finished, RunArguments, RecordArguments, CheckRunArguments, BenchArguments,
                 CharacterizeArguments, ReportArguments, MergeArguments, TraceArguments, DiffArguments,
                 CheckArguments, InstrumentArguments, PtxArguments, AdviseArguments, QualityArguments,
                 CalibrateArguments, BandArguments, ListArguments, LspArguments, ControlArguments>;

/// Prints help and version on stdout, mistakes on stderr.
Arguments parse_arguments(int count, char** values);

}  // namespace lynxpp::cli
