#include "models/proplusplus/hardware.h"

#include <algorithm>

#include "support/check.h"

namespace lynxpp::models::proplusplus {
namespace {

constexpr double h100_clock_hz = 1.98e9;
constexpr double h100_memory_rate = 3.35e12;
constexpr double h100_multiprocessors = 132;

struct Row {
  int compute_capability;
  ArithmeticRates rates;
};
constexpr Row rows[] = {
    {70, {64, 64, 32}}, {75, {64, 64, 2}},  {80, {64, 64, 32}},
    {86, {64, 128, 2}}, {89, {64, 128, 2}}, {90, {64, 128, 64}},
};

}  // namespace

ArithmeticRates arithmetic_rates(int compute_capability) {
  ArithmeticRates rates = rows[0].rates;
  for (const Row& row : rows) {
    if (row.compute_capability <= compute_capability) rates = row.rates;
  }
  return rates;
}

Hardware hardware_of(const DeviceFigures& figures, bool* assumes) {
  Hardware hardware;
  hardware.name = figures.name;
  hardware.multiprocessors = std::max(1u, figures.multiprocessors);
  Machine& machine = hardware.machine;
  machine.name = figures.name;
  machine.source = "the device";
  machine.residency = {figures.threads_per_sm, figures.blocks_per_sm, figures.threads_per_sm / 32, 1024};
  machine.registers = {figures.registers_per_sm, 4, 256, false, 1};
  machine.shared.bytes = figures.shared_per_sm;
  machine.shared.unit = figures.compute_capability >= 80 ? 128 : 256;
  machine.shared.of_each_block = figures.reserved_shared_per_block;
  const ArithmeticRates rates = arithmetic_rates(figures.compute_capability);
  hardware.integer_rate = rates.integers;
  hardware.single_rate = rates.singles;
  hardware.double_rate = rates.doubles;
  const bool knows_memory = figures.memory_clock_khz != 0 && figures.memory_bus_bits != 0;
  hardware.clock_hz = figures.clock_khz != 0 ? figures.clock_khz * 1e3 : h100_clock_hz;
  // Two transfers per clock.
  hardware.memory_rate = knows_memory ? 2.0 * figures.memory_clock_khz * 1e3 * figures.memory_bus_bits / 8
                                      : h100_memory_rate / h100_multiprocessors * hardware.multiprocessors;
  if (assumes != nullptr) *assumes = figures.clock_khz == 0 || !knows_memory;
  return hardware;
}

Hardware hardware_of(const Machine& machine) {
  LYNXPP_CHECK(machine.timing.has_value(), "the machine has no timing");
  constexpr double hz_of_mhz = 1e6;
  const Timing& timing = *machine.timing;
  Hardware hardware;
  hardware.name = machine.name;
  hardware.machine = machine;
  hardware.multiprocessors = timing.multiprocessors;
  hardware.clock_hz = timing.core_mhz * hz_of_mhz;
  const double lanes = static_cast<double>(machine.warp_size) * timing.schedulers;
  hardware.integer_rate = hardware.single_rate = lanes / timing.arithmetic.issue;
  hardware.double_rate = lanes / timing.arithmetic.wide;
  hardware.memory_rate = static_cast<double>(machine.global.channels) * timing.memory.bytes_per_cycle *
                         timing.memory_mhz * hz_of_mhz;
  hardware.gap_seconds = timing.launch_gap_ns * 1e-9;
  return hardware;
}

}  // namespace lynxpp::models::proplusplus
