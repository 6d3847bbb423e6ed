// Distributed shared memory: addresses in the memory of a cluster's blocks, and stores and reductions that
// signal a barrier there. They complete as asynchronous copies do.
#include <array>
#include <bit>
#include <cstring>

#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/lanes/lane_functions.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/async_operation.h"

namespace lynxpp::device::cpu {
namespace {

using ptx::StateSpace;

/// Returns the rank of the block that owns an address in any space; nullopt outside the cluster's memory.
std::optional<std::uint32_t> rank_of(const WarpContext& warp, std::uint64_t address, bool is_generic) {
  if (is_generic) return rank_of_generic(warp, address);
  const std::uint32_t rank = rank_of_shared(warp, address & 0xffff'ffff);
  return rank < warp.cluster_nctarank ? std::optional(rank) : std::nullopt;
}

/// Consumes an element type and returns its size; 0 for other types.
unsigned take_element(OpcodeWords& words) {
  if (!words.take_of({"b32", "u32", "s32", "f32"}).empty()) return 4;
  return words.take_of({"b64", "u64", "s64", "f64"}).empty() ? 0 : 8;
}

}  // namespace

/// mapa{.shared::cluster}.type d, a, b: the address in the block of rank b that corresponds to a in this
/// block.
Result<Operation> make_cluster_address(OperationRequest& request) {
  const bool is_generic = !request.words.take("shared::cluster");
  if (!take_width(request.words) || request.results != 1 || request.sources.size() != 2)
    return refuse(request);
  return Operation{.run = [is_generic](const OperationCall& call) {
    const WarpContext& warp = *call.warp;
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const std::uint64_t address = call.in[0][lane];
      const auto rank = static_cast<std::uint32_t>(call.in[1][lane]);
      if (!is_generic) {
        call.out[0][lane] = cluster_address(rank, address);
        return;
      }
      const std::uint32_t from = rank_of_generic(warp, address).value_or(warp.cluster_ctarank);
      call.out[0][lane] = address - generic_shared(warp, from) + generic_shared(warp, rank);
    });
  }};
}

/// getctarank{.shared::cluster}.type d, a
Result<Operation> make_rank(OperationRequest& request) {
  const bool is_generic = !request.words.take("shared::cluster");
  if (!take_width(request.words) || request.results != 1 || request.sources.size() != 1)
    return refuse(request);
  return Operation{.run = [is_generic](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      call.out[0][lane] =
          rank_of(*call.warp, call.in[0][lane], is_generic).value_or(call.warp->cluster_ctarank);
    });
  }};
}

/// cvta{.to}.shared::cluster.type d, a
Result<Operation> make_conversion_of_address(OperationRequest& request) {
  const bool to_shared = request.words.take("to");
  if (!request.words.take("shared::cluster") || !take_width(request.words) || request.results != 1 ||
      request.sources.size() != 1)
    return refuse(request);
  return Operation{.run = [to_shared](const OperationCall& call) {
    const WarpContext& warp = *call.warp;
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const std::uint64_t address = call.in[0][lane];
      if (!to_shared) {
        const std::uint32_t rank = rank_of_shared(warp, address & 0xffff'ffff);
        call.out[0][lane] = generic_shared(warp, rank) + (address & cluster_offset_mask);
        return;
      }
      const std::uint32_t rank = rank_of_generic(warp, address).value_or(warp.cluster_ctarank);
      const std::uint64_t offset = address - generic_shared(warp, rank);
      // The block's own memory has the same addresses in both windows.
      call.out[0][lane] = rank == warp.cluster_ctarank ? offset : cluster_address(rank, offset);
    });
  }};
}

/// isspacep.shared::cluster p, a
Result<Operation> make_is_in_cluster(OperationRequest& request) {
  if (!request.words.take("shared::cluster") || request.results != 1 || request.sources.size() != 1)
    return refuse(request);
  return Operation{.run = [](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      call.out[0][lane] = rank_of_generic(*call.warp, call.in[0][lane]) ? 1 : 0;
    });
  }};
}

/// st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [barrier]
Result<Operation> make_async_store(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (!words.take("async")) return refuse(request);
  words.take("weak");
  const StateSpace space = take_space(words);
  if (space == StateSpace::global || !words.take("mbarrier::complete_tx::bytes")) return refuse(request);
  const std::string_view vector = words.take_of({"v2", "v4"});
  const unsigned count = vector == "v4" ? 4 : vector == "v2" ? 2 : 1;
  const unsigned bytes = take_element(words);
  if (bytes == 0) return refuse(request);
  if (request.sources.size() != count + 2 || request.results != 0) return failure("malformed operands");
  const auto run = [count, bytes](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      std::byte* const to = call.place(0, call.in[0][lane], lane, count * bytes, count * bytes);
      std::byte* const barrier = call.place(1, call.in[count + 1][lane], lane, 8, 8);
      if (to == nullptr || barrier == nullptr) return;
      std::array<std::uint64_t, 4> values{};
      for (unsigned i = 0; i < count; ++i) values[i] = call.in[i + 1][lane];
      const AsyncAccess access[] = {{(*call.sites)[0], call.in[0][lane], count * bytes, false, true}};
      perform_async(call,
                    {lane, AsyncCompletion::object, false, access, (*call.sites)[1], barrier, count * bytes},
                    [=] {
                      for (unsigned i = 0; i < count; ++i) std::memcpy(to + i * bytes, &values[i], bytes);
                    });
    });
  };
  return Operation{.run = run, .addresses = {{space, count * bytes}, {space, 8}}};
}

/// red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type [a], b, [barrier]; any
/// other red is an atomic without result.
Result<Operation> make_reduction(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.front() != "async") return make_wide_atomic(request);
  words.take("async");
  words.take("relaxed");
  words.take("cluster");
  const StateSpace space = take_space(words);
  if (space == StateSpace::global || !words.take("mbarrier::complete_tx::bytes")) return refuse(request);
  const std::string_view op = words.take_of({"inc", "dec", "min", "max", "add", "and", "or", "xor"});
  const std::string_view type = words.take_of({"u32", "s32", "u64", "b32"});
  const bool is_known = type == "u64"   ? op == "add"
                        : type == "s32" ? op == "min" || op == "max" || op == "add"
                        : type == "b32" ? op == "and" || op == "or" || op == "xor"
                                        : op != "and" && op != "or" && op != "xor";
  if (op.empty() || type.empty() || !is_known) return refuse(request);
  const AtomicOperation* const operation = find_atomic(std::string(op) + "." + std::string(type));
  if (operation == nullptr) return refuse(request);
  if (request.sources.size() != 3 || request.results != 0) return failure("malformed operands");
  const unsigned bytes = operation->bits / 8;
  const auto run = [operation, bytes](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      std::byte* const to = call.place(0, call.in[0][lane], lane, bytes, bytes);
      std::byte* const barrier = call.place(1, call.in[2][lane], lane, 8, 8);
      if (to == nullptr || barrier == nullptr) return;
      const AsyncAccess access[] = {{(*call.sites)[0], call.in[0][lane], bytes, true, true}};
      const std::uint64_t value = call.in[1][lane];
      perform_async(call, {lane, AsyncCompletion::object, false, access, (*call.sites)[1], barrier, bytes},
                    [=] {
                      // The function expects each value at its lane's index; this call has a single lane.
                      const auto address = reinterpret_cast<std::uint64_t>(to);
                      std::uint64_t before = 0;
                      operation->function(&before, &address, &value, &value, 1);
                    });
    });
  };
  return Operation{.run = run, .addresses = {{space, bytes}, {space, 8}}};
}

}  // namespace lynxpp::device::cpu
