// Runs a specification with a kernel on the cpu device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "device/cpu/simt/execute/executor.h"
#include "engine/instrument.h"

namespace lynxpp::cod {

/// What a launch gave: every number and array that ON_REPORT emitted.
struct Measured {
  std::map<std::string, std::vector<double>> results;
  std::map<std::string, Emitted> emitted;  ///< the same as they came
  std::vector<std::string> notes;
  std::vector<std::vector<std::uint64_t>> arrays;     ///< the `global` arrays as they are in memory
  std::uint64_t dropped = 0;                          ///< accesses out of bounds
  std::map<std::uint32_t, std::uint64_t> dropped_at;  ///< of them those of one line of the specification
  std::uint64_t thread_instructions = 0;  ///< of the kernel without instrumentation, counted by the device
  device::cpu::LaunchCounters counters;   ///< all of them; `words` where the specifications count words
  /// counters.words->global by element of DEVICE_WORDS arrays; words of shared memory are elements as they
  /// are
  std::map<std::uint64_t, std::uint64_t> device_words;
  std::size_t variant_instructions = 0;  ///< in the text of the instrumented module
  std::string failure;  ///< of the compilation, the instrumentation, the launch or the report

  double operator[](const std::string& name) const;  ///< the only or first value; NaN when there is none
};

struct Shape {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  std::uint64_t threads() const { return std::uint64_t{block[0]} * block[1] * block[2]; }  ///< of a block
  std::uint64_t warps() const { return (threads() + 31) / 32; }                            ///< of a block
};

/// `straight`: each thread loads its own 4 bytes of `in`, adds 1 and stores them to `out`; one path, one
/// `ret`. `divergent`: threads with an odd number do so (thread number mod 4) times in a loop. `exchange`:
/// each thread stores its number in static and in dynamic shared memory and reads those of its mirror image
/// in the block; `outside` likewise. `early`: threads with an odd number return at once, from a guarded
/// `ret`. `edges`: switches and branches of which some lead to one place only; the last sends threads 1, 5,
/// 9, … elsewhere. `patterns`: accesses to shared and global memory of 1 to 16 bytes in patterns that depend
/// on the block: random places near and far, strides, pairs of lanes at one place; some with lanes left out.
/// At least 64 blocks of 32 threads. `assembled`: ptxas has to accept the variant.
Measured measure(const std::string& source, const Shape& shape, const std::string& kernel = "straight",
                 bool assembled = true);

/// The same with the kernel `k` of `module`, whose parameters are 64-bit addresses like those of the kernels
/// above: `in`, of one 32-bit number 5 for each thread and 32 more, and `out`, of the same size.
Measured measure_module(const std::string& source, const Shape& shape, const std::string& module,
                        bool assembled = true);

struct CountedWith {
  std::uint64_t bytes_in_window = ~std::uint64_t{0};  ///< of WordMap at most; what lies behind has tables
  std::uint64_t most_runs = 1 << 16;                  ///< that are written down; more are counted one by one
  bool has_places = false;    ///< threads have places for the runs of loops that they enter once
  bool knows_rows = false;    ///< … whose grid and blocks have one dimension
  std::uint64_t initial = 0;  ///< every 8 bytes of the `global` arrays
  /// Words of shared memory are counted in the block's, where counters begin with this number.
  std::optional<std::uint32_t> initial_in_block = {};
  bool in_line = true;     ///< where it can be
  bool saturates = false;  ///< counts of 32 bits stop at their greatest number
  engine::CounterWindow window = engine::CounterWindow::none;  ///< … and only of this part of shared memory
  std::string scheme = {};                                     ///< as --words takes it
};

/// The same with a probe at every access whose words are counted.
Measured measure_with_probes(const std::string& source, const Shape& shape, const std::string& kernel,
                             const CountedWith& how);
Measured measure_module_with_probes(const std::string& source, const Shape& shape, const std::string& module,
                                    const CountedWith& how);

/// The same for a device of this compute capability, times ten, without ptxas.
Measured measure_module_for(const std::string& source, const Shape& shape, const std::string& module,
                            int device_sm);

/// The same with several specifications at once; what each of them measures.
std::vector<Measured> measure_together(const std::vector<std::string>& sources, const Shape& shape,
                                       const std::string& kernel);

}  // namespace lynxpp::cod
