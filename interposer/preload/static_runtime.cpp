#include "interposer/preload/static_runtime.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "interposer/preload/cpu_choice.h"
#include "support/own_program.h"

namespace lynxpp::preload {
namespace {

/// jmp *0(%rip), followed by the address.
constexpr unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
constexpr std::size_t jump_size = sizeof jump + sizeof(void*);

void write_jump(unsigned char* place, const void* target) {
  std::memcpy(place, jump, sizeof jump);
  std::memcpy(place + sizeof jump, &target, sizeof target);
}

bool is_function(const ElfW(Sym) & symbol) {
  return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
}

}  // namespace

bool is_runtime_name(const char* symbol) {
  return strncmp(symbol, "cuda", 4) == 0 || strncmp(symbol, "__cuda", 6) == 0;
}

StaticRuntime::StaticRuntime(const LoadedObject& object) : object_(object) {
  if (is_runtime_library(object.base_name()) || object.needs(is_runtime_library)) return;
  char program[PATH_MAX];
  find_own_program(program);
  const int file = open(object.name()[0] == '\0' ? program : object.name(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status {};
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    void* const mapped =
        mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped != MAP_FAILED) {
      file_ = static_cast<const char*>(mapped);
      size_ = static_cast<std::size_t>(status.st_size);
    }
  }
  close(file);
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(bytes(0, sizeof(ElfW(Ehdr))));
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(ElfW(Shdr)) ||
      header->e_shoff % alignof(ElfW(Shdr)) != 0)
    return;
  sections_ = reinterpret_cast<const ElfW(Shdr)*>(
      bytes(header->e_shoff, std::uint64_t{header->e_shnum} * sizeof(ElfW(Shdr))));
  if (sections_ == nullptr) return;
  section_count_ = header->e_shnum;
  names_ = header->e_shstrndx;
  is_present_ = find_section(".nvFatBinSegment", SHT_PROGBITS) != nullptr;
  const ElfW(Shdr)* const table = find_section(".symtab", SHT_SYMTAB);
  if (table == nullptr || table->sh_link >= section_count_ || table->sh_offset % alignof(ElfW(Sym)) != 0)
    return;
  const ElfW(Shdr)& strings = sections_[table->sh_link];
  const char* const text = bytes(strings.sh_offset, strings.sh_size);
  symbols_ = reinterpret_cast<const ElfW(Sym)*>(bytes(table->sh_offset, table->sh_size));
  if (symbols_ == nullptr || text == nullptr || strings.sh_size == 0 || text[strings.sh_size - 1] != '\0')
    return;
  strings_ = {text, strings.sh_size};
  symbol_count_ = table->sh_size / sizeof(ElfW(Sym));
  if (!has_function("__cudaRegisterFatBinary")) symbol_count_ = 0;
  is_present_ = is_present_ || symbol_count_ != 0;
}

StaticRuntime::~StaticRuntime() {
  if (file_ != nullptr) munmap(const_cast<char*>(file_), size_);
}

const char* StaticRuntime::bytes(std::uint64_t offset, std::uint64_t size) const {
  return offset <= size_ && size <= size_ - offset ? file_ + offset : nullptr;
}

const ElfW(Shdr) * StaticRuntime::find_section(const char* name, unsigned type) const {
  if (names_ >= section_count_) return nullptr;
  const std::size_t length = strlen(name) + 1;
  for (unsigned i = 0; i < section_count_; ++i) {
    if (sections_[i].sh_type != type) continue;
    const std::uint64_t begin = sections_[names_].sh_offset + sections_[i].sh_name;
    const char* const found = bytes(begin, length);
    if (found != nullptr && std::memcmp(found, name, length) == 0) return &sections_[i];
  }
  return nullptr;
}

template <typename Visit>
void StaticRuntime::for_each_function(Visit visit) const {
  for (std::size_t i = 0; i < symbol_count_; ++i) {
    const ElfW(Sym)& symbol = symbols_[i];
    if (is_function(symbol) && symbol.st_name < strings_.size())
      visit(symbol, strings_.data() + symbol.st_name);
  }
}

template <typename Visit>
void StaticRuntime::for_each_runtime_function(Visit visit) const {
  for_each_function([&](const ElfW(Sym) & symbol, const char* name) {
    if (is_runtime_name(name)) visit(symbol, name);
  });
}

std::vector<void (*)()> StaticRuntime::registrations() const {
  std::vector<void (*)()> result;
  bool is_relocatable = false;
  for_each_function([&](const ElfW(Sym) & symbol, const char* name) {
    is_relocatable = is_relocatable || strncmp(name, "__cudaRegisterLinkedBinary", 26) == 0;
    const auto address = object_.base() + symbol.st_value;
    if (strstr(name, "__sti____cudaRegisterAll") != nullptr &&
        object_.contains(reinterpret_cast<const void*>(address)))
      result.push_back(reinterpret_cast<void (*)()>(address));
  });
  if (is_relocatable) result.clear();
  return result;
}

bool StaticRuntime::has_function(std::string_view wanted) const {
  bool found = false;
  for_each_runtime_function([&](const ElfW(Sym)&, const char* name) { found = found || name == wanted; });
  return found;
}

int StaticRuntime::version() const {
  if (has_function("cudaMemGetDefaultMemPool")) return 13;
  return has_function("cudaGetDeviceProperties_v2") ? 12 : 11;
}

bool StaticRuntime::is_redirected() const {
  bool result = false;
  for_each_runtime_function([&](const ElfW(Sym) & symbol, const char* name) {
    const auto* const begin = reinterpret_cast<const void*>(object_.base() + symbol.st_value);
    result = result || (strcmp(name, "__cudaRegisterFatBinary") == 0 && object_.contains(begin) &&
                        std::memcmp(begin, jump, sizeof jump) == 0);
  });
  return result;
}

unsigned char* StaticRuntime::place_for_jump(const ElfW(Sym) & symbol) const {
  if (symbol.st_shndx >= section_count_) return nullptr;
  const ElfW(Shdr)& section = sections_[symbol.st_shndx];
  const std::uint64_t begin = symbol.st_value - section.sh_addr;
  if ((section.sh_flags & SHF_EXECINSTR) == 0 || begin > section.sh_size ||
      section.sh_size - begin < jump_size)
    return nullptr;
  const char* const code = bytes(section.sh_offset + begin, jump_size);
  auto* const place = reinterpret_cast<unsigned char*>(object_.base() + symbol.st_value);
  if (code == nullptr || !object_.contains(place) || !object_.contains(place + jump_size - 1) ||
      std::memcmp(code, place, jump_size) != 0)
    return nullptr;
  // The shortest functions are followed by padding up to the next one.
  const bool is_overwritten = symbol.st_size < jump_size &&
                              std::any_of(symbols_, symbols_ + symbol_count_, [&](const ElfW(Sym) & other) {
                                return other.st_shndx == symbol.st_shndx &&
                                       other.st_value > symbol.st_value &&
                                       other.st_value < symbol.st_value + jump_size;
                              });
  return is_overwritten ? nullptr : place;
}

bool StaticRuntime::redirect(const std::function<void*(const char* name)>& target) const {
  auto begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  for_each_runtime_function([&](const ElfW(Sym) & symbol, const char*) {
    if (place_for_jump(symbol) == nullptr) return;
    begin = std::min(begin, object_.base() + symbol.st_value);
    end = std::max(end, object_.base() + symbol.st_value + jump_size);
  });
  if (begin >= end) return false;
  begin &= ~(static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)) - 1);
  auto* const pages = reinterpret_cast<void*>(begin);
  // A system that forbids changed code refuses this call, not the one that follows the change.
  if (mprotect(pages, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  for_each_runtime_function([&](const ElfW(Sym) & symbol, const char* name) {
    unsigned char* const place = place_for_jump(symbol);
    void* const address = place != nullptr ? target(name) : nullptr;
    if (address != nullptr) write_jump(place, address);
  });
  mprotect(pages, end - begin, PROT_READ | PROT_EXEC);
  return true;
}

bool links_static_runtime() {
  bool found = false;
  for_each_loaded_object([&](const LoadedObject& object) {
    found = StaticRuntime(object).has_functions();
    return found;
  });
  return found;
}

}  // namespace lynxpp::preload
