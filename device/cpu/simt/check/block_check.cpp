#include "device/cpu/simt/check/block_check.h"

#include <algorithm>
#include <cstring>

#include "device/cpu/simt/check/written_memory.h"
#include "device/cpu/simt/execute/faults.h"
#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/lanes/lane_functions.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

/// cuda::memcpy_async issues bulk copies without a fence: only its caller knows that buffers have been read.
constexpr const char* refill_by_library =
    "; the library's copy has no such fence: before it, and before the barrier that ends the reads, let each "
    "reading thread execute cuda::ptx::fence_proxy_async(cuda::ptx::space_shared)";

}  // namespace

void BlockCheck::start(std::uint64_t block, const std::uint32_t* coordinates, const std::byte* shared,
                       std::uint64_t shared_bytes, std::uint64_t all_bytes) {
  block_ = static_cast<std::uint32_t>(block);
  std::copy(coordinates, coordinates + 3, coordinates_);
  shared_memory_ = shared;
  shared_written_.assign(shared_bytes, false);
  shared_written_.resize(all_bytes, true);
  shared_.clear();
  sync_variables_.clear();
  clocks_.clear();
  for (std::uint32_t warp = 0; warp < warps_; ++warp) clocks_.emplace_back(block_, warp, warps_);
  next_clock_ = warps_;
  tensor_.clear();
  tensor_core_.clear();
  tensor_allocations_.clear();
  groups_.assign(group_kinds * warps_, {});
  group_clocks_.assign(group_kinds * warps_, 0);
  objects_.clear();
  atomics_.clear();
  rounds_ = 1;
  std::fill(std::begin(barriers_), std::end(barriers_), BarrierKnowledge{});
  alone_ = {};
  cluster_ = &alone_;
}

void BlockCheck::join_cluster(ClusterKnowledge& cluster, std::uint32_t rank) {
  cluster_ = &cluster;
  if (cluster.blocks.size() <= rank) cluster.blocks.resize(rank + 1);
  cluster.blocks[rank] = this;
}

void BlockCheck::close_cluster() {
  cluster_->over = std::move(cluster_->arriving);
  cluster_->arriving = {};
}

// ---------------------------------------------------------------- accesses

BlockCheck::Location BlockCheck::locate(const WarpContext& warp, const AccessSite& site,
                                        const LaneAccess& access) {
  using Kind = Location::Kind;
  const auto in_shared = [&](std::uint32_t rank, std::uint64_t offset) -> Location {
    const bool fits = AddressRange{0, warp.shared_bytes}.holds(offset, access.bytes);
    if (!fits || rank >= warp.cluster_nctarank) return {};
    return {Kind::shared, offset, rank == warp.cluster_ctarank ? this : cluster_->blocks[rank]};
  };
  if (site.in_tensor_memory) {
    const bool is_peer = (access.address & tensor_peer_bit) != 0;
    return {Kind::tensor, access.address & ~tensor_peer_bit,
            is_peer ? cluster_->blocks[warp.cluster_ctarank ^ 1] : this};
  }
  if (site.kind == AddressKind::shared) {
    if (!site.in_cluster) return in_shared(warp.cluster_ctarank, access.address);
    return in_shared(rank_of_shared(warp, access.address), access.address & cluster_offset_mask);
  }
  const bool is_checked =
      site.kind == AddressKind::host && (never_in_window(site) || reaches_global_memory(site));
  if (!is_checked) return {};
  const auto begins_in = [&](const std::byte* begin, std::uint64_t bytes) {
    return access.address - reinterpret_cast<std::uintptr_t>(begin) < bytes;
  };
  if (const auto rank = rank_of_generic(warp, access.address))
    return in_shared(*rank, access.address - generic_shared(warp, *rank));
  if (begins_in(warp.local, warp.local_stride * warp_size) ||
      begins_in(warp.parameters, warp.parameter_bytes) || begins_in(warp.constants, warp.constant_bytes))
    return {};
  return {Kind::global, access.address};
}

void BlockCheck::access(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
                        const std::byte* value) {
  // Misaligned accesses are reported elsewhere and have no effect.
  if (access.bytes == site.bytes && access.address % access.bytes != 0) return;
  const Location location = locate(warp, site, access);
  if (location.kind == Location::Kind::none) return;
  const AccessRole& role = site.role;
  if (launch_.explored() != nullptr) note_explored(site, access, location, value);
  if (!role.only_asks) ++accesses_;
  WarpClock& clock = clocks_[warp.warpid];
  SyncVariables& variables =
      location.kind == Location::Kind::shared ? location.owner->sync_variables_ : launch_.sync_variables();
  // The object's operation and the asynchronous operation report their effects themselves.
  if (role.is_barrier) return;
  if (location.kind == Location::Kind::shared && launch_.selection().memory &&
      !check_gap(warp, site, access, location))
    return;
  if (launch_.selection().init) check_written(warp, site, access, location);
  if (!launch_.selection().race || role.is_async) return;
  if (role.releases) clock.fence(role.reach);
  check_race(warp, site, access, location, value);
  if (role.reach == Reach::none) return;
  if (role.reads) variables.hear(location.address, block_, clock, role.reach);
  if (role.writes) variables.publish(location.address, block_, clock, role.reach);
  if (role.acquires) {
    clock.settle();
    clock.meet();
  }
}

/// Notes the access for launches that are run in several orders, before it is made.
void BlockCheck::note_explored(const AccessSite& site, const LaneAccess& access, Location location,
                               const std::byte* value) {
  ExploredRun& run = *launch_.explored();
  if (location.kind == Location::Kind::global) run.log->note(site, access.address, access.bytes);
  const AccessRole& role = site.role;
  if (run.schedule == nullptr || !role.writes || role.is_async || role.is_barrier) return;
  AtomicBytes atomic;
  const bool is_atomic = role.reads && access.bytes <= sizeof atomic.before;
  if (!is_atomic) {
    run.changes += changes_nothing(location, access, value) ? 0 : 1;
    return;
  }
  if (location.kind == Location::Kind::global &&
      !launch_.memory().around(location.address).holds(location.address, access.bytes))
    return;
  atomic.at = location.kind == Location::Kind::shared ? location.owner->shared_memory_ + location.address
                                                      : reinterpret_cast<const std::byte*>(location.address);
  atomic.bytes = access.bytes;
  std::memcpy(atomic.before, atomic.at, access.bytes);
  atomics_.push_back(atomic);
}

void BlockCheck::settle_atomics() {
  for (const AtomicBytes& each : atomics_) {
    if (std::memcmp(each.at, each.before, each.bytes) == 0) continue;
    ++launch_.explored()->changes;
    break;
  }
  atomics_.clear();
}

/// In checked launches shared arrays are separated by gaps. Returns false if the access touches a gap.
bool BlockCheck::check_gap(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
                           Location location) {
  const SharedLayout& layout = launch_.shared();
  if (location.address >= layout.static_bytes) return true;
  const SharedLayout::Array* last = nullptr;
  for (const SharedLayout::Array& array : layout.arrays) {
    if (array.offset > location.address) break;
    last = &array;
  }
  if (last == nullptr || location.address + access.bytes <= last->offset + last->bytes) return true;
  launch_.add(FindingKind::out_of_bounds, access_of(warp, site, access.lane), nullptr, [&] {
    const std::uint64_t end = last->offset + last->bytes;
    const std::string distance = location.address < end ? "across"
                                 : location.address == end
                                     ? "just past"
                                     : std::to_string(location.address - end) + " bytes past";
    return LaunchCheck::Description{name_of(location),
                                    distance + " the end of shared array '" + demangle(last->name) + "' of " +
                                        std::to_string(last->bytes) + " bytes",
                                    {},
                                    {}};
  });
  return false;
}

bool BlockCheck::is_unwritten(Location location, std::uint64_t bytes) const {
  if (location.kind == Location::Kind::global) {
    const WrittenMemory* const memory = written_memory();
    return memory != nullptr && memory->is_unwritten(location.address, bytes);
  }
  const auto first = location.owner->shared_written_.begin() + static_cast<std::ptrdiff_t>(location.address);
  return std::none_of(first, first + static_cast<std::ptrdiff_t>(bytes), [](bool each) { return each; });
}

/// A struct may contain padding, so a read is reported only if all of its bytes are unwritten.
void BlockCheck::check_written(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
                               Location location) {
  WrittenMemory* const global = written_memory();
  const bool is_shared = location.kind == Location::Kind::shared;
  if (site.role.reads && is_unwritten(location, access.bytes)) {
    launch_.add(FindingKind::uninitialized_read, access_of(warp, site, access.lane), nullptr, [&] {
      return LaunchCheck::Description{name_of(location), "nothing has written it", {}, {}, is_shared};
    });
  }
  if (!site.role.writes) return;
  if (is_shared) {
    std::fill_n(location.owner->shared_written_.begin() + static_cast<std::ptrdiff_t>(location.address),
                access.bytes, true);
  } else if (global != nullptr) {
    global->write(location.address, access.bytes);
  }
}

// ---------------------------------------------------------------- races

/// Returns the mark of an access, without its bytes.
AccessMark BlockCheck::mark_of(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                               const Accessor& accessor) const {
  AccessMark mark;
  mark.time = accessor.operation != 0 ? accessor.operation : clocks_[warp.warpid].now();
  mark.block = block_;
  mark.warp = warp.warpid & 31;
  mark.lane = lane & 31;
  mark.reach = static_cast<std::uint32_t>(accessor.role.reach) & 3;
  mark.site = std::min(site.index, AccessMark::unknown_site) & AccessMark::unknown_site;
  mark.is_async = accessor.operation != 0 ? 1 : 0;
  return mark;
}

void BlockCheck::check_race(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
                            Location location, const std::byte* value) {
  bool is_reported = false;
  const Accessor accessor{.role = site.role, .collides = access.collides};
  mark_words(warp, site, access.lane, location, access.bytes, accessor,
             [&](const Conflict& found, std::uint64_t) {
               if (is_reported) return;
               // Two writers of the same value race in theory, but programs set flags that way.
               const bool both_write = found.earlier_writes && site.role.writes && !site.role.reads;
               const bool may_repeat = both_write && found.earlier.is_async == 0;
               if (may_repeat && (access.repeats || changes_nothing(location, access, value))) return;
               is_reported = true;
               add_conflict(warp, site, access.lane, location, accessor, found);
             });
}

bool BlockCheck::changes_nothing(Location location, const LaneAccess& access, const std::byte* value) const {
  if (value == nullptr) return false;
  if (location.kind == Location::Kind::shared)
    return std::memcmp(location.owner->shared_memory_ + location.address, value, access.bytes) == 0;
  return launch_.memory().around(location.address).holds(location.address, access.bytes) &&
         std::memcmp(reinterpret_cast<const std::byte*>(location.address), value, access.bytes) == 0;
}

void BlockCheck::add_conflict(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                              Location location, const Accessor& accessor, const Conflict& conflict) {
  CheckedAccess earlier = access_of(conflict.earlier);
  earlier.writes = conflict.earlier_writes;
  const FindingKind kind = conflict.lacks_proxy_fence       ? FindingKind::missing_proxy_fence
                           : conflict.earlier.is_async != 0 ? FindingKind::unfinished_operation
                                                            : FindingKind::race;
  CheckedAccess place = access_of(warp, site, lane);
  place.is_async = accessor.operation != 0;
  place.writes = accessor.role.writes;
  const bool is_by_library = conflict.lacks_proxy_fence && !conflict.earlier_writes && site.from_library;
  const auto describe = [&] {
    const bool is_together = accessor.collides && conflict.earlier.block == block_ &&
                             conflict.earlier.warp == (warp.warpid & 31) && earlier.site == &site;
    std::string why = is_together
                          ? "lanes of a warp store different values there at once; any one of them remains"
                          : explain(warp, lane, conflict);
    if (is_by_library) why += refill_by_library;
    return LaunchCheck::Description{name_of(location), why, earlier, name_of(location), false, is_by_library};
  };
  const bool is_async = place.is_async || earlier.is_async;
  if (is_async && kind != FindingKind::missing_proxy_fence) {
    launch_.add_async(kind, place, earlier.site, describe);
  } else {
    launch_.add(kind, place, earlier.site, describe);
  }
}

std::string BlockCheck::explain(const WarpContext& warp, std::uint32_t lane, const Conflict& conflict) const {
  if (conflict.lacks_proxy_fence)
    return conflict.earlier_writes
               ? "fence.proxy.async is missing: the async proxy may not see the write of the generic proxy"
               : "fence.proxy.async is missing: the async proxy may write before the generic proxy has read";
  if (conflict.earlier.is_async != 0) return explain_operation(warp, lane, conflict);
  if (conflict.earlier.block != block_) return "nothing orders the two blocks";
  if (conflict.earlier.warp != (warp.warpid & 31))
    return "no barrier or other synchronization orders the two warps";
  return "no __syncwarp orders the two lanes of a warp";
}

// ---------------------------------------------------------------- waiting

void BlockCheck::meet(const WarpContext& warp, const AccessSite& site, const std::uint32_t* members,
                      std::uint32_t mask) {
  if (mask == 0) return;
  clocks_[warp.warpid].meet();
  if (!launch_.selection().sync) return;
  for_each_lane(mask, [&](std::uint32_t lane) {
    if ((members[lane] >> lane & 1) != 0) return;
    launch_.add(FindingKind::wrong_members, access_of(warp, site, lane), nullptr, [&] {
      return LaunchCheck::Description{
          {},
          "lane " + std::to_string(lane) + " is not among its members, " + hexadecimal(members[lane]),
          {},
          {}};
    });
  });
}

std::uint32_t BlockCheck::read_inactive(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                                        std::uint32_t source, std::uint32_t own) {
  if (!launch_.selection().sync) return own;
  launch_.add(FindingKind::inactive_source, access_of(warp, site, lane), nullptr, [&] {
    const std::uint32_t threads = launch_.shape().block.x * launch_.shape().block.y * launch_.shape().block.z;
    const std::string which = "lane " + std::to_string(lane) + " reads lane " + std::to_string(source);
    std::string why = ", which does not execute the shuffle";
    if ((warp.live >> source & 1) == 0) why = ", which has exited";
    if (warp.warpid * warp_size + source >= threads)
      why = ", which the block of " + std::to_string(threads) + " threads does not have";
    return LaunchCheck::Description{{}, which + why + ": the value is undefined", {}, {}, true};
  });
  const ExploredRun* const run = launch_.explored();
  return run != nullptr && run->undefined.replaces(FindingKind::inactive_source, site.line)
             ? std::to_integer<std::uint32_t>(*run->undefined.fill) * 0x0101'0101u
             : own;
}

void BlockCheck::arrive(BarrierKnowledge& arrived, std::uint32_t warp) {
  WarpClock& clock = clocks_[warp];
  clock.settle();
  arrived.known.join(clock.snapshot());
  arrived.released_to_block.join(clock.released(Reach::block));
  arrived.released_to_device.join(clock.released(Reach::device));
  clock.meet();
}

void BlockCheck::leave(const BarrierKnowledge& arrived, std::uint32_t warp) {
  WarpClock& clock = clocks_[warp];
  clock.learn(arrived.known);
  clock.release(arrived.released_to_block, arrived.released_to_device);
  clock.meet();
}

void BlockCheck::fault(const WarpContext& warp, const Fault& fault) {
  FindingKind kind = FindingKind::out_of_bounds;
  if (fault.kind == FaultKind::misaligned_address) kind = FindingKind::misaligned;
  if (fault.kind == FaultKind::wrong_space) kind = FindingKind::wrong_space;
  if (fault.kind == FaultKind::invalid_tensor || fault.kind == FaultKind::bad_descriptor)
    kind = FindingKind::invalid_tensor;
  const bool is_global = fault.site->kind == AddressKind::host;
  if (kind == FindingKind::out_of_bounds && is_global && launch_.memory().is_freed(fault.address) &&
      launch_.memory().around(fault.address).bytes == 0)
    kind = FindingKind::use_after_free;
  launch_.add(kind, access_of(warp, *fault.site, fault.lane), nullptr, [&] {
    return LaunchCheck::Description{name_of_target(fault), name_of_fault(warp, fault), {}, {}};
  });
}

// ---------------------------------------------------------------- names

CheckedAccess BlockCheck::access_of(const WarpContext& warp, const AccessSite& site,
                                    std::uint32_t lane) const {
  CheckedAccess made;
  made.site = &site;
  made.by = &warp;
  std::copy(coordinates_, coordinates_ + 3, made.block);
  for (int axis = 0; axis < 3; ++axis) made.thread[axis] = warp.tid[axis][lane];
  return made;
}

CheckedAccess BlockCheck::access_of(const AccessMark& mark) const {
  const std::deque<AccessSite>& sites = launch_.sites();
  const bool is_known = mark.site != AccessMark::unknown_site && mark.site < sites.size();
  CheckedAccess made = access_of(is_known ? &sites[mark.site] : nullptr, mark.block, mark.warp, mark.lane);
  made.is_async = mark.is_async != 0;
  return made;
}

CheckedAccess BlockCheck::access_of(const AccessSite* site, std::uint32_t block, std::uint32_t warp,
                                    std::uint32_t lane) const {
  const Dim3& grid = launch_.shape().grid;
  const Dim3& threads = launch_.shape().block;
  const std::uint32_t thread = warp * warp_size + lane;
  CheckedAccess made;
  made.site = site;
  made.block[0] = block % grid.x;
  made.block[1] = block / grid.x % grid.y;
  made.block[2] = block / grid.x / grid.y;
  made.thread[0] = thread % threads.x;
  made.thread[1] = thread / threads.x % threads.y;
  made.thread[2] = thread / threads.x / threads.y;
  return made;
}

std::string BlockCheck::name_of(Location location) const {
  if (location.kind == Location::Kind::shared) return name_of_shared(launch_.shared(), location.address);
  if (location.kind == Location::Kind::tensor) {
    const std::uint64_t word = location.address / 4;
    return "lane " + std::to_string(word / 512) + ", column " + std::to_string(word % 512) +
           " of tensor memory";
  }
  return launch_.memory().describe(location.address);
}

// ---------------------------------------------------------------- called by compiled code

void check_access(WarpContext* warp, const std::uint64_t* addresses, const std::byte* values,
                  std::uint32_t mask, const AccessSite* site) {
  const unsigned element = site->element_bytes;
  warp->check->settle_atomics();
  for_each_lane(mask, [&](std::uint32_t lane) {
    std::byte value[64];
    const bool has_value = values != nullptr && element != 0 && site->bytes <= sizeof value;
    BlockCheck::LaneAccess access{addresses[lane], site->bytes, lane, false};
    if (has_value) {
      const auto copy_of = [&](std::uint32_t of_lane, std::byte* to) {
        for (unsigned i = 0; i * element < site->bytes; ++i)
          std::memcpy(to + i * element, values + (i * warp_size + of_lane) * element, element);
      };
      copy_of(lane, value);
      for_each_lane(mask & ((1u << lane) - 1), [&](std::uint32_t before) {
        if (addresses[before] != addresses[lane]) return;
        std::byte other[64];
        copy_of(before, other);
        access.repeats = std::memcmp(value, other, site->bytes) == 0;
        access.collides = !access.repeats;
      });
    }
    warp->check->access(*warp, *site, access, has_value ? value : nullptr);
  });
}

void check_fence(WarpContext* warp, std::uint32_t mask, std::uint32_t reach) {
  if (mask != 0) warp->check->fence(warp->warpid, static_cast<Reach>(reach));
}

void check_proxy_fence(WarpContext* warp, std::uint32_t mask) {
  if (mask != 0) warp->check->fence_proxies(warp->warpid, mask);
}

void check_members(WarpContext* warp, const std::uint32_t* members, std::uint32_t mask,
                   const AccessSite* site) {
  warp->check->meet(*warp, *site, members, mask);
}

void check_shuffle(WarpContext* warp, std::uint32_t mask, std::uint32_t participants, std::uint32_t mode,
                   std::uint32_t* dst, const std::uint32_t* b, const std::uint32_t* c,
                   const AccessSite* site) {
  for_each_lane(mask, [&](std::uint32_t lane) {
    const ShuffleSource source = shuffle_source(mode, lane, b[lane], c[lane]);
    if (source.is_in_range && (participants >> source.lane & 1) == 0)
      dst[lane] = warp->check->read_inactive(*warp, *site, lane, source.lane, dst[lane]);
  });
}

void note_fault(WarpContext* warp, const Fault& fault) {
  if (warp->check->launch().selection().memory && fault.site != nullptr) warp->check->fault(*warp, fault);
}

}  // namespace lynxpp::device::cpu
