#include "interposer/trials/replay.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace lynxpp::interposer {
namespace {

using device::AllocationKind;
using device::LiveAllocation;
using engine::MemoryEffects;
using engine::MemoryRoots;

/// Copies begin at multiples of this in SavedMemory.
constexpr std::uint64_t alignment = 256;

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// True if the host may access the memory while kernels run.
bool is_shared_with_host(const LiveAllocation& allocation) {
  return allocation.kind == AllocationKind::host || allocation.kind == AllocationKind::registered_host ||
         allocation.kind == AllocationKind::managed;
}

/// Memory that accesses with certain roots may touch: allocations and variables as a whole.
struct Touched {
  std::vector<MemoryRange> ranges;
  bool is_shared_with_host = false;

  bool overlaps(const Touched& other) const {
    return std::ranges::any_of(ranges, [&](const MemoryRange& a) {
      return std::ranges::any_of(other.ranges, [&](const MemoryRange& b) {
        return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
      });
    });
  }
};

/// Resolves roots with the values of one launch.
class Resolver {
 public:
  Resolver(const MemoryEffects& effects, device::Device& device, const device::Launch& launch)
      : effects_(effects),
        device_(device),
        launch_(launch),
        live_(device.allocations()),
        parameters_(device::parameter_buffer(launch, effects.parameters)) {}

  /// Returns nullopt if the accesses may touch other memory.
  std::optional<Touched> touched(const MemoryRoots& roots) const {
    if (roots.has_unknown) return std::nullopt;
    Touched touched;
    for (const std::uint32_t offset : roots.words) {
      const std::optional<std::uint64_t> value = word(offset);
      if (!value || !add(*value, touched)) return std::nullopt;
    }
    for (const std::string& name : roots.variables) {
      const std::optional<MemoryRange> found = variable(name);
      if (!found) return std::nullopt;
      touched.ranges.push_back(*found);
    }
    // Every address derives from some pointer.
    if (touched.ranges.empty() && !roots.empty()) return std::nullopt;
    return touched;
  }

  /// Returns all memory of the program that is known.
  std::optional<Touched> everything() const {
    Touched touched;
    for (const LiveAllocation& each : live_->sorted) {
      touched.ranges.push_back({each.address, each.bytes});
      touched.is_shared_with_host |= is_shared_with_host(each);
    }
    for (const engine::GlobalVariable& each : effects_.variables) {
      const std::optional<MemoryRange> found = variable(each.name);
      if (!found) return std::nullopt;
      touched.ranges.push_back(*found);
    }
    return touched;
  }

 private:
  std::optional<std::uint64_t> word(std::uint32_t offset) const {
    std::uint64_t value = 0;
    if (!parameters_ || offset + sizeof value > parameters_->size()) return std::nullopt;
    std::memcpy(&value, parameters_->data() + offset, sizeof value);
    return value;
  }

  /// Adds the memory that a parameter may point into. Returns false if that is unknown.
  bool add(std::uint64_t value, Touched& touched) const {
    // Sizes and strides also contribute to addresses; no device has memory at such small ones.
    constexpr std::uint64_t least_address = std::uint64_t{1} << 32;
    const LiveAllocation* const found = live_->find(value);
    if (found == nullptr) return value < least_address;
    const LiveAllocation* first = found;
    const LiveAllocation* last = found;
    // An array may extend over adjacent mappings.
    const auto continues = [](const LiveAllocation& before, const LiveAllocation& after) {
      return before.kind == AllocationKind::mapped && after.kind == AllocationKind::mapped &&
             before.address + before.bytes == after.address;
    };
    while (first != live_->sorted.data() && continues(first[-1], *first)) --first;
    while (last + 1 != live_->sorted.data() + live_->sorted.size() && continues(*last, last[1])) ++last;
    touched.ranges.push_back({first->address, last->address + last->bytes - first->address});
    touched.is_shared_with_host |= is_shared_with_host(*found);
    return true;
  }

  std::optional<MemoryRange> variable(const std::string& name) const {
    const auto known = std::ranges::find(effects_.variables, name, &engine::GlobalVariable::name);
    const std::optional<std::uint64_t> address = device_.variable_address(launch_, name);
    if (known == effects_.variables.end() || !address) return std::nullopt;
    return MemoryRange{*address, known->bytes};
  }

  const MemoryEffects& effects_;
  device::Device& device_;
  const device::Launch& launch_;
  const std::shared_ptr<const device::LiveAllocations> live_;
  const Result<std::vector<std::byte>> parameters_;
};

/// Returns the ranges, ascending and without overlaps.
std::vector<MemoryRange> merged(std::vector<MemoryRange> ranges) {
  std::ranges::sort(ranges, {}, &MemoryRange::address);
  std::vector<MemoryRange> result;
  for (const MemoryRange& each : ranges) {
    if (each.bytes == 0) continue;
    if (!result.empty() && each.address < result.back().address + result.back().bytes) {
      MemoryRange& last = result.back();
      last.bytes = std::max(last.bytes, each.address + each.bytes - last.address);
    } else {
      result.push_back(each);
    }
  }
  return result;
}

/// Returns why no launch of the kernel in this way can be repeated; empty if it may be.
std::string obstacle_of_launch(const MemoryEffects& effects, const device::Launch& launch) {
  if (launch.cooperative || launch.attribute_count != 0 || launch.cluster[0] != 0)
    return "the launch has attributes";
  return effects.other;
}

}  // namespace

Repeatability repeatability_of(const MemoryEffects& effects, device::Device& device,
                               const device::Launch& launch, ReplayChoice choice) {
  if (std::string obstacle = obstacle_of_launch(effects, launch); !obstacle.empty())
    return {std::move(obstacle), {}};
  const Resolver resolver(effects, device, launch);
  const std::optional<Touched> reads = resolver.touched(effects.reads);
  std::optional<Touched> writes = resolver.touched(effects.writes);
  std::string obstacle;
  if (effects.updates) {
    obstacle = "it updates memory atomically";
  } else if (effects.communicates) {
    obstacle = "others may observe it while it runs";
  } else if (!writes) {
    obstacle = "it is unknown what it writes";
  } else if (!writes->ranges.empty() && !reads) {
    obstacle = "it is unknown what it reads";
  } else if (!writes->ranges.empty() && writes->overlaps(*reads)) {
    obstacle = "it may write what it reads";
  }
  if (obstacle.empty()) return {{}, {}, merged(std::move(writes->ranges)), reads.has_value()};
  if (choice != ReplayChoice::always) return {std::move(obstacle), {}};
  if (!writes) writes = resolver.everything();
  if (!writes) return {"it is unknown what it writes", {}};
  if (writes->is_shared_with_host) return {"it may write memory that the host can access", {}};
  std::vector<MemoryRange> written = merged(std::move(writes->ranges));
  return {{}, written, written};
}

Result<std::unique_ptr<SavedMemory>> SavedMemory::save(device::Device& device, const device::Launch& launch,
                                                       const std::vector<MemoryRange>& ranges) {
  std::uint64_t bytes = 0;
  for (const MemoryRange& each : ranges) bytes += aligned(each.bytes);
  Result<std::unique_ptr<device::Buffer>> copy = device.allocate_kept(bytes, launch);
  if (!copy) return copy.error();
  std::uint64_t to = (*copy)->address();
  for (const MemoryRange& each : ranges) {
    if (Status copied = device.copy(to, each.address, each.bytes, launch); !copied) return copied.error();
    to += aligned(each.bytes);
  }
  return std::unique_ptr<SavedMemory>(new SavedMemory(std::move(*copy), ranges));
}

Status SavedMemory::restore(device::Device& device, const device::Launch& launch) const {
  std::uint64_t from = copy_->address();
  for (const MemoryRange& each : ranges_) {
    if (Status copied = device.copy(each.address, from, each.bytes, launch); !copied) return copied;
    from += aligned(each.bytes);
  }
  return success();
}

}  // namespace lynxpp::interposer
