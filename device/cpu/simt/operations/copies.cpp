// Asynchronous copies. They are performed immediately, which the ISA allows: no thread may access their
// operands before the group or barrier reports completion. So waiting for a group does nothing, except in
// checked launches, which perform them as late as the waits allow.
#include <algorithm>
#include <cstring>
#include <optional>

#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/lanes/lane_functions.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/async_operation.h"
#include "device/cpu/simt/operations/tensor_operands.h"

namespace lynxpp::device::cpu {
namespace {

using ptx::StateSpace;

Operation nothing() {
  return Operation{.run = [](const OperationCall&) {}};
}

/// cp.async{.bulk}.commit_group
Operation commit(AsyncCompletion completion) {
  return Operation{.run = [completion](const OperationCall& call) {
    if (call.warp->check != nullptr) call.warp->check->commit(*call.warp, call.mask, completion);
  }};
}

/// cp.async.wait_all, cp.async{.bulk}.wait_group{.read} n
Operation wait(AsyncCompletion completion, std::optional<std::uint32_t> pending, bool only_reads) {
  return Operation{.run = [=](const OperationCall& call) {
    if (call.warp->check != nullptr)
      call.warp->check->wait(*call.warp, call.mask, completion, pending, only_reads);
  }};
}

Result<Operation> make_group_wait(const OperationRequest& request, AsyncCompletion completion,
                                  bool only_reads) {
  if (request.sources.size() != 1 || request.sources[0].kind != SourceSlot::Kind::constant)
    return failure("malformed operands");
  return wait(completion, static_cast<std::uint32_t>(request.sources[0].constant), only_reads);
}

bool takes_shared(OpcodeWords& words) { return !words.take_of({"shared", "shared::cta"}).empty(); }

/// cp.async.{ca,cg}.shared.global{.hints} [to], [from], size{, source size or ignore}{, policy}
Result<Operation> make_small_copy(OperationRequest& request) {
  OpcodeWords& words = request.words;
  const bool bypasses = words.take("cg");
  if ((!bypasses && !words.take("ca")) || !takes_shared(words) || !words.take("global"))
    return refuse(request);
  const bool has_policy = words.take("L2::cache_hint");
  words.take_of({"L2::64B", "L2::128B", "L2::256B"});
  const std::size_t sources = request.sources.size() - (has_policy ? 1 : 0);
  if (sources < 3 || sources > 4) return failure("malformed operands");
  const std::int64_t bytes = request.sources[2].constant;
  if (bytes != 16 && (bypasses || (bytes != 4 && bytes != 8))) return failure("unsupported size");
  const bool has_extent = sources == 4;
  const bool ignores = has_extent && request.sources[3].kind == SourceSlot::Kind::predicate;
  const auto size = static_cast<std::uint64_t>(bytes);
  const auto run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      std::uint64_t taken = size;
      if (ignores) taken = call.in[3][lane] != 0 ? 0 : size;
      if (has_extent && !ignores) taken = std::min<std::uint64_t>(call.in[3][lane] & 0xffff'ffff, size);
      std::byte* const to = call.place(0, call.in[0][lane], lane, size, size);
      const std::byte* from = nullptr;
      if (taken != 0) from = call.place(1, call.in[1][lane], lane, taken, size);
      if (to == nullptr || (taken != 0 && from == nullptr)) return;
      const AsyncAccess accesses[] = {{(*call.sites)[0], call.in[0][lane], size, false, true},
                                      {(*call.sites)[1], call.in[1][lane], taken, true, false}};
      perform_async(call, {lane, AsyncCompletion::copy_group, false, accesses}, [=] {
        if (taken != 0) std::memcpy(to, from, taken);
        std::memset(to + taken, 0, size - taken);
      });
    });
  };
  return Operation{.run = run,
                   .addresses = {{StateSpace::shared, static_cast<unsigned>(size)}, {StateSpace::global, 4}}};
}

/// Copies or reduces for `lane` and, if there is a barrier, signals it.
template <typename Move>
void move_bulk(const OperationCall& call, std::uint32_t lane, std::uint64_t to, std::uint64_t bytes,
               std::optional<std::uint64_t> barrier, bool reads_target, const Move& move) {
  std::byte* target = nullptr;
  const std::byte* source = nullptr;
  const std::vector<const AccessSite*>& sites = *call.sites;
  if (bytes != 0) {
    target = call.place(0, to, lane, bytes, 16);
    source = call.place(1, call.in[1][lane], lane, bytes, 16);
    if (target == nullptr || source == nullptr) return;
  }
  const AsyncAccess accesses[] = {{sites[0], to, bytes, reads_target, true},
                                  {sites[1], call.in[1][lane], bytes, true, false}};
  AsyncIssue issue{lane, AsyncCompletion::bulk_group, true, accesses};
  if (barrier) {
    issue.completion = AsyncCompletion::object;
    issue.object_site = sites[2];
    issue.object = call.place(2, *barrier, lane, 8, 8);
    issue.object_bytes = bytes;
    if (issue.object == nullptr) return;
  }
  perform_async(call, issue, [=] {
    if (bytes != 0) move(target, source, bytes);
  });
}

void copy_bulk(const OperationCall& call, std::uint32_t lane, std::uint64_t to,
               std::optional<std::uint64_t> barrier) {
  const auto copy = [](std::byte* target, const std::byte* source, std::uint64_t bytes) {
    std::memcpy(target, source, bytes);
  };
  move_bulk(call, lane, to, call.in[2][lane] & 0xffff'ffff, barrier, false, copy);
}

/// cp.async.bulk.prefetch.L2.global{.hint}: affects performance only.
Result<Operation> make_prefetch(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.take("tensor")) return make_tensor_copy(request, TensorCopyKind::prefetch);
  if (!words.take("L2") || !words.take("global")) return refuse(request);
  words.take("L2::cache_hint");
  Operation made = nothing();
  made.addresses = {{StateSpace::global, 16}};
  return made;
}

/// cp.async.bulk.to.from.completion{.multicast}{.hint} [to], [from], size{, [barrier]}{, blocks}{, policy}
Result<Operation> make_bulk_copy(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.take("commit_group")) return commit(AsyncCompletion::bulk_group);
  if (words.take("wait_group"))
    return make_group_wait(request, AsyncCompletion::bulk_group, words.take("read"));
  if (words.take("prefetch")) return make_prefetch(request);
  if (words.take("tensor")) return make_tensor_copy(request, TensorCopyKind::copy);
  const auto take = [&words] {
    if (!words.take_of({"shared::cta", "shared::cluster"}).empty()) return StateSpace::shared;
    return words.take("global") ? StateSpace::global : StateSpace::none;
  };
  const bool to_cluster = words.front() == "shared::cluster";
  const StateSpace to = take();
  const bool from_block = words.front() == "shared::cta";
  const StateSpace from = take();
  // Copies from one block of a cluster to another.
  const bool within_cluster = to_cluster && from_block;
  if (to == StateSpace::none || from == StateSpace::none || (to == from && !within_cluster))
    return refuse(request);
  const bool has_barrier = words.take("mbarrier::complete_tx::bytes");
  if (has_barrier != (to == StateSpace::shared) || (!has_barrier && !words.take("bulk_group")))
    return refuse(request);
  const bool is_multicast = to_cluster && from == StateSpace::global && words.take("multicast::cluster");
  const bool has_policy = words.take("L2::cache_hint");
  const std::size_t sources = 3 + (has_barrier ? 1 : 0) + (is_multicast ? 1 : 0) + (has_policy ? 1 : 0);
  if (request.sources.size() != sources) return failure("malformed operands");
  const auto run = [has_barrier, is_multicast](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      if (!is_multicast)
        return copy_bulk(call, lane, call.in[0][lane],
                         has_barrier ? std::optional(call.in[3][lane]) : std::nullopt);
      // Copies to the same offset in each of the blocks and signals the barrier at the same offset there.
      for_each_lane(static_cast<std::uint32_t>(call.in[4][lane] & 0xffff), [&](std::uint32_t rank) {
        copy_bulk(call, lane, cluster_address(rank, call.in[0][lane]),
                  cluster_address(rank, call.in[3][lane]));
      });
    });
  };
  Operation made{.run = run, .addresses = {{to, 16}, {from, 16}}};
  if (has_barrier) made.addresses.push_back({StateSpace::shared, 8});
  return made;
}

/// Returns the operation on each element of a bulk reduction; null if the ISA does not have it.
const AtomicOperation* take_reduction(OpcodeWords& words, bool to_global) {
  const std::string op(words.take_of({"add", "min", "max", "inc", "dec", "and", "or", "xor"}));
  const bool keeps_subnormals = words.take("noftz");
  const std::string type(words.take_any());
  const auto is_one_of = [&type](std::initializer_list<std::string_view> types) {
    return std::ranges::find(types, type) != types.end();
  };
  const bool is_half = is_one_of({"f16", "bf16"});
  if (keeps_subnormals != (is_half && op == "add")) return nullptr;
  bool is_known = false;
  if (op == "add")
    is_known = is_one_of({"u32", "s32", "u64"}) || (to_global && (is_half || is_one_of({"f32", "f64"})));
  if (op == "min" || op == "max")
    is_known = is_one_of({"u32", "s32"}) || (to_global && (is_half || is_one_of({"u64", "s64"})));
  if (op == "inc" || op == "dec") is_known = type == "u32";
  if (op == "and" || op == "or" || op == "xor") is_known = type == "b32" || (to_global && type == "b64");
  if (!is_known) return nullptr;
  if (type == "f32") return find_atomic("add.ftz.f32");
  return find_atomic((is_half && op != "add" ? "vector." : "") + op + "." + type);
}

/// Reduces `bytes` of `from` into `to`, with an atomic operation per element.
void reduce_bulk(const AtomicOperation& operation, std::byte* to, const std::byte* from,
                 std::uint64_t bytes) {
  const std::uint64_t width = operation.bits / 8;
  for (std::uint64_t at = 0; at < bytes; at += width) {
    // The function expects each value at its lane's index; this call has a single lane.
    const auto address = reinterpret_cast<std::uint64_t>(to + at);
    std::uint64_t before = 0;
    operation.function(&before, &address, from + at, from + at, 1);
  }
}

/// cp.reduce.async.bulk.to.shared::cta.completion{.hint}.op.type [to], [from], size{, [barrier]}{, policy}
Result<Operation> make_bulk_reduction(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.take("tensor")) return make_tensor_copy(request, TensorCopyKind::reduction);
  const bool to_global = words.take("global");
  if ((!to_global && !words.take("shared::cluster")) || !words.take("shared::cta")) return refuse(request);
  if (!words.take(to_global ? "bulk_group" : "mbarrier::complete_tx::bytes")) return refuse(request);
  const bool has_policy = to_global && words.take("L2::cache_hint");
  const AtomicOperation* const operation = take_reduction(words, to_global);
  if (operation == nullptr) return failure("unknown operation or type");
  if (request.sources.size() != 3u + (to_global ? 0 : 1) + (has_policy ? 1 : 0))
    return failure("malformed operands");
  const auto run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const std::uint64_t bytes = call.in[2][lane] & 0xffff'fff0;
      const auto barrier = to_global ? std::nullopt : std::optional(call.in[3][lane]);
      move_bulk(call, lane, call.in[0][lane], bytes, barrier, true,
                [operation](std::byte* to, const std::byte* from, std::uint64_t count) {
                  reduce_bulk(*operation, to, from, count);
                });
    });
  };
  const StateSpace space = to_global ? StateSpace::global : StateSpace::shared;
  Operation made{.run = run, .addresses = {{space, 16}, {StateSpace::shared, 16}}};
  if (!to_global) made.addresses.push_back({StateSpace::shared, 8});
  return made;
}

/// cp.async.mbarrier.arrive{.noinc}.shared.b64: copies are already complete, so without .noinc the added
/// pending arrival and the arrival cancel out.
Result<Operation> make_copy_arrival(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (!words.take("arrive")) return refuse(request);
  const bool arrives = words.take("noinc");
  const StateSpace space = take_space(words);
  if (!words.take("b64")) return refuse(request);
  const auto run = [arrives](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      std::byte* const barrier = call.place(0, call.in[0][lane], lane, 8, 8);
      if (barrier == nullptr) return;
      const bool ends_phase = arrives && arrive_at(barrier);
      if (call.warp->check == nullptr) return;
      call.warp->check->arrive_with_copies(
          *call.warp, *(*call.sites)[0], barrier, lane,
          {ObjectChange::Kind::arrive, lane, arrives ? 1 : 0, 0, true, ends_phase});
    });
  };
  return Operation{.run = run, .addresses = {{space, 8}}};
}

}  // namespace

Result<Operation> make_copy(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.take("reduce"))
    return words.take("async") && words.take("bulk") ? make_bulk_reduction(request) : refuse(request);
  if (!words.take("async")) return refuse(request);
  if (words.take("commit_group")) return commit(AsyncCompletion::copy_group);
  if (words.take("wait_all")) return wait(AsyncCompletion::copy_group, std::nullopt, false);
  if (words.take("wait_group")) return make_group_wait(request, AsyncCompletion::copy_group, false);
  if (words.take("mbarrier")) return make_copy_arrival(request);
  return words.take("bulk") ? make_bulk_copy(request) : make_small_copy(request);
}

/// Cache policies are hints, and register counts need no adjustment.
Result<Operation> make_hint(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.root() == "setmaxnreg") {
    if (words.take_of({"inc", "dec"}).empty()) return refuse(request);
    for (const std::string_view word : {"sync", "aligned", "u32"}) {
      if (!words.take(word)) return refuse(request);
    }
    return nothing();
  }
  const bool is_fraction = words.take("fractional");
  if (!is_fraction && words.take_of({"range", "cvt"}).empty()) return refuse(request);
  while (words.front().starts_with("L2")) words.take_any();
  words.take("global");
  if (!words.take("b64") || request.results != 1) return refuse(request);
  Operation made{.run = [](const OperationCall& call) { call.out[0].fill(0); }};
  for (const SourceSlot& source : request.sources) {
    if (source.kind == SourceSlot::Kind::address) made.addresses.push_back({StateSpace::global, 1});
  }
  return made;
}

}  // namespace lynxpp::device::cpu
