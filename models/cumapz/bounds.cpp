#include "models/cumapz/bounds.h"

#include <algorithm>
#include <cmath>

namespace lynxpp::models::cumapz {
namespace {

double number(std::int64_t value) { return static_cast<double>(value); }

/// Maximum bytes that the memory transfers: each sector if blocks share none, the entire array if they do.
double bytes_of(const std::vector<Footprint>& footprints, double part) {
  double bytes = 0;
  for (const Footprint& each : footprints)
    bytes += std::min(number(each.sectors) * 32 / part, number(each.end - each.least));
  return bytes;
}

}  // namespace

std::string_view name_of(Resource resource) {
  constexpr std::array<std::string_view, resources> names{"memory", "l2", "l1", "issue", "latency"};
  return names[static_cast<std::size_t>(resource)];
}

double Bounds::cycles() const {
  double squares = 0;
  for (const double each : busy) squares += each * each;
  return std::sqrt(squares);
}

Resource Bounds::slowest() const {
  return static_cast<Resource>(std::ranges::max_element(busy) - busy.begin());
}

bool has_bounds(const Machine& machine) { return machine.timing && machine.timing->l1 && machine.timing->l2; }

Bounds bounds_of(const Totals& totals, const Machine& machine) {
  const Timing& timing = *machine.timing;
  const double multiprocessors = timing.multiprocessors, channels = machine.global.channels;
  std::int64_t slices = 0, turns = 0, instructions = totals.arithmetic + totals.other_instructions;
  for (const ReferenceTotals& each : totals.references) {
    slices += (each.global.sectors - each.global.partial) * timing.l2->occupancy;
    slices += each.global.partial * std::max(timing.l2->partial, timing.l2->occupancy);
    slices += each.cached.moved_bytes / 32 * timing.l2->occupancy;
    turns += each.global.lines + each.shared.served * timing.shared.turn;
    instructions += each.warps + each.diverged;
  }
  Bounds bounds;
  const auto set = [&](Resource resource, double cycles) {
    bounds.busy[static_cast<std::size_t>(resource)] = cycles;
  };
  const double memory_cycles = (bytes_of(totals.read, totals.part) + bytes_of(totals.written, totals.part)) /
                               (channels * timing.memory.bytes_per_cycle);
  const double side_by_side = std::max<double>(totals.occupancy.blocks, 1) * multiprocessors;
  set(Resource::memory, memory_cycles * timing.core_mhz / timing.memory_mhz);
  set(Resource::l2, number(slices) / totals.part / channels);
  set(Resource::l1, number(turns) / totals.part / multiprocessors);
  set(Resource::issue,
      number(instructions) / totals.part * timing.arithmetic.issue / (timing.schedulers * multiprocessors));
  set(Resource::latency, number(totals.waits) / totals.part * timing.memory.latency / side_by_side);
  return bounds;
}

}  // namespace lynxpp::models::cumapz
