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

/// The results of a launch: every number and array that ON_REPORT emitted.
struct Measured {
  std::map<std::string, std::vector<double>> results;
  std::map<std::string, Emitted> emitted;  ///< the same results as emitted
  std::vector<std::string> notes;
  std::vector<std::vector<std::uint64_t>> arrays;     ///< contents of the `global` arrays in memory
  std::uint64_t dropped = 0;                          ///< accesses out of bounds
  std::map<std::uint32_t, std::uint64_t> dropped_at;  ///< those at one line of the specification
  std::uint64_t thread_instructions = 0;              ///< of the original kernel, counted by the device
  device::cpu::LaunchCounters counters;  ///< all counters; `words` only if a specification counts words
  /// counters.words->global by element of DEVICE_WORDS arrays; words of shared memory are elements
  /// themselves.
  std::map<std::uint64_t, std::uint64_t> device_words;
  std::size_t variant_instructions = 0;  ///< in the text of the instrumented module
  std::string failure;  ///< of the compilation, the instrumentation, the launch or the report

  double operator[](const std::string& name) const;  ///< the only or first value; NaN if it does not exist
};

struct Shape {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  std::uint64_t threads() const { return std::uint64_t{block[0]} * block[1] * block[2]; }  ///< per block
  std::uint64_t warps() const { return (threads() + 31) / 32; }                            ///< per block
};

/// Kernels:
/// `straight`: each thread loads its own 4 bytes of `in`, adds 1 and stores them to `out`; one path, one
/// `ret`.
/// `divergent`: threads with an odd index do so (thread index mod 4) times in a loop.
/// `exchange`: each thread stores its index in static and in dynamic shared memory and reads those of its
/// mirror image in the block; `outside` likewise.
/// `early`: threads with an odd index return at once, from a guarded `ret`.
/// `edges`: switches and branches, some with a single target; the last one sends threads 1, 5, 9, …
/// elsewhere.
/// `patterns`: accesses to shared and global memory of 1 to 16 bytes in patterns that depend on the block:
/// random addresses near and far, strides, pairs of lanes at one address; some by partial warps. At least 64
/// blocks of 32 threads.
/// `assembled`: ptxas must accept the variant.
Measured measure(const std::string& source, const Shape& shape, const std::string& kernel = "straight",
                 bool assembled = true);

/// The same for the kernel `k` of `module`, whose parameters are 64-bit addresses like those of the kernels
/// above: `in`, with the 32-bit value 5 for each thread and 32 more, and `out`, of the same size.
Measured measure_module(const std::string& source, const Shape& shape, const std::string& module,
                        bool assembled = true);

struct CountedWith {
  std::uint64_t bytes_in_window = ~std::uint64_t{0};  ///< at most, of WordMap; tables cover the rest
  std::uint64_t initial = 0;                          ///< value of every 8 bytes of the `global` arrays
  /// Words of shared memory are counted in the block's shared memory, where counters start with this value.
  std::optional<std::uint32_t> initial_in_block = {};
  bool in_line = true;      ///< where possible
  bool saturates = false;   ///< counts of 32 bits saturate at their maximum
  std::string scheme = {};  ///< as accepted by --words
};

/// The same with a probe at every access whose words are counted.
Measured measure_with_probes(const std::string& source, const Shape& shape, const std::string& kernel,
                             const CountedWith& how);
Measured measure_module_with_probes(const std::string& source, const Shape& shape, const std::string& module,
                                    const CountedWith& how);

/// The same for a device with this compute capability, times ten, without ptxas.
Measured measure_module_for(const std::string& source, const Shape& shape, const std::string& module,
                            int device_sm);

/// Measures with several specifications at once; returns the results of each.
std::vector<Measured> measure_together(const std::vector<std::string>& sources, const Shape& shape,
                                       const std::string& kernel);

}  // namespace lynxpp::cod
