#include "interposer/preload/compilers/linking.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>

#include "image/bytes.h"
#include "image/compiled_ptx.h"
#include "interposer/owned_mutex.h"
#include "interposer/preload/file_content.h"

namespace lynxpp::preload {
namespace {

constexpr int input_ptx = 1;    // CU_JIT_INPUT_PTX
constexpr int option_fma = 24;  // CU_JIT_FMA

struct Link {
  std::string ptx;
  bool is_plain = true;  ///< the driver generates the same code from the PTX alone
};

constinit OwnedMutex<std::mutex> mutex{LockRank::leaf};

/// Never destroyed: the program's own destructors may link.
std::map<void*, Link>& links() {
  static auto* const all = new std::map<void*, Link>;
  return *all;
}

/// True if this compilation keeps multiplications and additions apart that the driver would contract.
bool keeps_products_apart(const LinkOptions& given) {
  if (given.options == nullptr || given.values == nullptr) return false;
  for (unsigned i = 0; i < given.count; ++i) {
    if (given.options[i] == option_fma && reinterpret_cast<std::uintptr_t>(given.values[i]) == 0) return true;
  }
  return false;
}

void add(void* state, const char* text, std::size_t most, const LinkOptions& options) {
  const Lock lock(mutex);
  const auto found = links().find(state);
  if (found == links().end()) return;
  Link& link = found->second;
  if (keeps_products_apart(options)) link.is_plain = false;
  if (text == nullptr) return;
  if (!link.ptx.empty()) link.ptx += '\0';
  link.ptx.append(text, strnlen(text, most));
}

}  // namespace

void link_created(void* state, const LinkOptions& options) {
  const Lock lock(mutex);
  links()[state] = {{}, !keeps_products_apart(options)};
}

void link_data_added(void* state, int type, const void* data, std::size_t size, const LinkOptions& options) {
  add(state, type == input_ptx ? static_cast<const char*>(data) : nullptr, size, options);
}

void link_file_added(void* state, int type, const char* path, const LinkOptions& options) {
  const FileContent file(type == input_ptx ? path : nullptr);
  add(state, static_cast<const char*>(file.image()), SIZE_MAX, options);
}

void link_completed(void* state, const void* cubin, std::size_t bytes) {
  Link link;
  {
    const Lock lock(mutex);
    const auto found = links().find(state);
    if (found != links().end()) link = found->second;
  }
  if (!link.is_plain || link.ptx.empty() || cubin == nullptr) return;
  const std::span made(static_cast<const std::byte*>(cubin), bytes);
  if (image::load<std::uint32_t>(made, 0) == image::elf_magic) image::remember_ptx(made, link.ptx);
}

void link_destroyed(void* state) {
  const Lock lock(mutex);
  links().erase(state);
}

}  // namespace lynxpp::preload
