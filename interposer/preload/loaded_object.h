// A loaded ELF object as mapped by the dynamic linker: its dependencies, imports and exports.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lynxpp::preload {

class LoadedObject {
 public:
  explicit LoadedObject(const dl_phdr_info& info);

  /// File name; empty for the program itself.
  const char* name() const { return name_; }
  const char* base_name() const;
  std::uintptr_t base() const { return base_; }
  bool contains(const void* address) const;

  /// True if the file name of a DT_NEEDED entry satisfies `matches`.
  bool needs(bool (*matches)(const char* file_name)) const;

  /// True if it has a DT_RPATH or DT_RUNPATH entry.
  bool has_search_path() const;

  /// Calls visit(name, slot) for every relocation that stores the address of a symbol: JUMP_SLOT, GLOB_DAT
  /// and R_X86_64_64 without addend. Slots in RELRO pages are writable until visit returns.
  template <typename Visit>
  void for_each_import_slot(Visit visit) const {
    using Plain = std::remove_reference_t<Visit>;
    visit_slots(
        [](void* context, const char* symbol, void** slot) { (*static_cast<Plain*>(context))(symbol, slot); },
        &visit);
  }

  /// Calls visit(begin, end) for each range of the object that stays writable after relocation.
  template <typename Visit>
  void for_each_data_range(Visit visit) const {
    for (std::size_t i = 0; i < header_count_; ++i) {
      if (headers_[i].p_type != PT_LOAD || (headers_[i].p_flags & PF_W) == 0) continue;
      const std::uintptr_t begin = base_ + headers_[i].p_vaddr;
      const std::uintptr_t end = begin + headers_[i].p_memsz;
      const bool is_protected_first = relro_begin_ <= begin && begin < relro_end_;
      if (end > relro_end_ || !is_protected_first) visit(is_protected_first ? relro_end_ : begin, end);
    }
  }

  bool exports(const char* symbol) const { return find_export(symbol) != nullptr; }

  /// Returns the address of the exported function; null if it is missing.
  void* address_of(const char* symbol) const;

  /// Calls visit(name) for every exported function.
  template <typename Visit>
  void for_each_export(Visit visit) const {
    using Plain = std::remove_reference_t<Visit>;
    visit_exports([](void* context, const char* symbol) { (*static_cast<Plain*>(context))(symbol); }, &visit);
  }

  /// Makes later look-ups of the exported function `symbol` in this object return `address`: lazy binding,
  /// dlsym, objects loaded later. Returns false if the object does not export it or its symbol table cannot
  /// be made writable.
  bool redirect_export(const char* symbol, void* address) const;

 private:
  using SlotVisitor = void (*)(void* context, const char* symbol, void** slot);
  using ExportVisitor = void (*)(void* context, const char* symbol);

  void read_dynamic(const ElfW(Dyn) * dynamic);
  void visit_slots(SlotVisitor visit, void* context) const;
  void visit_table(const ElfW(Rela) * table, std::size_t bytes, SlotVisitor visit, void* context) const;
  void visit_exports(ExportVisitor visit, void* context) const;
  bool protect_relro(int protection) const;
  ElfW(Sym) * find_export(const char* symbol) const;
  int protection_of(std::uintptr_t address) const;

  const char* name_ = "";
  std::uintptr_t base_ = 0;
  const ElfW(Phdr) * headers_ = nullptr;
  std::size_t header_count_ = 0;
  const ElfW(Dyn) * dynamic_ = nullptr;
  const char* strings_ = nullptr;
  ElfW(Sym) * symbols_ = nullptr;
  const std::uint32_t* gnu_hash_ = nullptr;
  const std::uint32_t* hash_ = nullptr;
  const ElfW(Rela) * relocations_ = nullptr;
  std::size_t relocation_bytes_ = 0;
  const ElfW(Rela) * plt_relocations_ = nullptr;
  std::size_t plt_relocation_bytes_ = 0;
  std::uintptr_t relro_begin_ = 0;
  std::uintptr_t relro_end_ = 0;
};

/// Calls visit(object) for every loaded object until it returns true.
template <typename Visit>
void for_each_loaded_object(Visit visit) {
  dl_iterate_phdr([](dl_phdr_info* info, std::size_t,
                     void* context) { return (*static_cast<Visit*>(context))(LoadedObject(*info)) ? 1 : 0; },
                  &visit);
}

}  // namespace lynxpp::preload
