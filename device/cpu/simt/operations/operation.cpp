#include "device/cpu/simt/operations/operation.h"

#include <algorithm>
#include <map>

#include "device/cpu/simt/check/block_check.h"
#include "device/cpu/simt/lanes/access_check.h"

namespace lynxpp::device::cpu {

OpcodeWords::OpcodeWords(std::string_view opcode) {
  root_ = opcode.substr(0, opcode.find('.'));
  std::size_t begin = root_.size();
  while (begin < opcode.size()) {
    const std::size_t end = std::min(opcode.find('.', begin + 1), opcode.size());
    words_.push_back(opcode.substr(begin + 1, end - begin - 1));
    begin = end;
  }
}

bool OpcodeWords::take(std::string_view word) {
  if (next_ >= words_.size() || words_[next_] != word) return false;
  ++next_;
  return true;
}

std::string_view OpcodeWords::take_of(std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (take(word)) return word;
  }
  return {};
}

std::string_view OpcodeWords::take_any() {
  return next_ < words_.size() ? words_[next_++] : std::string_view();
}

Failure refuse(const OperationRequest& request) {
  const std::string_view word = request.words.front();
  return failure(word.empty() ? "unknown form" : "unknown modifier '." + std::string(word) + "'");
}

ptx::StateSpace take_space(OpcodeWords& words) {
  if (!words.take_of({"shared", "shared::cta", "shared::cluster"}).empty()) return ptx::StateSpace::shared;
  return words.take("global") ? ptx::StateSpace::global : ptx::StateSpace::generic;
}

bool take_width(OpcodeWords& words) { return !words.take_of({"u32", "u64"}).empty(); }

namespace {

using Maker = Result<Operation> (*)(OperationRequest&);

/// Constructors of operations by the opcode's root.
const std::map<std::string_view, Maker>& makers() {
  static const std::map<std::string_view, Maker> all = {
      {"mma", &make_mma},
      {"ldmatrix", &make_ldmatrix},
      {"stmatrix", &make_stmatrix},
      {"movmatrix", &make_movmatrix},
      {"wmma", &make_wmma},
      {"wgmma", &make_wgmma},
      {"tcgen05", &make_tensor_core},
      {"mbarrier", &make_mbarrier},
      {"cp", &make_copy},
      {"tensormap", &make_tensor_map},
      {"createpolicy", &make_hint},
      {"setmaxnreg", &make_hint},
      {"cvt", &make_conversion},
      {"add", &make_packed},
      {"sub", &make_packed},
      {"mul", &make_packed},
      {"fma", &make_packed},
      {"atom", &make_wide_atomic},
      {"tex", &make_texture_fetch},
      {"tld4", &make_texture_gather},
      {"txq", &make_texture_query},
      {"istypep", &make_type_test},
      {"suld", &make_surface_load},
      {"sust", &make_surface_store},
      {"sured", &make_surface_reduction},
      {"suq", &make_surface_query},
      {"red", &make_reduction},
      {"st", &make_async_store},
      {"mapa", &make_cluster_address},
      {"cvta", &make_conversion_of_address},
      {"getctarank", &make_rank},
      {"isspacep", &make_is_in_cluster},
      {"alloca", &make_stack_allocation},
      {"stacksave", &make_stack_save},
      {"stackrestore", &make_stack_restore},
  };
  return all;
}

}  // namespace

Result<Operation> make_operation(OperationRequest request) {
  const bool is_video = request.words.root().starts_with('v');
  const auto found = makers().find(request.words.root());
  if (found == makers().end() && !is_video) return refuse(request);
  const std::uint32_t line = request.line;
  Result<Operation> made = is_video ? make_video(request) : found->second(request);
  if (!made) return made;
  if (!request.words.front().empty()) return refuse(request);
  const bool takes_signs = request.words.root() == "vmad";
  if (!takes_signs && std::ranges::any_of(request.sources, &SourceSlot::negated))
    return failure("a negated operand");
  const auto addresses = std::ranges::count_if(request.sources, [](const SourceSlot& source) {
    using enum SourceSlot::Kind;
    return source.kind == address || source.kind == object || source.kind == descriptor ||
           source.kind == tensor;
  });
  if (static_cast<std::size_t>(addresses) != made->addresses.size()) return failure("malformed operands");
  made->line = line;
  return made;
}

void run_operation(WarpContext* warp, std::uint32_t mask, const Lanes* in, Lanes* out,
                   const Operation* operation) {
  if (mask == 0) return;
  if (operation->needs_converged_warp && mask != warp->live) {
    if (warp->fault.kind == FaultKind::none)
      warp->fault = {.kind = FaultKind::partial_warp, .line = operation->line};
    return;
  }
  if (warp->sites == nullptr) return operation->run({warp, mask, in, out, &operation->sites});
  SiteCounts* const counts = &warp->sites[operation->counted.site];
  if (operation->counted.sides.empty())
    return operation->run({warp, mask, in, out, &operation->sites, nullptr, counts});
  AccessRecord record;
  operation->run({warp, mask, in, out, &operation->sites, &record, counts});
  count_operation(warp, operation->counted, record);
}

std::byte* OperationCall::place(std::size_t index, std::uint64_t address, std::uint32_t lane,
                                std::uint64_t bytes, std::uint64_t alignment) const {
  const AccessSite* const site = (*sites)[index];
  if (record != nullptr) record->add({index, lane, address, bytes});
  if (warp->check != nullptr) {
    warp->check->settle_atomics();
    warp->check->access(*warp, *site, {address, bytes, lane, false}, nullptr);
  }
  if (address % alignment != 0) {
    raise(warp, FaultKind::misaligned_address, site, address, lane);
    return nullptr;
  }
  if (site->kind == AddressKind::shared) {
    if (AddressRange{0, warp->shared_bytes}.holds(address, bytes)) return warp->shared + address;
    return find_in_cluster(warp, site, address, lane, bytes, alignment);
  } else if (site->kind == AddressKind::local) {
    if (AddressRange{0, warp->local_stride}.holds(address, bytes))
      return warp->local + lane * warp->local_stride + address;
  } else {
    const AddressRange& known = warp->known[known_index(address)];
    if (never_in_window(*site) && known.holds(address, bytes)) return reinterpret_cast<std::byte*>(address);
    if (!find_range(warp, site, address, lane)) return nullptr;
    if (bytes <= site->bytes || generic_range(*warp, address, lane).holds(address, bytes))
      return reinterpret_cast<std::byte*>(address);
  }
  raise(warp, FaultKind::illegal_address, site, address, lane);
  return nullptr;
}

}  // namespace lynxpp::device::cpu
