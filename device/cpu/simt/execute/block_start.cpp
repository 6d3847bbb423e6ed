// How a thread block and its warps begin.
#include <algorithm>

#include "device/cpu/simt/execute/scheduler.h"

namespace lynxpp::device::cpu {

/// Without a division for each lane: a short launch has no time for more.
void BlockRunner::number_threads(WarpContext& context, const Dim3& block, std::uint32_t first) {
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

/// What is the same for every block.
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
  context.shared_bytes = program_.shared.static_bytes + shape.shared_bytes;
  context.local_stride = launch_.local_bytes;
  context.warpid = index;
  context.nsmid = launch_.multiprocessors;
  context.dynamic_shared_bytes = shape.shared_bytes;
  context.total_shared_bytes = static_cast<std::uint32_t>(context.shared_bytes);
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
  const std::uint32_t others = launch_.threads() - index * warp_size;
  warp.threads = others >= warp_size ? ~0u : (1u << others) - 1;
}

void BlockRunner::start_warp(Warp& warp) {
  if (warp.context.fault.kind != FaultKind::none) warp.context.fault = {};
  warp.context.yields = 0;
  warp.live = warp.threads;
  warp.depth = 0;
  warp.is_new = true;
  warp.meeting = 0;
  warp.spinning_slices = 0;
}

void BlockRunner::enter_kernel(Warp& warp) {
  warp.is_new = false;
  push_frame(warp, program_.functions[0], Segment{}, warp.live);
}

/// A warp's first slice. Where the kernel begins with a region most warps of short kernels end in it, and
/// need no stack. Nothing is read here that was just written in smaller pieces: such a load waits until all
/// stores before it, the last warp's results among them, have left the processor.
BlockRunner::Turn BlockRunner::begin_warp(Warp& warp) {
  const CompiledFunction& kernel = program_.functions[0];
  const bool is_watched = counts_ != nullptr || check_ || seat_ != nullptr;
  const SegmentFunction region = is_watched || kernel.segments.empty() || kernel.segments[0].always_apart
                                     ? nullptr
                                     : kernel.code[0].whole.load(std::memory_order_acquire);
  if (region == nullptr) {
    enter_kernel(warp);
    return failure_ ? Turn::failed : run_warp(warp);
  }
  WarpContext& context = warp.context;
  if (warp.kernel_registers == nullptr) warp.kernel_registers = reserve_kernel_registers(warp);
  context.registers = warp.kernel_registers;
  if (context.registers == nullptr) return fail("no memory for a call frame"), Turn::failed;
  context.frame = 0;
  context.stack_top = kernel.frame->bytes();
  context.barrier_result = 0;
  context.join = no_segment;
  context.segment = 0;
  context.turn = slice_segments;
  context.spun = 0;
  context.live = warp.live;
  forget_removed_ranges();
  const std::uint32_t taken = region(&context, warp.live);
  const Control control = kernel.segments[context.segment].control;
  if (taken == warp.live && (control == Control::exit || control == Control::ret) &&
      context.fault.kind == FaultKind::none && context.yields == 0) {
    warp.is_new = false;
    if (open_barriers_ == 0 && !meets_cluster_) {  // nobody waits for it
      --live_warps_;
      warp.live = 0;
    } else {
      exit_lanes(warp, warp.live);
    }
    return Turn::finished;
  }
  enter_kernel(warp);
  if (go_on(warp, warp.top(), 0, taken) == Turn::failed) return Turn::failed;
  const Turn turn = run_warp(warp);
  return turn == Turn::blocked ? Turn::again : turn;
}

/// Null: there is no memory.
std::byte* BlockRunner::reserve_kernel_registers(Warp& warp) const {
  if (warp.frames.empty()) warp.frames.push_back(std::make_unique<Frame>());
  return warp.frames[0]->storage.reserve(program_.functions[0].registers->bytes());
}

/// Where the memory of a block is, which is the same for all blocks outside of clusters.
Status BlockRunner::place_memory() {
  local_memory_ = local_.reserve(launch_.local_bytes * warp_size * warps_.size());
  if (local_memory_ == nullptr) return failure("no memory for the local variables of a thread block");
  shared_memory_ = seat_ != nullptr
                       ? seat_->shared + rank_ * seat_->stride
                       : shared_.reserve(program_.shared.static_bytes + launch_.shape.shared_bytes);
  for (std::uint32_t i = 0; i < warps_.size(); ++i) {
    WarpContext& context = warps_[i]->context;
    context.shared = shared_memory_;
    context.local = local_memory_ + i * warp_size * launch_.local_bytes;
    take_seat(context);
  }
  return success();
}

Status BlockRunner::start(std::uint64_t block, std::uint32_t multiprocessor, const ClusterSeat* seat) {
  const LaunchShape& shape = launch_.shape;
  const std::uint32_t index[3] = {static_cast<std::uint32_t>(block % shape.grid.x),
                                  static_cast<std::uint32_t>(block / shape.grid.x % shape.grid.y),
                                  static_cast<std::uint32_t>(block / shape.grid.x / shape.grid.y)};
  seat_ = seat;
  rank_ = seat != nullptr ? seat->rank : 0;
  if (seat != nullptr || local_memory_ == nullptr) {
    if (Status placed = place_memory(); !placed) return placed;
  }
  static_cast<void>(found_->of(*launch_.memory));
  for (const std::unique_ptr<Warp>& warp : warps_) {
    WarpContext& context = warp->context;
    context.smid = multiprocessor;
    std::copy_n(index, 3, context.ctaid);
    std::copy_n(seat != nullptr ? seat->id : index, 3, context.clusterid);
    for (int axis = 0; seat != nullptr && axis < 3; ++axis)
      context.cluster_ctaid[axis] = index[axis] % context.cluster_nctaid[axis];
    start_warp(*warp);
  }
  if (check_) {
    check_->start(block, warps_.front()->context.ctaid, shared_memory_,
                  program_.shared.static_bytes + shape.shared_bytes);
    if (seat != nullptr) check_->join_cluster(*seat->knowledge, rank_);
  }
  live_warps_ = static_cast<std::uint32_t>(warps_.size());
  if (meets_cluster_) cluster_arrived_.assign(warps_.size(), 0);
  meets_cluster_ = seat != nullptr;
  open_barriers_ = 0;
  for (Barrier& barrier : barriers_) {
    if (!barrier.open && barrier.arrived.size() == warps_.size()) continue;  // as it was at first
    barrier = {};
    barrier.arrived.assign(warps_.size(), 0);
  }
  waiting_rounds_ = 0;
  return success();
}

/// Without a cluster the block is one of its own.
void BlockRunner::take_seat(WarpContext& context) const {
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
  context.cluster_stride =
      seat_ != nullptr ? seat_->stride : align_up(std::max<std::uint64_t>(context.shared_bytes, 1), 128);
  context.cluster_bytes = context.cluster_stride * context.cluster_nctarank;
}

}  // namespace lynxpp::device::cpu
