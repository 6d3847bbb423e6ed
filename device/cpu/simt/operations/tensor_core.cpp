// tcgen05: allocation of tensor memory, fences, waits and commits.
//
// Matrix products and copies are performed when they are issued, which the ISA allows: they must be complete
// only when an mbarrier object says so. So waits and fences have nothing to do, and a commit arrives at once.
// In checked launches products and copies are performed late, in the order in which they were issued.
#include "device/cpu/simt/operations/tensor_core.h"

#include <bit>
#include <cstring>
#include <string>

#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/lanes/access_check.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/barrier_objects.h"

namespace lynxpp::device::cpu {
namespace {

/// Returns why the number of columns is invalid; null if it is valid.
const char* problem_of_count(std::uint64_t columns) {
  if (std::has_single_bit(columns) && columns >= TensorMemory::unit && columns <= TensorMemory::columns)
    return nullptr;
  return "the number of columns is not 32, 64, 128, 256 or 512";
}

/// alloc.cta_group.sync.aligned{.shared::cta}.b32 [dst], columns
Result<Operation> make_allocation(OperationRequest& request) {
  OpcodeWords& words = request.words;
  const unsigned blocks = take_blocks(words);
  if (blocks == 0 || !words.take("sync") || !words.take("aligned")) return refuse(request);
  const ptx::StateSpace space = take_space(words);
  if (!words.take("b32")) return refuse(request);
  if (request.sources.size() != 2) return failure("malformed operands");
  const auto run = [blocks](const OperationCall& call) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(call.mask));
    if (blocks == 2 && !check_peer(call, {0, lane, 0})) return;
    const std::uint64_t count = call.in[1][lane] & 0xffff'ffff;
    const auto fail = [&](const char* reason) { raise_tensor_memory(call, {0, lane, 0}, reason); };
    TensorMemory& memory = *call.warp->tensor;
    if (const char* const problem = problem_of_count(count); problem != nullptr) return fail(problem);
    if (!memory.has_permit())
      return fail("the block has executed tcgen05.relinquish_alloc_permit and may not allocate");
    std::byte* const to = call.place(0, call.in[0][lane], lane, 4, 4);
    if (to == nullptr) return;
    const auto column = memory.allocate(static_cast<std::uint32_t>(count));
    if (!column)
      return fail("too few columns are free: the instruction would wait for a tcgen05.dealloc of this block");
    std::memcpy(to, &*column, sizeof *column);
    if (call.warp->check != nullptr)
      call.warp->check->note_tensor_allocation(*call.warp, *(*call.sites)[0], *column);
  };
  return Operation{.run = run, .addresses = {{space, 4}}, .needs_converged_warp = true};
}

/// dealloc.cta_group.sync.aligned.b32 address, columns
Result<Operation> make_release(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (take_blocks(words) == 0 || !words.take("sync") || !words.take("aligned") || !words.take("b32"))
    return refuse(request);
  if (request.sources.size() != 2) return failure("malformed operands");
  const auto run = [](const OperationCall& call) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(call.mask));
    const std::uint64_t address = call.in[0][lane] & 0xffff'ffff;
    const TensorAddress at(address);
    const auto count = static_cast<std::uint32_t>(call.in[1][lane]);
    if (at.lane != 0 || !call.warp->tensor->release(at.column, count))
      return raise_tensor_memory(
          call, {0, lane, address},
          "no tcgen05.alloc of this block has returned this address for this number of columns");
    if (call.warp->check != nullptr) call.warp->check->note_tensor_release(at.column);
  };
  return Operation{.run = run, .addresses = {{ptx::StateSpace::none, 4}}, .needs_converged_warp = true};
}

Result<Operation> make_relinquishment(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (take_blocks(words) == 0 || !words.take("sync") || !words.take("aligned")) return refuse(request);
  if (!request.sources.empty()) return failure("malformed operands");
  return Operation{.run = [](const OperationCall& call) { call.warp->tensor->relinquish_permit(); },
                   .needs_converged_warp = true};
}

/// wait::ld, wait::st
Result<Operation> make_wait(OperationRequest& request, AsyncCompletion completion) {
  OpcodeWords& words = request.words;
  if (!words.take("sync") || !words.take("aligned")) return refuse(request);
  if (!request.sources.empty()) return failure("malformed operands");
  return Operation{.run =
                       [completion](const OperationCall& call) {
                         if (call.warp->check != nullptr)
                           call.warp->check->wait(*call.warp, call.mask, completion, std::nullopt, false);
                       },
                   .needs_converged_warp = true};
}

/// fence::before_thread_sync, fence::after_thread_sync
Result<Operation> make_fence(OperationRequest& request) {
  if (!request.sources.empty()) return failure("malformed operands");
  return Operation{.run = [](const OperationCall& call) {
    if (call.warp->check != nullptr) call.warp->check->fence(call.warp->warpid, Reach::device);
  }};
}

/// commit.cta_group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [object]{, blocks}
Result<Operation> make_commit(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (take_blocks(words) == 0 || !words.take("mbarrier::arrive::one")) return refuse(request);
  const ptx::StateSpace space = take_space(words);
  const bool is_multicast = words.take("multicast::cluster");
  if (!words.take("b64") || (is_multicast && space != ptx::StateSpace::shared)) return refuse(request);
  if (request.sources.size() != (is_multicast ? 2 : 1)) return failure("malformed operands");
  const auto arrive = [](const OperationCall& call, std::uint32_t lane, std::uint64_t address) {
    std::byte* const object = call.place(0, address, lane, 8, 8);
    if (object == nullptr) return;
    if (call.warp->check != nullptr)
      call.warp->check->commit_tensor_core(*call.warp, *(*call.sites)[0], lane, object);
    else
      arrive_at(object);
  };
  const auto run = [is_multicast, arrive](const OperationCall& call) {
    // Ends the turn: other warps wait for each phase, and would miss one if this warp completed two.
    call.warp->yields = 1;
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const std::uint64_t object = call.in[0][lane];
      if (!is_multicast) return arrive(call, lane, object);
      for_each_lane(static_cast<std::uint32_t>(call.in[1][lane] & 0xffff),
                    [&](std::uint32_t rank) { arrive(call, lane, cluster_address(rank, object)); });
    });
  };
  return Operation{.run = run, .addresses = {{space, 8}}};
}

}  // namespace

unsigned take_blocks(OpcodeWords& words) {
  const std::string_view word = words.take_of({"cta_group::1", "cta_group::2"});
  return word.empty() ? 0 : static_cast<unsigned>(word.back() - '0');
}

void raise_tensor_memory(const OperationCall& call, const TensorUse& use, const char* reason) {
  raise(call.warp, {.kind = FaultKind::tensor_memory,
                    .lane = use.lane,
                    .address = use.address,
                    .site = (*call.sites)[use.site],
                    .reason = reason});
}

bool check_columns(const OperationCall& call, const TensorUse& use, const TensorMemory& memory,
                   std::uint32_t columns) {
  const TensorAddress at(use.address);
  if (memory.is_allocated(at.column, columns)) return true;
  raise_tensor_memory(call, use, "tcgen05.alloc has not allocated all columns that the instruction accesses");
  return false;
}

Failure refuse_rows(const OpcodeWords& words) {
  return failure("modifier '." + std::string(words.front()) +
                 "': the ISA's text does not say which rows it moves");
}

bool check_peer(const OperationCall& call, const TensorUse& use) {
  if (call.warp->peer_tensor != nullptr) return true;
  raise_tensor_memory(call, use, ".cta_group::2 needs a cluster with a second block, of rank 1 more or less");
  return false;
}

AsyncAccess tensor_access(const AccessSite* site, bool in_peer, std::uint32_t lane, std::uint32_t column,
                          std::uint32_t columns) {
  const std::uint64_t word = std::uint64_t{lane} * TensorMemory::columns + column;
  return {site, (in_peer ? tensor_peer_bit : 0) | word * 4, std::uint64_t{columns} * 4, false, false};
}

Result<Operation> make_tensor_core(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.take("alloc")) return make_allocation(request);
  if (words.take("dealloc")) return make_release(request);
  if (words.take("relinquish_alloc_permit")) return make_relinquishment(request);
  if (words.take("ld")) return make_tensor_transfer(request, true);
  if (words.take("st")) return make_tensor_transfer(request, false);
  if (words.take("wait::ld")) return make_wait(request, AsyncCompletion::tensor_load);
  if (words.take("wait::st")) return make_wait(request, AsyncCompletion::tensor_store);
  if (!words.take_of({"fence::before_thread_sync", "fence::after_thread_sync"}).empty())
    return make_fence(request);
  if (words.front() == "shift") return refuse_rows(words);
  if (words.take("cp")) return make_tensor_fill(request);
  if (words.take("mma")) return make_tensor_product(request);
  return words.take("commit") ? make_commit(request) : refuse(request);
}

}  // namespace lynxpp::device::cpu
