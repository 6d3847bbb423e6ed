#include "interposer/preload/loaded_object.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace lynxpp::preload {
namespace {

std::uintptr_t page_size() {
  static const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::uintptr_t page_down(std::uintptr_t address) { return address & ~(page_size() - 1); }

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

std::uint32_t sysv_hash_of(const char* name) {
  std::uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    const std::uint32_t high = hash & 0xf0000000;
    hash ^= high >> 24;
    hash &= ~high;
  }
  return hash;
}

}  // namespace

LoadedObject::LoadedObject(const dl_phdr_info& info)
    : name_(info.dlpi_name != nullptr ? info.dlpi_name : ""),
      base_(info.dlpi_addr),
      headers_(info.dlpi_phdr),
      header_count_(info.dlpi_phnum) {
  for (std::size_t i = 0; i < header_count_; ++i) {
    const ElfW(Phdr)& header = headers_[i];
    if (header.p_type == PT_DYNAMIC) {
      read_dynamic(reinterpret_cast<const ElfW(Dyn)*>(base_ + header.p_vaddr));
    } else if (header.p_type == PT_GNU_RELRO) {
      // The dynamic linker protects complete pages only: the last, partial one stays writable.
      relro_begin_ = page_down(base_ + header.p_vaddr);
      relro_end_ = page_down(base_ + header.p_vaddr + header.p_memsz);
    }
  }
}

void LoadedObject::read_dynamic(const ElfW(Dyn) * dynamic) {
  dynamic_ = dynamic;
  // glibc has made the addresses absolute, except in objects it did not relocate (the vDSO).
  const auto pointer = [this](std::uintptr_t value) { return value < base_ ? base_ + value : value; };
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    const std::uintptr_t value = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_STRTAB: strings_ = reinterpret_cast<const char*>(pointer(value)); break;
      case DT_SYMTAB: symbols_ = reinterpret_cast<ElfW(Sym)*>(pointer(value)); break;
      case DT_GNU_HASH: gnu_hash_ = reinterpret_cast<const std::uint32_t*>(pointer(value)); break;
      case DT_HASH: hash_ = reinterpret_cast<const std::uint32_t*>(pointer(value)); break;
      case DT_RELA: relocations_ = reinterpret_cast<const ElfW(Rela)*>(pointer(value)); break;
      case DT_RELASZ: relocation_bytes_ = value; break;
      case DT_JMPREL: plt_relocations_ = reinterpret_cast<const ElfW(Rela)*>(pointer(value)); break;
      case DT_PLTRELSZ: plt_relocation_bytes_ = value; break;
      default: break;
    }
  }
}

const char* LoadedObject::base_name() const {
  const char* slash = strrchr(name_, '/');
  return slash != nullptr ? slash + 1 : name_;
}

bool LoadedObject::contains(const void* address) const {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (std::size_t i = 0; i < header_count_; ++i) {
    const ElfW(Phdr)& header = headers_[i];
    if (header.p_type == PT_LOAD && wanted - (base_ + header.p_vaddr) < header.p_memsz) return true;
  }
  return false;
}

bool LoadedObject::needs(bool (*matches)(const char* file_name)) const {
  if (dynamic_ == nullptr || strings_ == nullptr) return false;
  for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && matches(strings_ + entry->d_un.d_val)) return true;
  }
  return false;
}

bool LoadedObject::has_search_path() const {
  if (dynamic_ == nullptr) return false;
  for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_RPATH || entry->d_tag == DT_RUNPATH) return true;
  }
  return false;
}

void LoadedObject::visit_slots(SlotVisitor visit, void* context) const {
  if (symbols_ == nullptr || strings_ == nullptr) return;
  const bool protect = relro_end_ > relro_begin_;
  if (protect && !protect_relro(PROT_READ | PROT_WRITE)) return;
  visit_table(relocations_, relocation_bytes_, visit, context);
  visit_table(plt_relocations_, plt_relocation_bytes_, visit, context);
  if (protect) protect_relro(PROT_READ);
}

void LoadedObject::visit_table(const ElfW(Rela) * table, std::size_t bytes, SlotVisitor visit,
                               void* context) const {
  if (table == nullptr) return;
  for (std::size_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i) {
    const ElfW(Rela)& relocation = table[i];
    const auto type = ELF64_R_TYPE(relocation.r_info);
    const auto index = ELF64_R_SYM(relocation.r_info);
    if (index == 0 || (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64))
      continue;
    if (type == R_X86_64_64 && relocation.r_addend != 0) continue;
    const std::uintptr_t slot = base_ + relocation.r_offset;
    // Skips read-only slots such as those in relocated code pages.
    if ((protection_of(slot) & PROT_WRITE) == 0) continue;
    visit(context, strings_ + symbols_[index].st_name, reinterpret_cast<void**>(slot));
  }
}

bool LoadedObject::protect_relro(int protection) const {
  return mprotect(reinterpret_cast<void*>(relro_begin_), relro_end_ - relro_begin_, protection) == 0;
}

int LoadedObject::protection_of(std::uintptr_t address) const {
  for (std::size_t i = 0; i < header_count_; ++i) {
    const ElfW(Phdr)& header = headers_[i];
    if (header.p_type != PT_LOAD || address - (base_ + header.p_vaddr) >= header.p_memsz) continue;
    return ((header.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((header.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
           ((header.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
  }
  return PROT_NONE;
}

ElfW(Sym) * LoadedObject::find_export(const char* symbol) const {
  const auto matches = [&](std::uint32_t index) {
    const ElfW(Sym)& candidate = symbols_[index];
    return candidate.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(candidate.st_info) == STT_FUNC &&
           strcmp(strings_ + candidate.st_name, symbol) == 0;
  };
  if (symbols_ == nullptr || strings_ == nullptr) return nullptr;
  if (gnu_hash_ != nullptr) {
    const std::uint32_t buckets = gnu_hash_[0];
    const std::uint32_t first_symbol = gnu_hash_[1];
    const std::uint32_t bloom_words = gnu_hash_[2];
    const std::uint32_t* bucket = gnu_hash_ + 4 + 2 * std::size_t{bloom_words};
    const std::uint32_t* chain = bucket + buckets;
    if (buckets == 0) return nullptr;
    const std::uint32_t wanted = gnu_hash_of(symbol);
    std::uint32_t index = bucket[wanted % buckets];
    if (index < first_symbol) return nullptr;
    for (;; ++index) {
      const std::uint32_t hash = chain[index - first_symbol];
      if ((hash | 1) == (wanted | 1) && matches(index)) return &symbols_[index];
      if ((hash & 1) != 0) return nullptr;
    }
  }
  if (hash_ != nullptr && hash_[0] != 0) {
    const std::uint32_t* bucket = hash_ + 2;
    const std::uint32_t* chain = bucket + hash_[0];
    for (std::uint32_t index = bucket[sysv_hash_of(symbol) % hash_[0]]; index != 0; index = chain[index]) {
      if (matches(index)) return &symbols_[index];
    }
  }
  return nullptr;
}

void* LoadedObject::address_of(const char* symbol) const {
  const ElfW(Sym)* const found = find_export(symbol);
  return found != nullptr ? reinterpret_cast<void*>(base_ + found->st_value) : nullptr;
}

void LoadedObject::visit_exports(ExportVisitor visit, void* context) const {
  const auto visit_one = [&](std::uint32_t index) {
    const ElfW(Sym)& symbol = symbols_[index];
    if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
      visit(context, strings_ + symbol.st_name);
  };
  if (symbols_ == nullptr || strings_ == nullptr) return;
  if (gnu_hash_ != nullptr) {
    const std::uint32_t buckets = gnu_hash_[0];
    const std::uint32_t first_symbol = gnu_hash_[1];
    const std::uint32_t* bucket = gnu_hash_ + 4 + 2 * std::size_t{gnu_hash_[2]};
    const std::uint32_t* chain = bucket + buckets;
    for (std::uint32_t i = 0; i < buckets; ++i) {
      if (bucket[i] < first_symbol) continue;
      for (std::uint32_t index = bucket[i];; ++index) {
        visit_one(index);
        if ((chain[index - first_symbol] & 1) != 0) break;
      }
    }
  } else if (hash_ != nullptr) {
    for (std::uint32_t index = 1; index < hash_[1]; ++index) visit_one(index);
  }
}

bool LoadedObject::redirect_export(const char* symbol, void* address) const {
  ElfW(Sym)* const found = find_export(symbol);
  if (found == nullptr) return false;
  const auto begin = page_down(reinterpret_cast<std::uintptr_t>(found));
  const auto end = page_down(reinterpret_cast<std::uintptr_t>(found + 1) - 1) + page_size();
  const int before = protection_of(reinterpret_cast<std::uintptr_t>(found));
  auto* const pages = reinterpret_cast<void*>(begin);
  if (mprotect(pages, end - begin, before | PROT_WRITE) != 0) return false;
  // The dynamic linker adds the object's base; the sum may wrap around.
  found->st_value = reinterpret_cast<std::uintptr_t>(address) - base_;
  mprotect(pages, end - begin, before);
  return true;
}

}  // namespace lynxpp::preload
