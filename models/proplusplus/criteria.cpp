#include "models/proplusplus/criteria.h"

#include <algorithm>

namespace lynxpp::models::proplusplus {
namespace {

struct Names {
  const char* symbol;
  const char* name;
};
constexpr Names names[criterion_count] = {
    {"OC", "occupancy"},         {"LB", "load balancing"}, {"WE", "warp efficiency"},
    {"SO", "synchronization"},   {"IO", "instructions"},   {"MH", "memory hierarchy"},
    {"MC", "memory coalescing"}, {"DT", "data transfer"},
};

double total_seconds(const Primitive& primitive) {
  double seconds = 0;
  for (const KernelRun& kernel : primitive.kernels) seconds += kernel.seconds;
  return seconds;
}

/// Returns the mean of `value` over kernels, weighted by time; nullopt if it is negative for one of them.
template <typename Value>
std::optional<double> mean_over_time(const Primitive& primitive, const Value& value) {
  const double seconds = total_seconds(primitive);
  double sum = 0;
  double weights = 0;
  for (const KernelRun& kernel : primitive.kernels) {
    const double here = value(kernel);
    if (here < 0) return std::nullopt;
    const double weight = seconds > 0 ? kernel.seconds : 1;
    sum += weight * here;
    weights += weight;
  }
  return weights > 0 ? std::optional(sum / weights) : std::nullopt;
}

Counts total_counts(const Primitive& primitive) {
  Counts sum;
  for (const KernelRun& kernel : primitive.kernels) {
    const Counts& counts = kernel.counts;
    sum.lane_instructions += counts.lane_instructions;
    sum.warp_instructions += counts.warp_instructions;
    sum.integers += counts.integers;
    sum.singles += counts.singles;
    sum.doubles += counts.doubles;
    sum.textures += counts.textures;
    sum.locals += counts.locals;
    sum.shared += counts.shared;
    sum.globals += counts.globals;
    sum.moved_bytes += counts.moved_bytes;
    sum.matrix += counts.matrix;
  }
  return sum;
}

std::optional<double> ratio(double part, double whole) {
  if (!(whole > 0)) return std::nullopt;
  return std::clamp(part / whole, 0.0, 1.0);
}

std::optional<double> synchronization(const Primitive& primitive, const SynchronizationShares& shares) {
  const std::optional<double> stalled =
      mean_over_time(primitive, [](const KernelRun& kernel) { return kernel.stalled; });
  const double seconds = total_seconds(primitive);
  if (!stalled || primitive.between_seconds < 0) return std::nullopt;
  // If the times are unknown, the share of time between kernels counts as 0.
  const double between = ratio(primitive.between_seconds, seconds + primitive.between_seconds).value_or(0);
  return 1 - (shares.barriers * *stalled + shares.kernels * between);
}

/// Returns the time that the instructions would keep all arithmetic units busy, divided by the actual time.
std::optional<double> instructions(const Counts& counts, double seconds, const Hardware& hardware) {
  const double clocks = seconds * hardware.clock_hz * hardware.multiprocessors;
  double busy = 0;
  const auto add = [&](std::uint64_t count, double rate) {
    if (count != 0) busy += static_cast<double>(count) / rate;
  };
  if (hardware.integer_rate <= 0 || hardware.single_rate <= 0 || hardware.double_rate <= 0)
    return std::nullopt;
  add(counts.integers, hardware.integer_rate);
  add(counts.singles, hardware.single_rate);
  add(counts.doubles, hardware.double_rate);
  if (counts.matrix > 0 && hardware.matrix_rate <= 0) return std::nullopt;
  if (counts.matrix > 0) busy += counts.matrix / hardware.matrix_rate;
  const std::optional<double> share = ratio(busy, clocks);
  return share ? std::optional(1 - *share) : std::nullopt;
}

}  // namespace

const char* symbol_of(Criterion criterion) { return names[static_cast<std::size_t>(criterion)].symbol; }
const char* name_of(Criterion criterion) { return names[static_cast<std::size_t>(criterion)].name; }

std::optional<Criterion> find_criterion(const std::string& symbol) {
  for (std::size_t i = 0; i < criterion_count; ++i) {
    if (symbol == names[i].symbol) return static_cast<Criterion>(i);
  }
  return std::nullopt;
}

double OccupancyLimits::least() const { return std::min({by_registers, by_blocks, by_shared, by_grid, 1.0}); }

OccupancyLimits occupancy_limits(const Configuration& configuration, const Hardware& hardware) {
  // Excludes the shared memory reserved for each block, which counts towards the limit by shared memory.
  Machine without_shared = hardware.machine;
  without_shared.shared.of_each_block = 0;
  const auto share = [](const Machine& machine, const BlockNeeds& needs) {
    return occupancy(machine, needs).share;
  };
  OccupancyLimits limits;
  limits.by_blocks = share(without_shared, {configuration.block_size, 0, 0});
  limits.by_registers = share(without_shared, {configuration.block_size, configuration.registers, 0});
  limits.by_shared = share(hardware.machine, {configuration.block_size, 0, configuration.shared_bytes});
  const std::uint64_t warp = hardware.machine.warp_size;
  const std::uint64_t warps = configuration.grid_size * ((configuration.block_size + warp - 1) / warp);
  const std::uint64_t held = std::uint64_t{hardware.machine.residency.warps} * hardware.multiprocessors;
  limits.by_grid = ratio(static_cast<double>(warps), static_cast<double>(held)).value_or(0);
  return limits;
}

std::uint64_t bytes_past_caches(std::uint64_t read, std::uint64_t written, std::uint64_t arrays) {
  return arrays == 0 ? read + written : std::min(read, arrays) + std::min(written, arrays);
}

std::optional<double> printed_data_transfer(const Primitive& primitive) {
  double copied = 0;
  double overlapped = 0;
  for (const Copy& copy : primitive.copies) {
    copied += static_cast<double>(copy.bytes);
    if (copy.overlaps) overlapped += static_cast<double>(copy.bytes);
  }
  const double whole = static_cast<double>(primitive.problem_bytes) + copied;
  if (whole == 0) return std::nullopt;
  return 0.5 + overlapped / whole - copied / whole;
}

Criteria criteria_of(const Primitive& primitive, const Hardware& hardware,
                     const SynchronizationShares& shares) {
  Criteria criteria;
  if (primitive.kernels.empty()) return criteria;
  const Counts counts = total_counts(primitive);
  const double seconds = total_seconds(primitive);
  criteria[Criterion::occupancy] = mean_over_time(primitive, [&](const KernelRun& kernel) {
    return occupancy_limits(kernel.configuration, hardware).least();
  });
  criteria[Criterion::load_balancing] =
      mean_over_time(primitive, [](const KernelRun& kernel) { return kernel.balance; });
  criteria[Criterion::warp_efficiency] =
      ratio(static_cast<double>(counts.lane_instructions),
            static_cast<double>(counts.warp_instructions) * hardware.machine.warp_size);
  criteria[Criterion::synchronization] = synchronization(primitive, shares);
  criteria[Criterion::instructions] = instructions(counts, seconds, hardware);
  const std::uint64_t near = counts.textures + counts.locals + counts.shared;
  criteria[Criterion::memory_hierarchy] =
      ratio(static_cast<double>(near), static_cast<double>(near + counts.globals));
  criteria[Criterion::memory_coalescing] =
      ratio(static_cast<double>(counts.moved_bytes), seconds * hardware.memory_rate);
  const std::optional<double> transfer = printed_data_transfer(primitive);
  criteria[Criterion::data_transfer] = transfer ? *transfer + 0.5 : 1;
  return criteria;
}

}  // namespace lynxpp::models::proplusplus
