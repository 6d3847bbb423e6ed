#include "ptx/perturb/shared_lanes.h"

#include <algorithm>
#include <string_view>

#include "ptx/passes/module/entry.h"
#include "ptx/passes/module/shared_addresses.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t most_bytes_of_lanes = 32 * 16;

bool is_named(const Additions& to, std::string_view variable) {
  const auto names = [&](const Operand& operand) {
    const auto is_it = [&](const Operand& each) { return each.name == variable; };
    return is_it(operand) || std::ranges::any_of(operand.elements, is_it);
  };
  return std::ranges::any_of(to.body().instructions, [&](const Instruction& instruction) {
    return std::ranges::any_of(instruction.operands, names);
  });
}

/// Returns the largest shared array with room for an element that the kernel names. An extern array comes
/// last: it may be empty if the kernel has others. Null without one.
const Variable* find_array(const Additions& to, std::uint32_t bytes) {
  const Function& kernel = *to.kernel().function;
  const Variable* best = nullptr;
  const auto rank = [](const Variable& each) { return each.is_extern ? 0 : each.size_bytes(); };
  for (const Variable* each : addressable_shared_variables(to.module(), kernel)) {
    const bool is_declared_first =
        each->text.begin < kernel.text.begin || each->text.end <= entry_position(kernel);
    const bool has_room =
        each->is_extern || each->size_bytes() >= (each->alignment < bytes ? 2 * bytes : bytes);
    if (!is_declared_first || !has_room || !is_named(to, each->name)) continue;
    if (best == nullptr || rank(*each) > rank(*best)) best = each;
  }
  return best;
}

}  // namespace

bool SharedLanes::has_room(const Additions& to, std::uint32_t bytes) {
  return find_array(to, bytes) != nullptr;
}

VirtualRegister SharedLanes::address(Additions& to, std::uint32_t bytes) {
  const auto found = own_.find(bytes);
  if (found != own_.end()) return found->second;
  const Variable* const array = find_array(to, bytes);
  CodeBuilder& entry = to.entry();
  const VirtualRegister variable = entry.b32("mov.u32", {Name{array->name}});
  VirtualRegister first = variable;
  if (array->alignment < bytes) {
    first = entry.b32("add.u32", {variable, bytes - 1});
    entry.emit("and.b32", {first, first, ~(bytes - 1)});
  }
  VirtualRegister own = entry.b32("mad.lo.u32", {entry.special("%laneid"), bytes, first});
  if (array->is_extern || array->size_bytes() < most_bytes_of_lanes + bytes) {
    const CodeOperand size = array->is_extern ? CodeOperand(entry.special("%dynamic_smem_size"))
                                              : CodeOperand(array->size_bytes());
    const VirtualRegister end = entry.b32("add.u32", {variable, size});
    const VirtualRegister last = entry.b32("sub.u32", {end, bytes});
    entry.emit("and.b32", {last, last, ~(bytes - 1)});
    own = entry.b32("min.u32", {own, last});
  }
  own_.emplace(bytes, own);
  return own;
}

std::optional<SharedLanes::Lane> SharedLanes::lane(Additions& to, std::uint32_t bytes) {
  const bool has_none = addressable_shared_variables(to.module(), *to.kernel().function).empty();
  if (!has_none && !has_room(to, bytes)) return std::nullopt;
  if (has_none) {
    const auto [known, is_new] = own_.try_emplace(bytes);
    if (is_new)
      known->second =
          to.entry().b32("mad.lo.u32", {to.lane(), bytes, to.added_shared_memory(most_bytes_of_lanes)});
    return Lane{known->second, std::nullopt};
  }
  const Lane found{address(to, bytes), std::nullopt};
  if (!find_array(to, bytes)->is_extern) return found;
  const auto [known, is_new] = rooms_.try_emplace(bytes);
  // Twice the size: the array may be aligned to less.
  if (is_new)
    known->second = to.entry().pred("setp.ge.u32", {to.entry().special("%dynamic_smem_size"), 2 * bytes});
  return Lane{found.address, known->second};
}

}  // namespace lynxpp::ptx
