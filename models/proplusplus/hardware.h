// Device parameters for Pro++.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/proplusplus/criteria.h"

namespace lynxpp::models::proplusplus {

/// Lane instructions per clock and multiprocessor.
struct ArithmeticRates {
  double integers = 64;
  double singles = 64;
  double doubles = 2;
  double matrix = 512;  ///< dense products of f16 values
};
/// Rates of additions, multiplications and similar, by compute capability times ten: up to 9.0 the table
/// "Throughput of Native Arithmetic Instructions" of the CUDA C++ Programming Guide; of later ones, and of
/// matrix products, NVIDIA's data sheets (operations per second over clock and multiprocessors). Others use
/// the preceding entry.
ArithmeticRates arithmetic_rates(int compute_capability);
/// True if the capability is later than all entries: its rates are assumed.
bool has_assumed_rates(int compute_capability);

/// Returns a matrix instruction's products per execution of a lane, "mma.sync.aligned.m16n8k16.row.col.…" or
/// "wgmma.mma_async.…", in units of the time of one with f16 values; 0 for other instructions. Sparse ones
/// take half the time of their shape. tcgen05.mma, whose shape is in a register, yields 0.
double matrix_products(std::string_view opcode);

/// Device properties reported by a driver.
struct DeviceFigures {
  std::string name;
  int compute_capability = 90;  ///< × 10
  std::uint32_t multiprocessors = 1;
  std::uint32_t clock_khz = 0;  ///< 0: unknown
  std::uint32_t memory_clock_khz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint32_t threads_per_sm = 2048;
  std::uint32_t blocks_per_sm = 32;
  std::uint32_t registers_per_sm = 65536;
  std::uint32_t shared_per_sm = 233472;
  std::uint32_t reserved_shared_per_block = 1024;
  bool operator==(const DeviceFigures&) const = default;
};

/// Unknown properties are those of an H100 SXM, scaled by the number of multiprocessors: 1.98 GHz and 3.35
/// TB/s for 132 multiprocessors. Sets `assumes` if anything was assumed.
Hardware hardware_of(const DeviceFigures& figures, bool* assumes = nullptr);

/// Returns the parameters of a machine with modelled time. Arithmetic rates follow from the issue
/// rates of its schedulers. Precondition: the machine has a timing.
Hardware hardware_of(const Machine& machine);

/// Assumed overhead and rate of a copy between host and device if they were not measured (16 lanes of PCIe
/// 5).
inline constexpr double assumed_copy_seconds = 8e-6;
inline constexpr double assumed_link_rate = 55e9;

}  // namespace lynxpp::models::proplusplus
