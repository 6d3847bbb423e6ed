#include <cstdlib>

#include "device/cpu/simt/execute/memory/global_memory.h"

namespace lynxpp::device::cpu {
namespace {

class UncheckedMemory final : public GlobalMemory {
 public:
  AddressRange around(std::uint64_t address) const override {
    constexpr std::uint64_t page = 4096;
    return address < page ? AddressRange{} : AddressRange{page, ~std::uint64_t{0} - page};
  }
  std::string describe(std::uint64_t) const override { return "a null pointer"; }
  void* allocate_for_kernel(std::uint64_t bytes) override { return std::malloc(bytes); }
  bool free_for_kernel(void* pointer) override {
    std::free(pointer);
    return true;
  }
};

}  // namespace

GlobalMemory& unchecked_memory() {
  static auto* const memory = new UncheckedMemory;
  return *memory;
}

}  // namespace lynxpp::device::cpu
