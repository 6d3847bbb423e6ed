#include "interposer/preload/compilers/jit_linking.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "image/bytes.h"
#include "image/compiled_ptx.h"
#include "interposer/owned_mutex.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/file_content.h"
#include "interposer/preload/process.h"
#include "interposer/preload/quietly.h"

namespace lynxpp::preload {
namespace {

using Handle = void*;

// nvJitLinkInputType
constexpr int input_ptx = 2;
constexpr int input_lto = 3;
constexpr int input_any = 10;

/// Functions of one library and one version of its interface.
struct Linker {
  int (*create)(Handle*, std::uint32_t, const char**) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*add_data)(Handle, int, const void*, std::size_t, const char*) = nullptr;
  int (*add_file)(Handle, int, const char*) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubin_size)(Handle, std::size_t*) = nullptr;
  int (*cubin)(Handle, void*) = nullptr;
  int (*ptx_size)(Handle, std::size_t*) = nullptr;
  int (*ptx)(Handle, char*) = nullptr;

  bool is_complete() const {
    return create != nullptr && destroy != nullptr && add_data != nullptr && add_file != nullptr &&
           complete != nullptr && cubin_size != nullptr && cubin != nullptr && ptx_size != nullptr &&
           ptx != nullptr;
  }
};

struct Link {
  std::vector<std::string> options;
  std::string ptx;               ///< inputs, separated by a zero byte
  std::vector<std::string> lto;  ///< inputs, kept only while something is attached
  bool has_others = false;       ///< inputs of other kinds
  /// Multiplications and additions that the driver would contract are kept apart: in PTX inputs, in all PTX.
  bool keeps_inputs_apart = false;
  bool keeps_all_apart = false;
};

constinit OwnedMutex<std::mutex> mutex{LockRank::leaf};

/// Never destroyed: the program's own destructors may link.
std::map<Handle, Link>& links() {
  static auto* const all = new std::map<Handle, Link>;
  return *all;
}

bool is_ptx(const char* text, std::size_t size) {
  return std::string(text, std::min<std::size_t>(strnlen(text, size), 4096)).find(".version") !=
         std::string::npos;
}

void note_creation(Handle handle, std::uint32_t count, const char** options) {
  Link link;
  for (std::uint32_t i = 0; i < count && options != nullptr; ++i) {
    const std::string& option = link.options.emplace_back(options[i]);
    link.keeps_inputs_apart |= option == "-fma=0" || option == "-fma=false";
    link.keeps_all_apart |= option.find("fmad=false") != std::string::npos;  // -Xptxas=…
  }
  const Lock lock(mutex);
  links()[handle] = std::move(link);
}

void note_input(Handle handle, int type, const void* data, std::size_t size) {
  const Lock lock(mutex);
  const auto found = links().find(handle);
  if (found == links().end() || data == nullptr) return;
  Link& link = found->second;
  const auto* const text = static_cast<const char*>(data);
  if (type == input_ptx || (type == input_any && is_ptx(text, size))) {
    if (!link.ptx.empty()) link.ptx += '\0';
    link.ptx.append(text, strnlen(text, size));
  } else if (type == input_lto && attached()) {
    link.lto.emplace_back(text, size);
  } else {
    link.has_others = true;
  }
}

std::string ptx_of(const Linker& linker, Handle handle) {
  std::size_t size = 0;
  if (linker.ptx_size(handle, &size) != 0 || size <= 1) return {};
  std::string ptx(size, '\0');
  if (linker.ptx(handle, ptx.data()) != 0) return {};
  ptx.resize(strlen(ptx.c_str()));
  return ptx;
}

/// Returns the PTX of a link of intermediate code alone, by linking again up to PTX.
std::string linked_ptx(const Linker& linker, const Link& link) {
  std::vector<const char*> options;
  for (const std::string& option : link.options) options.push_back(option.c_str());
  options.push_back("-ptx");
  Handle handle = nullptr;
  if (linker.create(&handle, static_cast<std::uint32_t>(options.size()), options.data()) != 0) return {};
  bool is_added = true;
  for (const std::string& each : link.lto)
    is_added &= linker.add_data(handle, input_lto, each.data(), each.size(), "lynxpp") == 0;
  std::string ptx;
  if (is_added && linker.complete(handle) == 0) ptx = ptx_of(linker, handle);
  linker.destroy(&handle);
  return ptx;
}

void remember_cubin(const Linker& linker, Handle handle, const void* cubin) {
  std::size_t size = 0;
  Link link;
  {
    const Lock lock(mutex);
    const auto found = links().find(handle);
    if (found == links().end()) return;
    link = found->second;
  }
  if (linker.cubin_size(handle, &size) != 0) return;
  const std::span bytes(static_cast<const std::byte*>(cubin), size);
  if (image::load<std::uint32_t>(bytes, 0) != image::elf_magic) return;
  if (link.keeps_all_apart) return;
  if (link.lto.empty()) {
    if (!link.keeps_inputs_apart && !link.ptx.empty()) image::remember_ptx(bytes, link.ptx);
  } else if (link.ptx.empty() && !link.has_others) {
    const std::string ptx = linked_ptx(linker, link);
    if (is_ptx(ptx.data(), ptx.size())) image::remember_ptx(bytes, ptx);
  }
}

constexpr std::size_t most_linkers = 8;
std::array<Linker, most_linkers> linkers;
std::atomic<std::size_t> linker_count = 0;

template <std::size_t index>
struct Forward {
  static int create(Handle* handle, std::uint32_t count, const char** options) {
    const int status = linkers[index].create(handle, count, options);
    if (status == 0 && handle != nullptr) quietly([&] { note_creation(*handle, count, options); });
    return status;
  }
  static int destroy(Handle* handle) {
    if (handle != nullptr) {
      const Lock lock(mutex);
      links().erase(*handle);
    }
    return linkers[index].destroy(handle);
  }
  static int add_data(Handle handle, int type, const void* data, std::size_t size, const char* name) {
    const int status = linkers[index].add_data(handle, type, data, size, name);
    if (status == 0) quietly([&] { note_input(handle, type, data, size); });
    return status;
  }
  static int add_file(Handle handle, int type, const char* path) {
    const int status = linkers[index].add_file(handle, type, path);
    if (status == 0) {
      quietly([&] {
        const FileContent file(path);
        note_input(handle, type, file.image(), file.size());
      });
    }
    return status;
  }
  static int cubin(Handle handle, void* to) {
    const int status = linkers[index].cubin(handle, to);
    if (status == 0 && to != nullptr) quietly([&] { remember_cubin(linkers[index], handle, to); });
    return status;
  }
};

template <std::size_t... index>
constexpr std::array<Linker, sizeof...(index)> forwarding_functions(std::index_sequence<index...>) {
  return {Linker{.create = &Forward<index>::create,
                 .destroy = &Forward<index>::destroy,
                 .add_data = &Forward<index>::add_data,
                 .add_file = &Forward<index>::add_file,
                 .cubin = &Forward<index>::cubin}...};
}

constexpr auto forward_to = forwarding_functions(std::make_index_sequence<most_linkers>());

/// The library exports each function under a plain name and under one with its interface version, which its
/// header calls: nvJitLinkCreate, __nvJitLinkCreate_13_0.
struct Name {
  std::string before;  ///< "" or "__"
  std::string plain;   ///< "Create"
  std::string after;   ///< "" or "_13_0"

  explicit Name(const char* whole) {
    if (strncmp(whole, "__", 2) == 0) before = "__";
    const char* const rest = whole + before.size();
    if (strncmp(rest, "nvJitLink", 9) != 0) return;
    const char* const underscore = strchr(rest, '_');
    plain.assign(rest + 9,
                 underscore != nullptr ? static_cast<std::size_t>(underscore - rest - 9) : strlen(rest + 9));
    if (underscore != nullptr) after = underscore;
  }
};

Linker find_linker(const FunctionFinder& find, const Name& name) {
  Linker linker;
  const auto look_up = [&](auto& function, const char* plain) {
    const std::string whole = name.before + "nvJitLink" + plain + name.after;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find(whole.c_str()));
  };
  look_up(linker.create, "Create");
  look_up(linker.destroy, "Destroy");
  look_up(linker.add_data, "AddData");
  look_up(linker.add_file, "AddFile");
  look_up(linker.complete, "Complete");
  look_up(linker.cubin_size, "GetLinkedCubinSize");
  look_up(linker.cubin, "GetLinkedCubin");
  look_up(linker.ptx_size, "GetLinkedPtxSize");
  look_up(linker.ptx, "GetLinkedPtx");
  return linker;
}

void* function_of(const Linker& linker, const std::string& plain) {
  if (plain == "Create") return reinterpret_cast<void*>(linker.create);
  if (plain == "Destroy") return reinterpret_cast<void*>(linker.destroy);
  if (plain == "AddData") return reinterpret_cast<void*>(linker.add_data);
  if (plain == "AddFile") return reinterpret_cast<void*>(linker.add_file);
  return plain == "GetLinkedCubin" ? reinterpret_cast<void*>(linker.cubin) : nullptr;
}

void* forwarding_to(const FunctionFinder& find, const char* asked) {
  const Name name(asked);
  if (function_of(forward_to[0], name.plain) == nullptr) return nullptr;
  const Linker linker = find_linker(find, name);
  if (!linker.is_complete()) return nullptr;
  const Lock lock(mutex);
  const std::size_t known = linker_count.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < known; ++i) {
    if (linkers[i].create == linker.create) return function_of(forward_to[i], name.plain);
  }
  if (known == most_linkers) return nullptr;
  linkers[known] = linker;
  linker_count.store(known + 1, std::memory_order_release);
  return function_of(forward_to[known], name.plain);
}

}  // namespace

void* watched_linker_function(void* handle, const char* name) {
  // Only the caller's own call can find the function after the caller.
  if (handle == RTLD_NEXT) return nullptr;
  return watched_linker_function([handle](const char* wanted) { return real_dlsym(handle, wanted); }, name);
}

void* watched_linker_function(const FunctionFinder& find, const char* name) {
  void* found = nullptr;
  if (strstr(name, "nvJitLink") != nullptr) quietly([&] { found = forwarding_to(find, name); });
  return found;
}

}  // namespace lynxpp::preload
