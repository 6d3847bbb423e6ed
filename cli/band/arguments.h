// The command lines of `lynxpp band calibrate` and `lynxpp band`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// `lynxpp band calibrate`.
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
  std::string calibration;        ///< a device's name or a file; empty: the only stored calibration
  std::string equation = "both";  ///< name of a models::campprof::Form, or "both": samples and sums
  double loads[3] = {0, 0, 0};    ///< transactions of 32, 64 and 128 bytes
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
  std::string svg, html, csv;          ///< files; empty: none
  std::string kernels, launches;       ///< filters of the program's launches
  std::uint32_t added_arithmetic = 0;  ///< instructions added to each access in an extra run; 0: no such run
  std::vector<std::string> command;    ///< empty: use the values above
};

CLI::App* add_calibrate(CLI::App& app, CalibrateArguments& arguments);
CLI::App* add_band(CLI::App& app, BandArguments& arguments);

}  // namespace lynxpp::cli
