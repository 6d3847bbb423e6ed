#include "support/call_site.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "support/text.h"

namespace lynxpp {
namespace {

struct Function {
  std::string name;  ///< mangled; empty if unknown
  std::uint64_t offset = 0;
};

/// A frame's location in the file it was loaded from.
struct Place {
  std::string file;          ///< without folders; empty if there is no file
  std::uint64_t offset = 0;  ///< address relative to the file
  Function function;
};

/// A memory-mapped file, unmapped on destruction; empty if it cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status = {};
    if (fstat(file, &status) == 0 && status.st_size > 0) {
      const auto bytes = static_cast<std::size_t>(status.st_size);
      void* const address = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
      if (address != MAP_FAILED) bytes_ = {static_cast<const char*>(address), bytes};
    }
    close(file);
  }
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Returns `count` objects at `offset`, or an empty span if they are not inside the file.
  template <typename Object>
  std::span<const Object> objects(std::uint64_t offset, std::uint64_t count) const {
    if (offset % alignof(Object) != 0 || offset > bytes_.size() ||
        count > (bytes_.size() - offset) / sizeof(Object)) {
      return {};
    }
    return {reinterpret_cast<const Object*>(bytes_.data() + offset), static_cast<std::size_t>(count)};
  }

 private:
  std::span<const char> bytes_;
};

/// Finds the function around `offset` in the file's full symbol table, which the dynamic linker does not use.
Function function_in_file(const char* path, std::uint64_t offset) {
  const MappedFile file(path);
  const auto header = file.objects<ElfW(Ehdr)>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_shentsize != sizeof(ElfW(Shdr))) {
    return {};
  }
  const auto sections = file.objects<ElfW(Shdr)>(header[0].e_shoff, header[0].e_shnum);
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const ElfW(Shdr)& names = sections[section.sh_link];
    const auto text = file.objects<char>(names.sh_offset, names.sh_size);
    for (const ElfW(Sym) & symbol :
         file.objects<ElfW(Sym)>(section.sh_offset, section.sh_size / sizeof(ElfW(Sym)))) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || offset < symbol.st_value ||
          offset - symbol.st_value >= symbol.st_size || symbol.st_name >= text.size()) {
        continue;
      }
      const auto name = text.subspan(symbol.st_name);
      return {std::string(name.begin(), std::find(name.begin(), name.end(), '\0')), offset - symbol.st_value};
    }
  }
  return {};
}

Place locate(const void* return_address) {
  // Point into the call: a call that does not return may end its function, and the next statement has another
  // line.
  const auto address = reinterpret_cast<std::uintptr_t>(return_address) - 1;
  Place place;
  place.offset = address;
  Dl_info info = {};
  link_map* object = nullptr;
  const bool found = dladdr1(reinterpret_cast<const void*>(address), &info, reinterpret_cast<void**>(&object),
                             RTLD_DL_LINKMAP) != 0;
  if (!found || info.dli_fname == nullptr || object == nullptr) return place;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  place.file = slash != nullptr ? slash + 1 : info.dli_fname;
  place.offset = address - object->l_addr;
  if (info.dli_sname != nullptr) {
    place.function = {info.dli_sname, address - reinterpret_cast<std::uintptr_t>(info.dli_saddr)};
  } else {
    const bool is_program = object->l_name == nullptr || object->l_name[0] == '\0';
    place.function = function_in_file(is_program ? "/proc/self/exe" : object->l_name, place.offset);
  }
  return place;
}

/// Returns "cudaMalloc" for "_ZL10cudaMallocIfE9cudaErrorPPT_m".
std::string_view plain_name(std::string_view name) {
  if (!name.starts_with("_Z")) return name;
  name.remove_prefix(name.starts_with("_ZL") ? 3 : 2);
  const std::size_t digits = name.find_first_not_of("0123456789");
  return digits == 0 || digits == std::string_view::npos ? std::string_view() : name.substr(digits);
}

bool is_cuda(const Place& place) {
  for (const char* const file : {"libcuda.so", "libcudart", "liblynxpp"}) {
    if (place.file.starts_with(file)) return true;
  }
  const std::string_view name = plain_name(place.function.name);
  for (const char* const function :
       {"cudaMalloc", "cudaHost", "cudaMem", "cuMem", "__cudart", "libcudart_static"}) {
    if (name.starts_with(function)) return true;
  }
  return false;
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string describe(const Place& place) {
  if (place.file.empty()) return hexadecimal(place.offset);
  if (place.function.name.empty()) return place.file + "+" + hexadecimal(place.offset);
  return demangle(place.function.name) + "+" + hexadecimal(place.function.offset);
}

bool is_c_library(const Place& place) { return place.file.starts_with("libc.so"); }

/// Returns the frames outside CUDA's outermost frame, since some frames of a static runtime have no names; if
/// CUDA's frames fill the stack, its last frame. Precondition: the stack is not empty.
std::vector<Place> outside_of_cuda(const CallStack& stack) {
  std::vector<Place> places;
  std::transform(stack.frames, stack.frames + stack.depth, std::back_inserter(places), locate);
  const auto inner = std::find_if(places.rbegin(), places.rend(), is_cuda).base();
  places.erase(places.begin(), std::min(inner, places.end() - 1));
  // Frames that start threads and call main are not informative.
  const auto main = std::find_if(places.begin() + 1, places.end(), is_c_library);
  places.erase(main, places.end());
  return places;
}

struct Texts {
  std::string chain;
  std::size_t caller_size = 0;
};

Texts describe(const CallStack& stack) {
  Texts result;
  for (const Place& place : outside_of_cuda(stack)) {
    if (!result.chain.empty()) result.chain += " < ";
    result.chain += describe(place);
    if (result.caller_size == 0) result.caller_size = result.chain.size();
  }
  return result;
}

struct Known {
  std::mutex mutex;
  std::map<std::vector<const void*>, Texts> by_stack;
};

Known& known() {
  static auto* const instance = new Known;
  return *instance;
}

CallSite view(const Texts& texts) {
  const std::string_view chain = texts.chain;
  return {chain.substr(0, texts.caller_size), chain};
}

}  // namespace

CallSite call_site(const CallStack& stack) {
  if (stack.depth == 0) return {};
  std::vector<const void*> key(stack.frames, stack.frames + stack.depth);
  Known& texts = known();
  {
    const std::lock_guard lock(texts.mutex);
    const auto found = texts.by_stack.find(key);
    if (found != texts.by_stack.end()) return view(found->second);
  }
  // Without the lock: a thread that waits for it may hold the dynamic linker's lock.
  Texts made = describe(stack);
  const std::lock_guard lock(texts.mutex);
  return view(texts.by_stack.try_emplace(std::move(key), std::move(made)).first->second);
}

namespace {

/// Returns "app::reduce" for "int app::reduce<int>(int const*, int)". Ignores angle brackets and parentheses;
/// text before a blank is a return type.
std::string without_types(std::string demangled) {
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  for (std::size_t at; (at = demangled.find(unnamed)) != std::string::npos;)
    demangled.erase(at, unnamed.size());
  std::string name;
  int depth = 0;
  for (const char c : demangled) {
    if (c == '<') ++depth;
    if (c == '(' && depth == 0) break;
    if (depth == 0) name += c;
    if (c == '>') --depth;
    if (c == ' ' && depth == 0) name.clear();
  }
  return name;
}

}  // namespace

std::string_view function_name(const void* return_address) {
  static std::mutex mutex;
  static auto* const known = new std::map<const void*, std::string>;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known->try_emplace(return_address);
  if (is_new) entry->second = without_types(demangle(locate(return_address).function.name));
  return entry->second;
}

}  // namespace lynxpp
