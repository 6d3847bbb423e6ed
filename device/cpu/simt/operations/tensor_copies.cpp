// Tensor copies: the operands of cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and
// cp.async.bulk.prefetch.tensor. device/cpu/simt/tensors computes the bytes that they move.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/lanes/access_check.h"
#include "device/cpu/simt/lanes/lane_functions.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/async_operation.h"
#include "device/cpu/simt/operations/tensor_operands.h"
#include "device/cpu/simt/tensors/tensor_copy.h"

namespace lynxpp::device::cpu {
namespace {

using ptx::StateSpace;

constexpr std::size_t element_types = static_cast<std::size_t>(TensorElement::b6x16_p32) + 1;
using Reductions = std::array<const AtomicOperation*, element_types>;  ///< by element type; null if undefined

/// An opcode's modifiers, which may have any order.
struct TensorForm {
  std::uint32_t rank = 0;
  TensorMode mode = TensorMode::tile;
  std::string_view spaces[2];  ///< destination and source; empty if not given
  std::string_view mode_word;
  std::string_view reduction;
  bool has_barrier = false;
  bool has_group = false;
  bool is_multicast = false;
  bool has_policy = false;

  bool to_shared() const { return spaces[0].starts_with("shared"); }
  bool is_im2col() const {
    return mode == TensorMode::im2col || mode == TensorMode::im2col_w || mode == TensorMode::im2col_w128;
  }
  std::size_t coordinates() const { return mode == TensorMode::rows ? most_dimensions : rank; }
  std::size_t offsets() const {
    if (!is_im2col() || mode_word == "im2col_no_offs") return 0;
    return mode == TensorMode::im2col ? rank - 2 : 2;
  }
};

/// Adds one modifier to the form. Returns false if it is unknown or contradicts an earlier one.
bool add_word(std::string_view word, TensorForm& form) {
  const auto set = [](bool& flag) { return !std::exchange(flag, true); };
  if (word.size() == 2 && word[0] >= '1' && word[0] <= '5' && word[1] == 'd' && form.rank == 0) {
    form.rank = static_cast<std::uint32_t>(word[0] - '0');
    return true;
  }
  if (word == "global" || word == "shared::cta" || word == "shared::cluster" || word == "L2") {
    std::string_view& space = form.spaces[form.spaces[0].empty() ? 0 : 1];
    if (!space.empty()) return false;
    space = word;
    return true;
  }
  if (word == "mbarrier::complete_tx::bytes") return set(form.has_barrier);
  if (word == "bulk_group") return set(form.has_group);
  if (word == "multicast::cluster") return set(form.is_multicast);
  if (word == "L2::cache_hint") return set(form.has_policy);
  if (word == "cta_group::1") return true;  // the default
  constexpr std::string_view reductions[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  if (std::ranges::find(reductions, word) != std::end(reductions)) {
    if (!form.reduction.empty()) return false;
    form.reduction = word;
    return true;
  }
  struct NamedMode {
    std::string_view word;
    TensorMode mode;
  };
  constexpr NamedMode modes[] = {{"tile", TensorMode::tile},
                                 {"tile::gather4", TensorMode::rows},
                                 {"tile::scatter4", TensorMode::rows},
                                 {"im2col", TensorMode::im2col},
                                 {"im2col_no_offs", TensorMode::im2col},
                                 {"im2col::w", TensorMode::im2col_w},
                                 {"im2col::w::128", TensorMode::im2col_w128}};
  const auto* const found = std::ranges::find(modes, word, &NamedMode::word);
  if (!form.mode_word.empty() || found == std::end(modes)) return false;
  form.mode_word = word;
  form.mode = found->mode;
  return true;
}

/// True if the ISA has this combination of modifiers.
bool is_tensor_form(const TensorForm& form, TensorCopyKind kind) {
  if (form.is_im2col() && form.rank < 3) return false;
  if (form.rank == 0 || (form.mode == TensorMode::rows && form.rank != 2)) return false;
  if ((kind == TensorCopyKind::reduction) == form.reduction.empty()) return false;
  const bool loads = form.to_shared() || kind == TensorCopyKind::prefetch;
  if (loads && (form.mode_word == "tile::scatter4" || form.mode_word == "im2col_no_offs")) return false;
  if (!loads && (form.mode_word == "tile::gather4" || form.offsets() != 0)) return false;
  if (form.is_multicast && form.spaces[0] != "shared::cluster") return false;
  if (kind == TensorCopyKind::prefetch)
    return form.spaces[0] == "L2" && form.spaces[1] == "global" && !form.has_barrier && !form.has_group;
  if (form.to_shared())
    return kind == TensorCopyKind::copy && form.spaces[1] == "global" && form.has_barrier && !form.has_group;
  const bool is_store = form.spaces[0] == "global" && form.spaces[1] == "shared::cta";
  return is_store && form.has_group && !form.has_barrier &&
         !(kind == TensorCopyKind::reduction && form.mode == TensorMode::rows);
}

/// Returns the operation on each type of element.
Reductions reductions_of(std::string_view op) {
  struct Named {
    TensorElement element;
    std::string_view type;
  };
  const auto of = [op](std::initializer_list<Named> types) {
    Reductions made{};
    for (const Named& each : types) {
      const bool is_half = each.element == TensorElement::f16 || each.element == TensorElement::bf16;
      const std::string prefix = is_half && op != "add" ? "vector." : "";
      made[static_cast<std::size_t>(each.element)] =
          find_atomic(prefix + std::string(op) + "." + std::string(each.type));
    }
    return made;
  };
  using enum TensorElement;
  if (op == "inc" || op == "dec") return of({{u32, "u32"}});
  if (op == "add") {
    return of({{u32, "u32"},
               {s32, "s32"},
               {u64, "u64"},
               {f32, "f32"},
               {f32_ftz, "ftz.f32"},
               {f16, "f16"},
               {bf16, "bf16"}});
  }
  if (op == "min" || op == "max")
    return of({{u32, "u32"}, {s32, "s32"}, {u64, "u64"}, {s64, "s64"}, {f16, "f16"}, {bf16, "bf16"}});
  return of({{u32, "b32"}, {s32, "b32"}, {u64, "b64"}, {s64, "b64"}});
}

/// The values of one form: indices of its sources, and of its addresses among the sites.
class TensorInstruction {
 public:
  TensorInstruction(const TensorForm& form, const Reductions& reductions)
      : form_(form),
        reductions_(reductions),
        map_(form.to_shared() ? 1 : 0),
        map_site_(map_),
        shared_site_(1 - map_) {
    next_ = map_ + 1 + form.coordinates();
  }

  void run(const OperationCall& call) const {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      if (form_.to_shared())
        load_for(call, lane);
      else
        store_for(call, lane);
    });
  }

  /// Has no effect, but a GPU rejects some coordinates of prefetches, too. Its reaction to other faults of
  /// the map or the operands is not known, so they are ignored.
  void prefetch(const OperationCall& call) const {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      TensorCopy copy = operands_of(call, lane);
      copy.to_shared = true;
      const MapLocation location{map_site_, call.in[map_][lane], lane};
      if (find_map(call, location, copy.map).is_map() && copy.map.rank == form_.rank &&
          copy.map.access == TensorAccess::tile && problem_of(copy.map) == nullptr) {
        std::string problem = problem_of_start(copy);
        if (!problem.empty()) raise_tensor(call, location, std::move(problem));
      }
    });
  }

 private:
  /// Decodes the operands except the map.
  TensorCopy operands_of(const OperationCall& call, std::uint32_t lane) const {
    TensorCopy copy;
    copy.mode = form_.mode;
    copy.to_shared = form_.to_shared();
    for (std::size_t i = 0; i < form_.coordinates(); ++i)
      copy.at[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(call.in[map_ + 1 + i][lane]));
    return copy;
  }

  /// Decodes the operands; on failure raises a fault. Returns true if the copy can be performed. A checked
  /// launch performs one with a bad start, too: the kernel may wait for it.
  bool plan(const OperationCall& call, std::uint32_t lane, std::uint64_t shared, TensorPlan& made) const {
    TensorCopy copy = operands_of(call, lane);
    for (std::size_t i = 0; i < form_.offsets(); ++i)
      copy.offsets[i] = static_cast<std::uint32_t>(call.in[next_ + 1 + i][lane] & 0xffff);
    const std::uint64_t map = call.in[map_][lane];
    const MapLocation location{map_site_, map, lane};
    if (!read_map(call, location, copy.map)) return false;
    if (copy.map.rank != form_.rank) {
      raise_tensor(call, location, "the map's rank is not the instruction's");
      return false;
    }
    made = plan_copy(copy, shared);
    if (made.problem.empty() && reduction_of(made) == nullptr && !form_.reduction.empty())
      made.problem = "this reduction is not defined for the map's type of elements";
    if (!made.problem.empty()) {
      raise_tensor(call, location, made.problem);
      return false;
    }
    if (!made.bad_start.empty()) {
      raise_tensor(call, location, made.bad_start);
      if (call.warp->check == nullptr) return false;
    }
    return std::ranges::all_of(made.global, [&](const ByteRange& row) {
      return call.place(map_site_, row.begin, lane, row.bytes, 1) != nullptr;
    });
  }

  const AtomicOperation* reduction_of(const TensorPlan& made) const {
    return reductions_[static_cast<std::size_t>(made.element)];
  }

  /// Returns the box's host address, or null and raises a fault if a byte of it is not accessible.
  std::byte* find_box(const OperationCall& call, std::uint32_t lane, std::uint64_t shared,
                      const TensorPlan& made) const {
    std::byte* box = nullptr;
    for (const ByteRange& range : made.shared) {
      std::byte* const found = call.place(shared_site_, shared + range.begin, lane, range.bytes, 1);
      if (found == nullptr) return nullptr;
      box = found - range.begin;
      call.count(&OperationCounts::copy_wavefronts, lines_of(shared + range.begin, range.bytes));
    }
    return box;
  }

  void load_for(const OperationCall& call, std::uint32_t lane) const {
    const std::uint64_t shared = call.in[0][lane];
    const auto made = std::make_shared<TensorPlan>();
    if (!plan(call, lane, shared, *made)) return;
    const std::uint64_t barrier = call.in[next_][lane];
    call.count(&OperationCounts::tensor_copies, 1);
    if (!form_.is_multicast) return load_into(call, lane, made, shared, barrier);
    // Each of the blocks gets the box at the same offset, and a signal for its barrier at the same offset.
    const auto blocks = static_cast<std::uint32_t>(call.in[next_ + 1 + form_.offsets()][lane] & 0xffff);
    for_each_lane(blocks, [&](std::uint32_t rank) {
      load_into(call, lane, made, cluster_address(rank, shared), cluster_address(rank, barrier));
    });
  }

  void load_into(const OperationCall& call, std::uint32_t lane, const std::shared_ptr<const TensorPlan>& made,
                 std::uint64_t shared, std::uint64_t barrier_address) const {
    std::byte* const box = find_box(call, lane, shared, *made);
    if (box == nullptr) return;
    std::byte* const barrier = call.place(2, barrier_address, lane, 8, 8);
    if (barrier == nullptr) return;
    call.count(&OperationCounts::tensor_bytes, made->bytes);
    const std::vector<AsyncAccess> accesses = accesses_of(call, shared, *made);
    perform_async(call,
                  {lane, AsyncCompletion::object, true, accesses, (*call.sites)[2], barrier,
                   std::uint64_t{made->bytes}},
                  [made, box] { load(*made, box); });
  }

  void store_for(const OperationCall& call, std::uint32_t lane) const {
    const std::uint64_t shared = call.in[next_][lane];
    const auto made = std::make_shared<TensorPlan>();
    if (!plan(call, lane, shared, *made)) return;
    call.count(&OperationCounts::tensor_copies, 1);
    call.count(&OperationCounts::tensor_bytes, made->bytes);
    if (made->runs.empty()) return;
    const std::byte* const box = find_box(call, lane, shared, *made);
    if (box == nullptr) return;
    const std::vector<AsyncAccess> accesses = accesses_of(call, shared, *made);
    const AsyncIssue issue{lane, AsyncCompletion::bulk_group, true, accesses};
    if (form_.reduction.empty()) return perform_async(call, issue, [made, box] { store(*made, box); });
    perform_async(call, issue, [made, box, operation = reduction_of(*made)] {
      reduce(*made, box, [operation](std::byte* global, const std::byte* element) {
        // The function expects each value at its lane's index; this call has a single lane.
        const auto address = reinterpret_cast<std::uint64_t>(global);
        std::uint64_t before = 0;
        operation->function(&before, &address, element, element, 1);
      });
    });
  }

  /// Returns the ranges that the copy accesses, in checked launches only.
  std::vector<AsyncAccess> accesses_of(const OperationCall& call, std::uint64_t shared,
                                       const TensorPlan& made) const {
    std::vector<AsyncAccess> accesses;
    if (call.warp->check == nullptr) return accesses;
    const bool loads = form_.to_shared();
    const bool reduces = !form_.reduction.empty();
    for (const ByteRange& each : made.shared)
      accesses.push_back({(*call.sites)[shared_site_], shared + each.begin, each.bytes, !loads, loads});
    for (const ByteRange& row : made.global)
      accesses.push_back({(*call.sites)[map_site_], row.begin, row.bytes, loads || reduces, !loads});
    return accesses;
  }

  TensorForm form_;
  Reductions reductions_;
  std::size_t map_;       ///< index of the map's address among the sources
  std::size_t map_site_;  ///< also the site of the accesses to the tensor
  std::size_t shared_site_;
  std::size_t next_;  ///< index of the source after the coordinates: the barrier, or the box of a store
};

/// True if the sources are those of the form, in order.
bool has_operands(const std::vector<SourceSlot>& sources, const TensorForm& form, TensorCopyKind kind) {
  using enum SourceSlot::Kind;
  std::vector<bool> is_address;
  if (form.to_shared()) is_address.push_back(true);
  is_address.push_back(true);
  is_address.insert(is_address.end(), form.coordinates(), false);
  if (kind != TensorCopyKind::prefetch) is_address.push_back(true);
  is_address.insert(is_address.end(),
                    form.offsets() + (form.is_multicast ? 1 : 0) + (form.has_policy ? 1 : 0), false);
  return std::ranges::equal(sources, is_address, {},
                            [](const SourceSlot& each) { return each.kind == address; });
}

}  // namespace

Result<Operation> make_tensor_copy(OperationRequest& request, TensorCopyKind kind) {
  OpcodeWords& words = request.words;
  TensorForm form;
  while (!words.front().empty()) {
    if (words.front() == "cta_group::2")
      return failure(
          "modifier '.cta_group::2': copies that signal the barrier of the pair are not supported");
    if (!add_word(words.front(), form)) return refuse(request);
    words.take_any();
  }
  if (!is_tensor_form(form, kind)) return failure("unknown form");
  if (!has_operands(request.sources, form, kind)) return failure("malformed operands");
  constexpr Operation::Address tensor{StateSpace::global, 1};
  const TensorInstruction instruction(form,
                                      form.reduction.empty() ? Reductions{} : reductions_of(form.reduction));
  if (kind == TensorCopyKind::prefetch) {
    return Operation{.run = [instruction](const OperationCall& call) { instruction.prefetch(call); },
                     .addresses = {tensor}};
  }
  Operation made{.run = [instruction](const OperationCall& call) { instruction.run(call); }};
  constexpr Operation::Address box{StateSpace::shared, shared_tensor_alignment};
  if (form.to_shared())
    made.addresses = {box, tensor, {StateSpace::shared, 8}};
  else
    made.addresses = {tensor, box};
  return made;
}

}  // namespace lynxpp::device::cpu
