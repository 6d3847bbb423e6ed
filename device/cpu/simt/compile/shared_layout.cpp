#include "device/cpu/simt/compile/shared_layout.h"

#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

std::string with_offset(const std::string& name, std::uint64_t offset) {
  return offset == 0 ? name : name + " + " + std::to_string(offset);
}

}  // namespace

std::string shared_key(const ptx::Function* function, std::uint32_t scope, std::string_view name) {
  return function->name + "/" + std::to_string(scope) + "/" + std::string(name);
}

std::string name_of_shared(const SharedLayout& layout, std::uint64_t offset) {
  if (offset >= layout.static_bytes)
    return with_offset("dynamic shared memory", offset - layout.static_bytes);
  const SharedLayout::Array* last = nullptr;
  for (const SharedLayout::Array& array : layout.arrays) {
    if (array.offset <= offset) last = &array;
  }
  if (last == nullptr) return with_offset("shared memory", offset);
  return with_offset("shared array '" + demangle(last->name) + "'", offset - last->offset);
}

}  // namespace lynxpp::device::cpu
