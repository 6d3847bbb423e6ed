// Devices as Pro++ sees them.
#pragma once

#include <cstdint>
#include <string>

#include "models/proplusplus/criteria.h"

namespace lynxpp::models::proplusplus {

/// Instructions of lanes for each clock and multiprocessor.
struct ArithmeticRates {
  double integers = 64;
  double singles = 64;
  double doubles = 2;
};
/// Of additions, multiplications and their like, by compute capability times ten: the table "Throughput of
/// Native Arithmetic Instructions" of the CUDA C++ Programming Guide, 7.0 to 9.0. Others are taken for the
/// last one before them.
ArithmeticRates arithmetic_rates(int compute_capability);

/// What a driver says of a device.
struct DeviceFigures {
  std::string name;
  int compute_capability = 90;  ///< × 10
  std::uint32_t multiprocessors = 1;
  std::uint32_t clock_khz = 0;  ///< 0: not known
  std::uint32_t memory_clock_khz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint32_t threads_per_sm = 2048;
  std::uint32_t blocks_per_sm = 32;
  std::uint32_t registers_per_sm = 65536;
  std::uint32_t shared_per_sm = 233472;
  std::uint32_t shared_per_block_besides = 1024;
  bool operator==(const DeviceFigures&) const = default;
};

/// What the figures leave open is assumed as of an H100 SXM, of which the device has a part by its number of
/// multiprocessors: 1.98 GHz and, of 132 multiprocessors, 3.35 TB/s. `assumes` says that something was.
Hardware hardware_of(const DeviceFigures& figures, bool* assumes = nullptr);

/// Of a machine whose time is modelled. Arithmetic units take what its schedulers issue. Precondition: it has
/// a timing.
Hardware hardware_of(const Machine& machine);

/// Where nobody has measured it, of a copy between host and device: what it takes besides, and its rate (16
/// lanes of PCIe 5).
inline constexpr double assumed_copy_seconds = 8e-6;
inline constexpr double assumed_link_rate = 55e9;

}  // namespace lynxpp::models::proplusplus
