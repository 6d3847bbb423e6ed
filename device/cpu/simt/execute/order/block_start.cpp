// Starts a thread block and its warps.
#include <algorithm>
#include <cstring>

#include "device/cpu/simt/execute/order/scheduler.h"

namespace lynxpp::device::cpu {

/// Avoids a division per lane, which would dominate short launches.
void BlockRunner::number_threads(WarpContext& context, const Dim3& block, std::uint32_t first) {
  if (block.y == 1 && block.z == 1 && block.x % warp_size == 0) {  // the most common shape
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
      context.tid[0][lane] = first + lane;
      context.tid[1][lane] = context.tid[2][lane] = 0;
    }
    context.has_rows = 1;
    return;
  }
  std::uint32_t x = first % block.x;
  std::uint32_t y = first / block.x % block.y;
  std::uint32_t z = first / block.x / block.y;
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    context.tid[0][lane] = x;
    context.tid[1][lane] = y;
    context.tid[2][lane] = z;
    if (++x < block.x) continue;
    x = 0;
    if (++y < block.y) continue;
    y = 0;
    ++z;
  }
  context.has_rows = 1;
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    const std::uint32_t leader = lane / half_warp * half_warp;
    if (context.tid[0][lane] != context.tid[0][leader] + lane - leader ||
        context.tid[1][lane] != context.tid[1][leader] || context.tid[2][lane] != context.tid[2][leader])
      context.has_rows = 0;
  }
}

/// Sets the state that is the same for every block.
void BlockRunner::prepare_warp(Warp& warp, std::uint32_t index) {
  const LaunchShape& shape = launch_.shape;
  WarpContext& context = warp.context;
  number_threads(context, shape.block, index * warp_size);
  const Dim3 sizes[2] = {shape.block, shape.grid};
  std::uint32_t* const targets[2] = {context.ntid, context.nctaid};
  for (int i = 0; i < 2; ++i) {
    targets[i][0] = sizes[i].x;
    targets[i][1] = sizes[i].y;
    targets[i][2] = sizes[i].z;
  }
  context.parameters = launch_.parameters;
  context.shared_bytes = program_.shared.bytes(shape.shared_bytes);
  context.local_stride = launch_.local_bytes;
  context.warpid = index;
  context.nsmid = launch_.multiprocessors;
  context.dynamic_shared_bytes = shape.shared_bytes;
  context.total_shared_bytes = program_.shared.static_bytes + shape.shared_bytes;
  context.reserved_shared = static_cast<std::uint32_t>(program_.shared.reserved_offset(shape.shared_bytes));
  context.gridid = launch_.grid_id;
  context.workspace = reinterpret_cast<std::uintptr_t>(launch_.workspace);
  context.constants = program_.constants.address;
  context.constant_bytes = program_.constants.bytes;
  context.parameter_bytes = program_.parameter_bytes;
  context.memory = launch_.memory;
  context.sites = counts_ != nullptr ? counts_->sites.data() : nullptr;
  context.words = counts_ != nullptr && counts_->words ? &*counts_->words : nullptr;
  context.ranges = ranges_.data();
  context.known = found_->of(*launch_.memory);
  context.check = check_ ? &*check_ : nullptr;
  context.tensor = &tensor_;
  context.products = products_.data();
  const std::uint32_t others = launch_.threads() - index * warp_size;
  warp.threads = others >= warp_size ? ~0u : (1u << others) - 1;
}

/// Resets a warp to its state before the first instruction of its block.
void BlockRunner::reset(Warp& warp) {
  warp.live = warp.threads;
  warp.depth = 0;
  warp.is_new = true;
  warp.meeting = 0;
  warp.spinning_slices = 0;
  warp.waited_slices = 0;
  warp.exit = nullptr;
  warp.delay = 0;
  warp.watch = {};
}

/// Writes the block's indices and identifiers to a warp's context.
inline void BlockRunner::set_block_state(WarpContext& context) const {
  if (context.fault.kind != FaultKind::none) context.fault = {};
  context.yields = 0;
  context.smid = multiprocessor_;
  const std::uint32_t* const cluster = seat_ != nullptr ? seat_->id : index_;
  for (int axis = 0; axis < 3; ++axis) {
    context.ctaid[axis] = index_[axis];
    context.clusterid[axis] = cluster[axis];
    if (seat_ != nullptr) context.cluster_ctaid[axis] = index_[axis] % context.cluster_nctaid[axis];
  }
}

void BlockRunner::enter_kernel(Warp& warp) {
  warp.is_new = false;
  push_frame(warp, program_.functions[0], Segment{}, warp.live);
}

/// Returns the compiled region at the kernel's entry, in which most short kernels run to completion. Returns
/// null if there is no such region or if the launch is counted, checked, timed or in clusters.
SegmentFunction BlockRunner::first_region() const {
  const CompiledFunction& kernel = program_.functions[0];
  const bool is_watched = counts_ != nullptr || check_ || seat_ != nullptr || launch_.clock != nullptr;
  if (is_watched || kernel.segments.empty() || kernel.segments[0].always_split) return nullptr;
  return kernel.code[0].compiled.load(std::memory_order_acquire);
}

/// Runs a warp's first slice, which needs no stack. Avoids loads that span several recent smaller stores:
/// such a load stalls until all earlier stores, including the last warp's results, have left the store
/// buffer. Precondition: the warp has memory for registers.
inline std::uint32_t BlockRunner::run_first_slice(Warp& warp, SegmentFunction region) {
  WarpContext& context = warp.context;
  context.registers = warp.kernel_registers;
  context.frame = 0;
  context.stack_top = program_.functions[0].frame->bytes();
  context.barrier_result = 0;
  context.join = no_segment;
  context.segment = 0;
  context.turn = slice_segments;
  context.spun = 0;
  context.live = warp.threads;
  forget_removed_ranges();
  return region(&context, warp.threads);
}

/// True if all lanes of the warp exited in the first slice.
inline bool BlockRunner::has_ended(const Warp& warp, std::uint32_t taken) const {
  const WarpContext& context = warp.context;
  const Control control = program_.functions[0].segments[context.segment].control;
  return taken == warp.threads && (control == Control::exit || control == Control::ret) &&
         context.fault.kind == FaultKind::none && context.yields == 0;
}

/// Continues a warp after its first slice.
BlockRunner::Turn BlockRunner::continue_after_first_slice(Warp& warp, std::uint32_t taken) {
  enter_kernel(warp);
  if (continue_after(warp, warp.top(), 0, taken) == Turn::failed) return Turn::failed;
  if (in_step_) return Turn::again;
  const Turn turn = run_warp(warp);
  return turn == Turn::blocked ? Turn::again : turn;
}

BlockRunner::Turn BlockRunner::begin_warp(Warp& warp) {
  const SegmentFunction region = first_region();
  if (region == nullptr || !has_registers(warp)) {
    enter_kernel(warp);
    return failure_ ? Turn::failed : run_warp(warp);
  }
  const std::uint32_t taken = run_first_slice(warp, region);
  if (!has_ended(warp, taken)) return continue_after_first_slice(warp, taken);
  warp.is_new = false;
  if (open_barriers_ == 0 && !meets_cluster_) {  // no barrier waits for the warp
    --live_warps_;
    warp.live = 0;
  } else {
    exit_lanes(warp, warp.live);
  }
  return Turn::finished;
}

/// Runs the warps' first slices one after the other. Warps that exit in their first slice need no further
/// state. The first warp that does not, and all warps after it, are scheduled normally.
BlockRunner::Turn BlockRunner::begin_block() {
  is_new_ = false;
  const SegmentFunction region = first_region();
  const auto count = static_cast<std::uint32_t>(warps_.size());
  std::uint32_t ended = 0;
  std::uint32_t taken = 0;
  bool has_run = false;  // true if the warp after those that have ended has run a slice
  for (; region != nullptr && ended < count && has_registers(*warps_[ended]); ++ended) {
    Warp& warp = *warps_[ended];
    set_block_state(warp.context);
    taken = run_first_slice(warp, region);
    has_run = !has_ended(warp, taken);
    if (has_run) break;
  }
  if (ended == count) return Turn::finished;
  for (std::uint32_t i = 0; i < count; ++i) {
    Warp& warp = *warps_[i];
    reset(warp);
    if (i < ended) {
      warp.is_new = false;
      warp.live = 0;
    } else if (i > ended || !has_run) {
      set_block_state(warp.context);
    }
  }
  live_warps_ = count - ended;
  if (has_run && continue_after_first_slice(*warps_[ended], taken) == Turn::failed) return Turn::failed;
  return Turn::again;
}

/// Allocates the kernel's registers on first use. Returns false if there is no memory.
inline bool BlockRunner::has_registers(Warp& warp) const {
  if (warp.kernel_registers == nullptr) warp.kernel_registers = reserve_kernel_registers(warp);
  return warp.kernel_registers != nullptr;
}

/// Returns null if there is no memory.
std::byte* BlockRunner::reserve_kernel_registers(Warp& warp) const {
  if (warp.frames.empty()) warp.frames.push_back(std::make_unique<Frame>());
  return warp.frames[0]->storage.reserve(program_.functions[0].registers->bytes());
}

/// Assigns the block's shared and local memory. Outside clusters it is the same for all blocks.
Status BlockRunner::assign_memory() {
  local_memory_ = local_.reserve(launch_.local_bytes * warp_size * warps_.size());
  if (local_memory_ == nullptr) return failure("no memory for the local variables of a thread block");
  shared_memory_ = seat_ != nullptr ? seat_->shared + rank_ * seat_->stride
                                    : shared_.reserve(program_.shared.bytes(launch_.shape.shared_bytes));
  for (std::uint32_t i = 0; i < warps_.size(); ++i) {
    WarpContext& context = warps_[i]->context;
    context.shared = shared_memory_;
    context.local = local_memory_ + i * warp_size * launch_.local_bytes;
    set_cluster_state(context);
  }
  return success();
}

Status BlockRunner::start(std::uint64_t block, std::uint32_t multiprocessor, const ClusterSeat* seat) {
  const LaunchShape& shape = launch_.shape;
  number_ = static_cast<std::uint32_t>(block);
  index_[0] = static_cast<std::uint32_t>(block % shape.grid.x);
  index_[1] = static_cast<std::uint32_t>(block / shape.grid.x % shape.grid.y);
  index_[2] = static_cast<std::uint32_t>(block / shape.grid.x / shape.grid.y);
  multiprocessor_ = multiprocessor;
  seat_ = seat;
  rank_ = seat != nullptr ? seat->rank : 0;
  if (seat != nullptr || local_memory_ == nullptr) {
    if (Status assigned = assign_memory(); !assigned) return assigned;
  }
  if (launch_.explored != nullptr && launch_.explored->undefined.replaces(FindingKind::uninitialized_read, 0))
    std::memset(shared_memory_, std::to_integer<int>(*launch_.explored->undefined.fill),
                program_.shared.bytes(shape.shared_bytes));
  if (program_.shared.has_reserved)
    std::memset(shared_memory_ + program_.shared.reserved_offset(shape.shared_bytes), 0,
                SharedLayout::room_reserved);
  tensor_.start();
  static_cast<void>(found_->of(*launch_.memory));
  is_new_ = first_region() != nullptr;
  for (const std::unique_ptr<Warp>& warp : warps_) {
    if (is_new_) break;  // begin_block() does this
    set_block_state(warp->context);
    reset(*warp);
  }
  if (check_) {
    visits_.assign(warps_.size() * program_.segment_count, false);
    check_->start(block, warps_.front()->context.ctaid, shared_memory_,
                  program_.shared.static_bytes + shape.shared_bytes,
                  program_.shared.bytes(shape.shared_bytes));
    if (seat != nullptr) check_->join_cluster(*seat->knowledge, rank_);
  }
  for (ProductProgress& each : products_) {
    if ((each.issued | each.groups) != 0) each = {};
  }
  live_warps_ = static_cast<std::uint32_t>(warps_.size());
  if (meets_cluster_) cluster_arrived_.assign(warps_.size(), 0);
  meets_cluster_ = seat != nullptr;
  in_step_ = false;
  completed_barriers_ = 0;
  for (Barrier& barrier : barriers_) {
    if (open_barriers_ == 0 && !has_arrivals_) break;  // all barriers are in their initial state
    if (barrier.open || has_arrivals_) barrier = {};
  }
  open_barriers_ = 0;
  has_arrivals_ = false;
  idle_rounds_ = 0;
  checked_rounds_ = 0;
  waiting_rounds_ = 0;
  if (launch_.schedule() != nullptr) begin_schedule();
  return success();
}

/// Outside clusters, each block is a cluster of its own.
void BlockRunner::set_cluster_state(WarpContext& context) const {
  const Dim3& grid = launch_.shape.grid;
  const Dim3 each = seat_ != nullptr ? *launch_.shape.cluster : Dim3{};
  const std::uint32_t blocks[3] = {grid.x, grid.y, grid.z};
  const std::uint32_t extents[3] = {each.x, each.y, each.z};
  for (int axis = 0; axis < 3; ++axis) {
    context.cluster_nctaid[axis] = extents[axis];
    context.nclusterid[axis] = blocks[axis] / extents[axis];
  }
  context.cluster_ctarank = rank_;
  context.cluster_nctarank = launch_.cluster_blocks();
  context.is_explicit_cluster = seat_ != nullptr ? 1 : 0;
  context.cluster_shared = seat_ != nullptr ? seat_->shared : shared_memory_;
  context.cluster_stride = seat_ != nullptr
                               ? seat_->stride
                               : align_up(std::max<std::uint64_t>(context.shared_bytes, 1), shared_alignment);
  context.cluster_bytes = context.cluster_stride * context.cluster_nctarank;
  const std::span<BlockRunner* const> members = cluster_members();
  context.peer_tensor = (rank_ ^ 1) < members.size() ? &members[rank_ ^ 1]->tensor_ : nullptr;
}

}  // namespace lynxpp::device::cpu
