// Instructions on tensor maps: tensormap.replace and tensormap.cp_fenceproxy.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/cpu/simt/check/block_check.h"
#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/lanes/access_check.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/tensor_operands.h"

namespace lynxpp::device::cpu {
namespace {

using ptx::StateSpace;

using SetField = const char* (*)(TensorMap& map, std::uint32_t ordinal, std::uint64_t value);

/// A field that tensormap.replace sets. `set` returns null, or why the value is impossible.
struct MapField {
  std::string_view name;
  bool is_wide = false;        ///< a value of 64 bits
  std::uint32_t ordinals = 0;  ///< 0: the field has no ordinal
  bool takes_constant = false;
  SetField set = nullptr;
};

/// Values that no map can hold become the largest one; copies reject that, too.
template <typename T>
T clipped(std::uint64_t value) {
  return static_cast<T>(std::min<std::uint64_t>(value, std::numeric_limits<T>::max()));
}

template <auto member>
const char* set_member(TensorMap& map, std::uint32_t ordinal, std::uint64_t value) {
  auto& elements = map.*member;
  elements[ordinal] = clipped<std::remove_reference_t<decltype(elements[0])>>(value);
  return nullptr;
}

template <auto member, auto last>
const char* set_named(TensorMap& map, std::uint32_t, std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(last)) return "the new value is not defined for this field";
  map.*member = static_cast<std::remove_reference_t<decltype(map.*member)>>(value);
  return nullptr;
}

constexpr MapField map_fields[] = {
    {"global_address", true, 0, false,
     [](TensorMap& map, std::uint32_t, std::uint64_t value) -> const char* {
       map.address = value;
       return nullptr;
     }},
    {"rank", false, 0, false,
     [](TensorMap& map, std::uint32_t, std::uint64_t value) -> const char* {
       map.rank = clipped<std::uint8_t>(value + 1);
       return nullptr;
     }},
    {"box_dim", false, most_dimensions, false, &set_member<&TensorMap::box>},
    {"global_dim", false, most_dimensions, false, &set_member<&TensorMap::sizes>},
    {"global_stride", true, most_dimensions - 1, false, &set_member<&TensorMap::strides>},
    {"element_stride", false, most_dimensions, false, &set_member<&TensorMap::steps>},
    {"elemtype", false, 0, true, &set_named<&TensorMap::element, TensorElement::b6x16_p32>},
    {"interleave_layout", false, 0, true, &set_named<&TensorMap::interleave, TensorInterleave::bytes_32>},
    {"swizzle_mode", false, 0, true, &set_named<&TensorMap::swizzle, TensorSwizzle::bytes_96>},
    {"swizzle_atomicity", false, 0, true, &set_named<&TensorMap::atom, SwizzleAtom::bytes_64>},
    {"fill_mode", false, 0, true, &set_named<&TensorMap::fill, TensorFill::oob_nan>},
};

/// tensormap.replace.tile.field{.space}.b1024.type [map]{, ordinal}, value
Result<Operation> make_replacement(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (!words.take("tile")) return refuse(request);
  const auto* const field = std::ranges::find(map_fields, words.front(), &MapField::name);
  if (field == std::end(map_fields)) return refuse(request);
  words.take_any();
  const StateSpace space = take_space(words);
  if (!words.take("b1024") || !words.take(field->is_wide ? "b64" : "b32")) return refuse(request);
  const bool has_ordinal = field->ordinals != 0;
  const std::vector<SourceSlot>& sources = request.sources;
  if (sources.size() != (has_ordinal ? 3 : 2)) return failure("malformed operands");
  std::uint32_t ordinal = 0;
  if (has_ordinal) {
    if (sources[1].kind != SourceSlot::Kind::constant || sources[1].constant < 0 ||
        sources[1].constant >= field->ordinals)
      return failure("the ordinal is not a constant below " + std::to_string(field->ordinals));
    ordinal = static_cast<std::uint32_t>(sources[1].constant);
  }
  if (field->takes_constant && sources.back().kind != SourceSlot::Kind::constant)
    return failure("the new value is not a constant");
  const std::size_t value_at = sources.size() - 1;
  const std::uint64_t mask = field->is_wide ? ~std::uint64_t{0} : 0xffff'ffff;
  const auto run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const MapLocation location{0, call.in[0][lane], lane};
      std::byte* const place = call.place(0, location.address, lane, tensor_map_bytes, tensor_map_alignment);
      if (place == nullptr) return;
      const TensorMapBytes bytes(place, tensor_map_bytes);
      TensorMap map;
      const char* problem = decode(bytes, map);
      if (problem == nullptr) problem = field->set(map, ordinal, call.in[value_at][lane] & mask);
      if (problem != nullptr) return raise_tensor(call, location, problem);
      encode(map, bytes);
    });
  };
  return Operation{.run = run, .addresses = {{space, tensor_map_alignment}}};
}

/// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [to], [from], 128
Result<Operation> make_publication(OperationRequest& request) {
  OpcodeWords& words = request.words;
  for (const std::string_view word : {"global", "shared::cta", "tensormap::generic", "release"}) {
    if (!words.take(word)) return refuse(request);
  }
  if (words.take_of({"cta", "cluster", "gpu", "sys"}).empty() || !words.take("sync") ||
      !words.take("aligned"))
    return refuse(request);
  const std::vector<SourceSlot>& sources = request.sources;
  if (sources.size() != 3 || sources[2].kind != SourceSlot::Kind::constant ||
      sources[2].constant != static_cast<std::int64_t>(tensor_map_bytes))
    return failure("malformed operands");
  const auto run = [](const OperationCall& call) {
    if (call.warp->check != nullptr) {
      std::array<std::uint32_t, warp_size> members;
      members.fill(call.mask);
      call.warp->check->meet(*call.warp, *(*call.sites)[0], members.data(), call.mask);
    }
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(call.mask));
    const std::byte* const from =
        call.place(1, call.in[1][lane], lane, tensor_map_bytes, tensor_map_alignment);
    std::byte* const to = call.place(0, call.in[0][lane], lane, tensor_map_bytes, tensor_map_alignment);
    if (from != nullptr && to != nullptr) std::memcpy(to, from, tensor_map_bytes);
  };
  return Operation{
      .run = run,
      .addresses = {{StateSpace::global, tensor_map_alignment}, {StateSpace::shared, tensor_map_alignment}},
      .needs_converged_warp = true};
}

}  // namespace

void raise_tensor(const OperationCall& call, const MapLocation& location, std::string reason) {
  raise(call.warp, {.kind = FaultKind::invalid_tensor,
                    .lane = location.lane,
                    .address = location.address,
                    .site = (*call.sites)[location.site],
                    .reason = std::move(reason)});
}

MapFault find_map(const OperationCall& call, const MapLocation& location, TensorMap& map) {
  const WarpContext& warp = *call.warp;
  const auto fits = [&location](const AddressRange& range) {
    return range.holds(location.address, tensor_map_bytes);
  };
  const std::uint64_t from_local = location.address - reinterpret_cast<std::uintptr_t>(warp.local);
  if (rank_of_generic(warp, location.address) || from_local < warp.local_stride * warp_size)
    return {.kind = FaultKind::wrong_space};
  if (!fits({reinterpret_cast<std::uintptr_t>(warp.parameters), warp.parameter_bytes}) &&
      !fits(warp.memory->around(location.address)))
    return {.kind = FaultKind::illegal_address};
  if (location.address % tensor_map_alignment != 0)
    return {.problem = "the map's address is not a multiple of 64"};
  const auto* const bytes = reinterpret_cast<const std::byte*>(location.address);
  return {.problem = decode(ConstTensorMapBytes(bytes, tensor_map_bytes), map)};
}

bool read_map(const OperationCall& call, const MapLocation& location, TensorMap& map) {
  const MapFault found = find_map(call, location, map);
  if (found.problem != nullptr) raise_tensor(call, location, found.problem);
  if (found.kind != FaultKind::none)
    raise(call.warp, found.kind, (*call.sites)[location.site], location.address, location.lane);
  return found.is_map();
}

Result<Operation> make_tensor_map(OperationRequest& request) {
  if (request.words.take("replace")) return make_replacement(request);
  return request.words.take("cp_fenceproxy") ? make_publication(request) : refuse(request);
}

}  // namespace lynxpp::device::cpu
