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

bool is_load(const ReferenceTotals& reference) {
  return reference.kind == Statement::Kind::read || reference.kind == Statement::Kind::fetch;
}

/// Cycles until a load that missed the L1 has its value: the memory's latency for the first access to a
/// sector, the L2's for all others.
double miss_latency(const Totals& totals, const Timing& timing) {
  double missed = 0;
  for (const ReferenceTotals& each : totals.references)
    missed += is_load(each) ? number(each.global.sectors) : 0;
  if (missed == 0) return timing.memory.latency;
  const double first = std::min(1.0, bytes_of(totals.read, totals.part) * totals.part / (32 * missed));
  return timing.l2->latency + first * (number(timing.memory.latency) - number(timing.l2->latency));
}

/// Cycles that the warps of a block wait in loops: a loop waits in each iteration for all of its loads, and
/// Totals::waits counts only the first.
double loop_waits(const Totals& totals, const Timing& timing, double miss) {
  double longest = 0;
  for (const ReferenceTotals& each : totals.references) {
    if (each.kind != Statement::Kind::read || each.global.transactions == 0) continue;
    const double iterations =
        number(each.global.requests) / (number(totals.blocks * totals.warps) * totals.part);
    const double missed = number(each.global.sectors) / number(each.global.transactions);
    longest = std::max(longest, (iterations - 1) * (missed * miss + (1 - missed) * timing.l1->latency));
  }
  return longest;
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
  const double blocks = std::max(number(totals.blocks), 1.0);
  const double resident = std::min(blocks, std::max<double>(totals.occupancy.blocks, 1) * multiprocessors);
  const double used = std::min(blocks, multiprocessors);
  const double miss = miss_latency(totals, timing);
  set(Resource::memory, memory_cycles * timing.core_mhz / timing.memory_mhz);
  set(Resource::l2, number(slices) / totals.part / channels);
  set(Resource::l1, number(turns) / totals.part / used);
  set(Resource::issue,
      number(instructions) / totals.part * timing.arithmetic.issue / (timing.schedulers * used));
  set(Resource::latency,
      (number(totals.waits) / totals.part * miss + blocks * loop_waits(totals, timing, miss)) / resident);
  return bounds;
}

}  // namespace lynxpp::models::cumapz
