#include "models/proplusplus/hardware.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "support/check.h"
#include "support/text.h"

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
    {70, {64, 64, 32, 512}},    {75, {64, 64, 2, 512}},    {80, {64, 64, 32, 1024}},
    {86, {64, 128, 2, 512}},    {89, {64, 128, 2, 512}},   {90, {64, 128, 64, 2048}},
    {100, {64, 128, 64, 4096}}, {103, {64, 128, 2, 4096}}, {120, {128, 128, 2, 512}},
};

/// Returns the number after `letter` in a token like "m16n8k16"; 0 without one.
double extent_of(std::string_view shape, char letter) {
  const std::size_t at = shape.find(letter);
  double extent = 0;
  for (std::size_t i = at;
       at != std::string_view::npos && ++i < shape.size() && shape[i] >= '0' && shape[i] <= '9';)
    extent = 10 * extent + (shape[i] - '0');
  return extent;
}

/// Returns the time of a product of values of a type in units of one with f16; 0 if it is not a type.
double cost_of(std::string_view type) {
  static constexpr std::pair<std::string_view, double> costs[] = {
      {"f16", 1},    {"bf16", 1},  {"f32", 1},    {"s32", 1},    {"tf32", 2},   {"f64", 16},
      {"s8", 0.5},   {"u8", 0.5},  {"e4m3", 0.5}, {"e5m2", 0.5}, {"e3m2", 0.5}, {"e2m3", 0.5},
      {"e2m1", 0.5}, {"s4", 0.25}, {"u4", 0.25},  {"b1", 0.0625}};
  for (const auto& [name, cost] : costs) {
    if (name == type) return cost;
  }
  return 0;
}

}  // namespace

ArithmeticRates arithmetic_rates(int compute_capability) {
  ArithmeticRates rates = rows[0].rates;
  for (const Row& row : rows) {
    if (row.compute_capability <= compute_capability) rates = row.rates;
  }
  return rates;
}

bool has_assumed_rates(int compute_capability) {
  constexpr int same_generation = 10;
  return compute_capability >= std::rbegin(rows)->compute_capability + same_generation;
}

double matrix_products(std::string_view opcode) {
  const bool is_group = opcode.starts_with("wgmma.mma_async");
  const bool is_warp = opcode.starts_with("mma.") || opcode.starts_with("wmma.mma");
  if (!is_group && !is_warp) return 0;
  double products = 0;
  std::vector<double> costs;  // of D, A, B, C; wmma of f16 names only D and C
  for (const std::string& token : split(opcode, '.')) {
    if (token.size() > 3 && token[0] == 'm' && extent_of(token, 'k') > 0)
      products = extent_of(token, 'm') * extent_of(token, 'n') * extent_of(token, 'k');
    if (const double cost = cost_of(token); cost > 0) costs.push_back(cost);
  }
  constexpr double warp = 32, warp_group = 128;
  const double factor = costs.size() > 2 ? costs[1] : 1;
  const bool is_sparse = opcode.find(".sp") != std::string_view::npos;
  return products * factor * (is_sparse ? 0.5 : 1) / (is_group ? warp_group : warp);
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
  hardware.matrix_rate = rates.matrix;
  const bool knows_memory = figures.memory_clock_khz != 0 && figures.memory_bus_bits != 0;
  hardware.clock_hz = figures.clock_khz != 0 ? figures.clock_khz * 1e3 : h100_clock_hz;
  // Two transfers per clock.
  hardware.memory_rate = knows_memory ? 2.0 * figures.memory_clock_khz * 1e3 * figures.memory_bus_bits / 8
                                      : h100_memory_rate / h100_multiprocessors * hardware.multiprocessors;
  if (assumes != nullptr)
    *assumes = figures.clock_khz == 0 || !knows_memory || has_assumed_rates(figures.compute_capability);
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
  hardware.matrix_rate = 0;  // the clock does not model matrix units
  hardware.memory_rate = static_cast<double>(machine.global.channels) * timing.memory.bytes_per_cycle *
                         timing.memory_mhz * hz_of_mhz;
  hardware.gap_seconds = timing.launch_gap_ns * 1e-9;
  return hardware;
}

}  // namespace lynxpp::models::proplusplus
