#include "device/cpu/simt/compile/frame_layout.h"

#include <algorithm>

namespace lynxpp::device::cpu {
namespace {

/// Larger variables count as this size, so that no sum overflows.
constexpr std::uint64_t beyond_any_limit = std::uint64_t{1} << 31;

}  // namespace

FrameLayout::FrameLayout(const ptx::Function& function) {
  if (!function.is_entry) {
    for (const ptx::Variable& parameter : function.parameters) add(parameter);
    for (const ptx::Variable& result : function.returns) add(result);
  }
  if (function.body) {
    for (const ptx::Variable& variable : function.body->variables) add(variable);
  }
  bytes_ = align_up(bytes_, 16);
}

void FrameLayout::add(const ptx::Variable& variable) {
  if (variable.space != ptx::StateSpace::param && variable.space != ptx::StateSpace::local) return;
  bytes_ = align_up(bytes_, variable.alignment);
  offsets_[&variable] = bytes_;
  bytes_ += std::min(variable.size_bytes(), beyond_any_limit);
}

ParameterLayout::ParameterLayout(const ptx::Function& kernel) {
  std::uint64_t end = 0;
  for (const ptx::Variable& parameter : kernel.parameters) {
    end = align_up(end, parameter.alignment);
    offsets[parameter.name] = static_cast<std::uint32_t>(end);
    end += std::min(parameter.size_bytes(), beyond_any_limit);
  }
  bytes = end;
}

}  // namespace lynxpp::device::cpu
