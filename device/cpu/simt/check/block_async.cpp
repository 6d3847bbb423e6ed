// Asynchronous operations and mbarrier objects of a block in a checked launch.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "device/cpu/simt/check/block_check.h"
#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/barrier_objects.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::uint64_t object_size = 8;

/// Returns the common beginning of the names of the instructions that commit groups and wait for them.
std::string prefix_of(AsyncCompletion completion) {
  if (completion == AsyncCompletion::matrix_group) return "wgmma";
  if (completion == AsyncCompletion::tensor_load) return "tcgen05.wait::ld";
  if (completion == AsyncCompletion::tensor_store) return "tcgen05.wait::st";
  return completion == AsyncCompletion::copy_group ? "cp.async" : "cp.async.bulk";
}

std::string name_of_operation(const AsyncOperation& operation) {
  switch (operation.completion) {
    case AsyncCompletion::matrix_group: return "the matrix product";
    case AsyncCompletion::tensor_core:
      return operation.site->opcode.starts_with("tcgen05.cp") ? "the copy" : "the matrix product";
    case AsyncCompletion::tensor_load: return "the load";
    case AsyncCompletion::tensor_store: return "the store";
    default: break;
  }
  const std::string_view opcode = operation.site->opcode;
  if (opcode.starts_with("red") || opcode.starts_with("cp.reduce")) return "the reduction";
  return opcode.starts_with("st") ? "the store" : "the copy";
}

}  // namespace

// ---------------------------------------------------------------- operations

/// Returns the clock of the first lane's copies; bulk copies have a second set of clocks for their writes.
std::uint32_t BlockCheck::groups_clock(std::uint32_t warp, AsyncCompletion completion) {
  std::uint32_t& first = group_clocks_[warp * group_kinds + static_cast<std::size_t>(completion)];
  if (first != 0) return first;
  first = next_clock_;
  const std::uint32_t sets = completion == AsyncCompletion::bulk_group ? 2 : 1;
  next_clock_ += is_per_lane(completion) ? warp_size * sets : 1;
  return first;
}

/// In launches with a schedule, counts the operation's effect as a change.
std::function<void()> BlockCheck::noting_change(std::function<void()> perform) {
  if (launch_.schedule() == nullptr) return perform;
  return [run = launch_.explored(), perform = std::move(perform)] {
    ++run->changes;
    perform();
  };
}

/// Returns the round at whose end an operation takes effect that the warp issues now; 0: when a wait needs
/// it; rounds_: at once.
std::uint32_t BlockCheck::choose_completion(std::uint32_t warp) {
  if (launch_.schedule() == nullptr) return 0;
  const std::uint32_t chosen =
      launch_.schedule()->choose(ChoiceKind::completion, {block_, warp}, 1 + std::size(completion_rounds));
  return chosen == 0 ? 0 : rounds_ + completion_rounds[chosen - 1];
}

void BlockCheck::issue(const WarpContext& warp, const AsyncIssue& issue, std::function<void()> perform) {
  perform = noting_change(std::move(perform));
  AsyncOperation made;
  made.site = issue.accesses.empty() ? issue.object_site : issue.accesses.front().site;
  made.completion = issue.completion;
  made.in_async_proxy = issue.in_async_proxy;
  made.block = block_;
  made.warp = warp.warpid;
  made.issued = clocks_[warp.warpid].now();
  LateOperation late{0, issue.lane, 0, choose_completion(warp.warpid), {}};
  Location at;
  if (issue.completion == AsyncCompletion::object) {
    at = locate_object(warp, issue.object);
    if (at.kind == Location::Kind::none) return perform();
    const ObjectPhases& phases = at.owner->phases_of(warp, *issue.object_site, issue.lane, at, this);
    made.read_at = made.written_at = {at.owner->block_, phases.clock, 0, 0};
    made.object = at.address;
    late.number = launch_.operations().add(made);
  } else {
    AsyncGroups& groups = groups_of(warp.warpid, issue.completion);
    late.time = groups.issue(made.site, issue.lane, late.number);
    if (late.number == 0) {
      const std::uint32_t clock = groups_clock(warp.warpid, issue.completion);
      const bool is_bulk = issue.completion == AsyncCompletion::bulk_group;
      made.read_at = {block_, clock, late.time, 0};
      made.written_at = {block_, clock + (is_bulk ? warp_size : 0), late.time, 0};
      late.number = launch_.operations().add(made);
      groups.set_number(late.number);
    }
  }
  if (launch_.selection().race && late.number != 0) {
    for (const AsyncAccess& access : issue.accesses) {
      AccessRole role = access.site->role;
      role.reads = access.reads;
      role.writes = access.writes;
      if (!(role.reads && role.writes)) role.reach = Reach::none;
      check_operation(warp, access, issue.lane, {role, late.number, issue.in_async_proxy});
    }
  }
  if (issue.completion == AsyncCompletion::tensor_core) {
    tensor_core_.push_back({late.number, late.lane, 0, 0, std::move(perform)});
    late.perform = [this, count = ++tensor_issued_] { perform_tensor_core(count); };
    return groups_of(warp.warpid, issue.completion).add(std::move(late));
  }
  if (issue.completion != AsyncCompletion::object) {
    // Later reads are not operands of the product.
    if (issue.completion == AsyncCompletion::matrix_group) clocks_[warp.warpid].advance();
    late.perform = std::move(perform);
    if (late.due != 0 && late.due == rounds_) std::exchange(late.perform, nullptr)();
    return groups_of(warp.warpid, issue.completion).add(std::move(late));
  }
  check_object_access(warp, *issue.object_site, issue.lane, at, ObjectAccess::change, late.number);
  const ObjectEntry delivered{made.site, block_, warp.warpid, static_cast<std::int64_t>(issue.object_bytes)};
  late.perform = [owner = at.owner, number = late.number, offset = at.address, place = issue.object,
                  delivered, issuer = clocks_[warp.warpid].snapshot(), perform = std::move(perform)] {
    perform();
    owner->deliver(number, offset, place, delivered, issuer);
  };
  clocks_[warp.warpid].advance();
  if (late.due != 0 && late.due == rounds_) return late.perform();
  at.owner->objects_[at.address].late.push_back(std::move(late));
}

/// An operation has completed bytes of an object of this block.
void BlockCheck::deliver(std::uint32_t number, std::uint64_t offset, std::byte* place,
                         const ObjectEntry& delivered, const Knowledge& issuer) {
  const bool ends_phase = complete_bytes(place, static_cast<std::uint64_t>(delivered.amount));
  ObjectPhases& phases = objects_[offset];
  if (number != 0) {
    AsyncOperation& operation = launch_.operations()[number];
    operation.read_at.time = operation.written_at.time = phases.completed + 1;
  }
  ObjectPhases::add(phases.delivered, delivered);
  phases.arriving.known.join(issuer);
  if (ends_phase) phases.end_phase();
}

void BlockCheck::commit(const WarpContext& warp, std::uint32_t lanes, AsyncCompletion completion) {
  groups_of(warp.warpid, completion).commit(lanes);
}

void BlockCheck::wait(const WarpContext& warp, std::uint32_t lanes, AsyncCompletion completion,
                      std::optional<std::uint32_t> pending, bool only_reads) {
  AsyncGroups& groups = groups_of(warp.warpid, completion);
  if (groups.now() == 0) return;
  const std::uint32_t first = groups_clock(warp.warpid, completion);
  while (lanes != 0) {
    // Lanes with equal times wait together.
    std::uint32_t time = 0;
    std::uint32_t equal = 0;
    for_each_lane(lanes, [&](std::uint32_t lane) {
      const std::uint32_t own = pending ? groups.completed_by_wait(lane, *pending) : groups.now();
      if (equal == 0) time = own;
      if (own == time) equal |= 1u << lane;
    });
    lanes &= ~equal;
    if (time == 0) continue;
    if (completion == AsyncCompletion::matrix_group) {
      for (const LateOperation& late : groups.late()) {
        if (late.time <= time && late.number != 0)
          clocks_[warp.warpid].consume(launch_.operations()[late.number].issued);
      }
    }
    for_each_lane(equal, [&](std::uint32_t lane) { groups.perform(lane, time); });
    clocks_[warp.warpid].wait(first, is_per_lane(completion), equal, time);
    if (completion == AsyncCompletion::matrix_group) wait_for_warpgroup(warp, equal, time);
    if (completion == AsyncCompletion::bulk_group && !only_reads)
      clocks_[warp.warpid].wait(first + warp_size, true, equal, time);
  }
}

/// A product is an operation of four warps, which issue the same ones.
void BlockCheck::wait_for_warpgroup(const WarpContext& warp, std::uint32_t lanes, std::uint32_t time) {
  constexpr std::uint32_t warps_in_group = 4;
  const std::uint32_t begin = warp.warpid / warps_in_group * warps_in_group;
  for (std::uint32_t other = begin; other < std::min(begin + warps_in_group, warps_); ++other) {
    const std::uint32_t issued = groups_of(other, AsyncCompletion::matrix_group).now();
    if (other == warp.warpid || issued == 0) continue;
    clocks_[warp.warpid].wait(groups_clock(other, AsyncCompletion::matrix_group), false, lanes,
                              std::min(issued, time));
  }
}

void BlockCheck::check_operation(const WarpContext& warp, const AsyncAccess& access, std::uint32_t lane,
                                 const Accessor& accessor) {
  const Location location = locate(warp, *access.site, {access.address, access.bytes, lane});
  if (location.kind == Location::Kind::none || access.bytes == 0) return;
  std::optional<Conflict> first;
  Location at = location;
  mark_words(warp, *access.site, lane, location, access.bytes, accessor,
             [&](const Conflict& found, std::uint64_t word) {
               if (first) return;
               first = found;
               at.address = std::max(location.address, word);
             });
  if (first) add_conflict(warp, *access.site, lane, at, accessor, *first);
}

// ---------------------------------------------------------------- objects

BlockCheck::Location BlockCheck::locate_object(const WarpContext& warp, const std::byte* object) {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  const auto rank = rank_of_generic(warp, address);
  if (!rank) return {};
  const std::uint64_t offset = address - generic_shared(warp, *rank);
  return {Location::Kind::shared, offset, *rank == warp.cluster_ctarank ? this : cluster_->blocks[*rank]};
}

/// Returns the phases of an object of this block, which `user` uses. Reports objects that do not exist.
ObjectPhases& BlockCheck::phases_of(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                                    Location location, BlockCheck* user) {
  const auto [found, is_new] = objects_.try_emplace(location.address);
  ObjectPhases& phases = found->second;
  if (!is_new) return phases;
  phases.clock = next_clock_++;
  phases.passed.resize(warps_);
  if (is_unwritten(location, object_size) && launch_.selection().sync) {
    launch_.add(FindingKind::invalid_barrier, user->access_of(warp, site, lane), nullptr, [&] {
      return LaunchCheck::Description{
          name_of(location), "no mbarrier.init has initialized it, or mbarrier.inval has ended it", {}, {}};
    });
  }
  const auto begin = shared_written_.begin() + static_cast<std::ptrdiff_t>(location.address);
  std::fill_n(begin, object_size, true);
  return phases;
}

/// Checks the access of an operation to the words of an object. Those that do not initialize or invalidate it
/// are strong and never race with each other.
void BlockCheck::check_object_access(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                                     Location location, ObjectAccess access, std::uint32_t operation) {
  if (!launch_.selection().race) return;
  const bool replaces = access == ObjectAccess::replace;
  const AccessRole role{.reads = !replaces,
                        .writes = access != ObjectAccess::test,
                        .is_barrier = true,
                        .reach = replaces ? Reach::none : Reach::device};
  const Accessor accessor{role, operation, false};
  std::optional<Conflict> first;
  mark_words(warp, site, lane, location, object_size, accessor, [&](const Conflict& found, std::uint64_t) {
    if (!first) first = found;
  });
  // Later operations replace the mark of the initialization, which must precede all of them.
  const auto object = location.owner->objects_.find(location.address);
  if (!first && !replaces && object != location.owner->objects_.end()) {
    const AccessMark& made = object->second.initialized;
    if (made.time != 0 && !clocks_[warp.warpid].knows(made.block, made.warp, made.time, made.lane == lane))
      first = Conflict{made, true};
  }
  if (first) add_conflict(warp, site, lane, location, accessor, *first);
}

/// Reports that an object is replaced during a phase. Returns false if it is not.
bool BlockCheck::check_in_use(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                              Location location) {
  const auto found = location.owner->objects_.find(location.address);
  if (found == location.owner->objects_.end() || !found->second.is_in_phase()) return false;
  if (!launch_.selection().sync) return true;
  const ObjectPhases& phases = found->second;
  CheckedAccess last;
  std::copy(coordinates_, coordinates_ + 3, last.block);
  for (const auto* entries : {&phases.arrivals, &phases.expected, &phases.delivered}) {
    if (entries->empty()) continue;
    last = access_of(entries->back().site, entries->back().block, entries->back().warp, 0);
    break;
  }
  if (last.site == nullptr && !phases.late.empty()) {
    const LateOperation& late = phases.late.front();
    const AsyncOperation* const operation = late.number != 0 ? &launch_.operations()[late.number] : nullptr;
    if (operation != nullptr) last = access_of(operation->site, operation->block, operation->warp, late.lane);
  }
  launch_.add(FindingKind::barrier_in_use, access_of(warp, site, lane), last.site, [&] {
    std::string detail = "phase " + std::to_string(phases.completed) + " of the mbarrier has begun: ";
    const std::string present = phases.describe(location.owner->block_);
    detail += present.empty() ? "a copy that completes on it is in flight" : present;
    return LaunchCheck::Description{name_of(location), detail, last, name_of(location)};
  });
  return true;
}

void BlockCheck::publish(ObjectPhases& phases, std::uint32_t warp, bool releases) {
  WarpClock& clock = clocks_[warp];
  BarrierKnowledge& to = phases.arriving;
  if (!releases) return to.known.join(clock.released(Reach::block));
  clock.settle();
  to.known.join(clock.snapshot());
  to.released_to_block.join(clock.released(Reach::block));
  to.released_to_device.join(clock.released(Reach::device));
  clock.advance();
}

void BlockCheck::change_object(const WarpContext& warp, const AccessSite& site, const std::byte* object,
                               const ObjectChange& change) {
  using Kind = ObjectChange::Kind;
  if (launch_.explored() != nullptr) ++launch_.explored()->changes;
  const Location at = locate_object(warp, object);
  if (at.kind == Location::Kind::none) return;
  BlockCheck& owner = *at.owner;
  if (change.kind == Kind::init || change.kind == Kind::inval) {
    if (!check_in_use(warp, site, change.lane, at))
      check_object_access(warp, site, change.lane, at, ObjectAccess::replace, 0);
    // An object that is initialized again has a new clock.
    owner.objects_.erase(at.address);
    const auto begin = owner.shared_written_.begin() + static_cast<std::ptrdiff_t>(at.address);
    std::fill_n(begin, object_size, change.kind == Kind::init);
    if (change.kind == Kind::inval) return;
    ObjectPhases& phases = owner.phases_of(warp, site, change.lane, at, this);
    phases.initialized = mark_of(warp, site, change.lane, {});
    phases.initialized.bytes = 0xf;
    return;
  }
  ObjectPhases& phases = owner.phases_of(warp, site, change.lane, at, this);
  check_object_access(warp, site, change.lane, at, ObjectAccess::change, 0);
  const auto entry = [&](std::int64_t amount) { return ObjectEntry{&site, block_, warp.warpid, amount}; };
  if (change.kind == Kind::complete) {
    ObjectPhases::add(phases.delivered, entry(change.bytes));
  } else if (change.bytes != 0) {
    ObjectPhases::add(phases.expected, entry(change.bytes));
  }
  if (change.kind == Kind::arrive) {
    if (change.count != 0) ObjectPhases::add(phases.arrivals, entry(change.count));
    publish(phases, warp.warpid, change.releases);
  }
  if (change.ends_phase) phases.end_phase();
}

void BlockCheck::arrive_with_copies(const WarpContext& warp, const AccessSite& site, std::byte* object,
                                    std::uint32_t lane, const ObjectChange& change) {
  AsyncGroups& groups = groups_of(warp.warpid, AsyncCompletion::copy_group);
  groups.perform(lane, groups.now());
  const Location at = locate_object(warp, object);
  if (at.kind != Location::Kind::none && groups.now() != 0) {
    BlockTimes times;
    times.at(groups_clock(warp.warpid, AsyncCompletion::copy_group) + lane).time = groups.now();
    ObjectPhases& phases = at.owner->phases_of(warp, site, lane, at, this);
    phases.arriving.known.join(block_, std::make_shared<const BlockTimes>(std::move(times)));
  }
  change_object(warp, site, object, change);
}

/// Performs operations of the tensor core until it has performed `count` of the block's.
void BlockCheck::perform_tensor_core(std::uint64_t count) {
  while (!tensor_core_.empty() && tensor_issued_ - tensor_core_.size() < count) {
    const LateOperation next = std::move(tensor_core_.front());
    tensor_core_.pop_front();
    next.perform();
  }
}

void BlockCheck::commit_tensor_core(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                                    std::byte* object) {
  AsyncGroups& groups = groups_of(warp.warpid, AsyncCompletion::tensor_core);
  groups.commit(1u << lane);
  const Location at = locate_object(warp, object);
  if (at.kind == Location::Kind::none) return;
  ObjectPhases& phases = at.owner->phases_of(warp, site, lane, at, this);
  check_object_access(warp, site, lane, at, ObjectAccess::change, 0);
  BlockTimes times;
  if (groups.now() != 0)
    times.at(groups_clock(warp.warpid, AsyncCompletion::tensor_core) + lane).time = groups.now();
  WarpClock& clock = clocks_[warp.warpid];
  const ObjectEntry arrived{&site, block_, warp.warpid, 1};
  LateOperation late{0, lane, 0, 0, {}};
  // The arrival is a release of what the thread has done before the commit.
  late.perform = [this, owner = at.owner, offset = at.address, object, arrived, lane, time = groups.now(),
                  warp_index = warp.warpid, known = clock.snapshot(),
                  times = std::make_shared<const BlockTimes>(std::move(times))] {
    groups_of(warp_index, AsyncCompletion::tensor_core).perform(lane, time);
    const bool ends_phase = arrive_at(object);
    ObjectPhases& of = owner->objects_[offset];
    ObjectPhases::add(of.arrivals, arrived);
    of.arriving.known.join(known);
    of.arriving.known.join(block_, times);
    if (ends_phase) of.end_phase();
  };
  clock.advance();
  phases.late.push_back(std::move(late));
}

void BlockCheck::note_tensor_allocation(const WarpContext& warp, const AccessSite& site,
                                        std::uint32_t column) {
  CheckedAccess& allocation = tensor_allocations_[column];
  allocation = access_of(warp, site, 0);
  allocation.by = nullptr;  // it is reported later
}

void BlockCheck::test_object(const WarpContext& warp, const AccessSite& site, const std::byte* object,
                             const ObjectTest& test) {
  const Location at = locate_object(warp, object);
  if (at.kind == Location::Kind::none) return;
  ObjectPhases& phases = at.owner->phases_of(warp, site, test.lane, at, this);
  check_object_access(warp, site, test.lane, at, ObjectAccess::test, 0);
  if (!test.passed) return;
  WarpClock& clock = clocks_[warp.warpid];
  if (!test.acquires) {
    clock.hear(phases.over.known);
    return;
  }
  if (at.owner != this) return clock.learn(phases.over.known);
  ObjectPhases::Passed& passed = phases.passed[warp.warpid];
  if (passed.site == nullptr || passed.completed != phases.completed) {
    clock.learn(phases.over.known);
    clock.release(phases.over.released_to_block, phases.over.released_to_device);
  }
  passed = {&site, test.parity, phases.completed};
  if (phases.completed != 0) clock.wait(phases.clock, false, 1u << test.lane, phases.completed);
}

bool BlockCheck::perform_late(const WarpContext& warp, const std::byte* object) {
  const Location at = locate_object(warp, object);
  if (at.kind == Location::Kind::none) return false;
  const auto found = at.owner->objects_.find(at.address);
  if (found == at.owner->objects_.end() || found->second.late.empty()) return false;
  for (const LateOperation& late : std::exchange(found->second.late, {})) late.perform();
  return true;
}

void BlockCheck::perform_overdue() {
  for (AsyncGroups& groups : groups_) groups.perform_all();
  for (auto& [offset, phases] : objects_) {
    for (const LateOperation& late : std::exchange(phases.late, {})) late.perform();
  }
}

void BlockCheck::end_round() {
  ++rounds_;
  const auto is_due = [&](const LateOperation& each) { return each.due != 0 && each.due <= rounds_; };
  for (AsyncGroups& groups : groups_) groups.perform_due(rounds_);
  for (auto& [offset, phases] : objects_) {
    std::vector<LateOperation> due;
    std::ranges::copy_if(phases.late, std::back_inserter(due), is_due);
    std::erase_if(phases.late, is_due);
    for (const LateOperation& late : due) late.perform();
  }
}

std::string BlockCheck::describe_arrivals(const std::byte* object) const {
  const auto offset = static_cast<std::uint64_t>(object - shared_memory_);
  const auto found = objects_.find(offset);
  return found != objects_.end() ? found->second.describe(block_) : std::string();
}

// ---------------------------------------------------------------- the end of the block

void BlockCheck::add_unfinished(const LateOperation& late, std::string detail) {
  if (late.number == 0 || !launch_.selection().sync) return;
  const AsyncOperation& operation = launch_.operations()[late.number];
  CheckedAccess place = access_of(operation.site, operation.block, operation.warp, late.lane);
  launch_.add(FindingKind::copies_in_flight, place, nullptr, [&] {
    return LaunchCheck::Description{{}, std::move(detail), {}, {}};
  });
}

void BlockCheck::finish_tensor_core() {
  if (!tensor_core_.empty())
    add_unfinished(tensor_core_.front(),
                   "the block exits before a thread has waited for a tcgen05.commit of the operation");
  perform_tensor_core(tensor_issued_);
  for (const auto& [column, access] : std::exchange(tensor_allocations_, {})) {
    if (!launch_.selection().sync) continue;
    launch_.add(FindingKind::unreleased_memory, access, nullptr, [&column = column] {
      return LaunchCheck::Description{"column " + std::to_string(column) + " of tensor memory",
                                      "the block exits before tcgen05.dealloc has released the columns",
                                      {},
                                      {}};
    });
  }
}

void BlockCheck::finish() {
  for (std::uint32_t warp = 0; warp < warps_; ++warp) {
    groups_of(warp, AsyncCompletion::tensor_core) = {};
    groups_of(warp, AsyncCompletion::tensor_store).perform_all();
  }
  finish_tensor_core();
  for (std::uint32_t warp = 0; warp < warps_; ++warp) {
    for (const AsyncCompletion completion : {AsyncCompletion::copy_group, AsyncCompletion::bulk_group}) {
      AsyncGroups& groups = groups_of(warp, completion);
      for (const LateOperation& late : groups.late()) {
        // The hardware waits for cp.async before a thread exits.
        if (completion == AsyncCompletion::bulk_group) {
          add_unfinished(late,
                         groups.is_committed(late.lane, late.time)
                             ? "the block exits before cp.async.bulk.wait_group has waited for the copy"
                             : "the block exits while the copy is in no group: cp.async.bulk.commit_group "
                               "is missing");
        }
      }
      groups.perform_all();
      groups = {};
    }
  }
  for (auto& [offset, phases] : objects_) {
    const std::string name = name_of_object(offset);
    const bool is_late = !phases.late.empty();
    for (const LateOperation& late : std::exchange(phases.late, {})) {
      add_unfinished(late, "the block exits before a thread has waited for phase " +
                               std::to_string(phases.completed) + " of " + name);
      late.perform();
    }
    const std::int64_t missing = ObjectPhases::sum(phases.expected) - ObjectPhases::sum(phases.delivered);
    if (missing == 0 || is_late || !launch_.selection().sync) continue;
    const ObjectEntry& entry = phases.expected.empty() ? phases.delivered.back() : phases.expected.back();
    launch_.add(
        FindingKind::byte_count_mismatch, access_of(entry.site, entry.block, entry.warp, 0), nullptr, [&] {
          return LaunchCheck::Description{
              {},
              "phase " + std::to_string(phases.completed) + " of " + name + " expects " +
                  std::to_string(ObjectPhases::sum(phases.expected)) + " bytes; copies have delivered " +
                  std::to_string(ObjectPhases::sum(phases.delivered)),
              {},
              {}};
        });
  }
}

// ---------------------------------------------------------------- words

std::string BlockCheck::name_of_object(std::uint64_t offset) const {
  return "the mbarrier at " + name_of_shared(launch_.shared(), offset);
}

/// Explains why an earlier operation is not ordered before an access by `lane`.
std::string BlockCheck::explain_operation(const WarpContext& warp, std::uint32_t lane,
                                          const Conflict& conflict) const {
  const AsyncOperation& operation = launch_.operations()[conflict.earlier.time];
  const std::uint32_t issuer = conflict.earlier.lane;
  if (operation.completion == AsyncCompletion::object) {
    if (operation.read_at.block != block_) return "no wait at its mbarrier orders the two";
    const std::string name = name_of_object(operation.object);
    const auto found = objects_.find(operation.object);
    if (found == objects_.end() || found->second.clock != operation.read_at.clock)
      return "nothing has waited for its phase of " + name;
    const ObjectPhases& phases = found->second;
    const std::uint32_t phase = operation.read_at.time != 0 ? operation.read_at.time - 1 : phases.completed;
    std::string text = name_of_operation(operation) + " completes phase " + std::to_string(phase) +
                       " (parity " + std::to_string(phase & 1) + ") of " + name;
    const ObjectPhases::Passed& passed = phases.passed[warp.warpid];
    if (passed.site == nullptr) return text + ", for which the thread has not waited";
    if (passed.completed > phase)
      return text + ", for which lane " + std::to_string(lane) + " has not waited";
    return text + "; the wait at " + line_of(*passed.site) + " for parity " + std::to_string(passed.parity) +
           " returned because of the phase before";
  }
  const ClockTime at = operation.completion_for(issuer, conflict.earlier_writes);
  const std::string noun = name_of_operation(operation);
  if (operation.block != block_) return "nothing orders the two blocks";
  const AsyncGroups& groups = groups_of(operation.warp, operation.completion);
  const WarpClock& clock = clocks_[operation.warp];
  if (clock.knows_completion(at, issuer))
    return "the thread that issued " + noun + " has waited for it, but nothing orders the two threads";
  if (is_of_tensor_core(operation)) {
    return groups.is_committed(issuer, at.time)
               ? "no wait for the phase of an mbarrier at which tcgen05.commit arrives covers " + noun
               : noun + " is in no commit: tcgen05.commit is missing";
  }
  if (operation.completion == AsyncCompletion::tensor_load ||
      operation.completion == AsyncCompletion::tensor_store)
    return prefix_of(operation.completion) + " is missing after " + noun;
  if (!groups.is_committed(issuer, at.time)) {
    const bool may_wait_for_all = operation.completion == AsyncCompletion::copy_group;
    return noun + " is in no group, so nothing has waited for it: " + prefix_of(operation.completion) +
           ".commit_group" +
           (may_wait_for_all ? " and a wait, or cp.async.wait_all, are missing" : " and a wait are missing");
  }
  if (clock.knows_completion(operation.completion_for(issuer, false), issuer))
    return "cp.async.bulk.wait_group.read waits only until the copy has read its source";
  return "no " + prefix_of(operation.completion) + ".wait_group has waited for the group of " + noun;
}

}  // namespace lynxpp::device::cpu
