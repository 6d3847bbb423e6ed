// A CUDA runtime that is linked into a program or library, as nvcc does by default. Its functions are found
// in the symbol table of the object's file, and a jump at their beginning redirects their calls.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "interposer/preload/loaded_object.h"

namespace lynxpp::preload {

/// Reads the object's file, which stays mapped while this exists. A file that is missing, damaged, or not the
/// one that is loaded contains no runtime.
class StaticRuntime {
 public:
  explicit StaticRuntime(const LoadedObject& object);
  ~StaticRuntime();
  StaticRuntime(const StaticRuntime&) = delete;
  StaticRuntime& operator=(const StaticRuntime&) = delete;

  /// True if the object is not linked with a shared runtime and has device code, or functions of a runtime.
  /// The runtime is then part of it, although the file may have no symbol table (`strip`).
  bool is_present() const { return is_present_; }

  /// True if functions of a runtime are found: is_present(), and the file has a symbol table.
  bool has_functions() const { return symbol_count_ != 0; }

  /// True if redirect() has changed the functions.
  bool is_redirected() const;

  /// Returns its version of CUDA: 11, 12 or 13.
  int version() const;

  /// Returns the constructors that register the object's device code with the runtime; none if they can run
  /// only once, as those of relocatable device code.
  std::vector<void (*)()> registrations() const;

  /// Makes calls of each function go to target(name), if that is not null. No other thread may be in one of
  /// them. Returns false, without effect, if the pages of code cannot be changed.
  bool redirect(const std::function<void*(const char* name)>& target) const;

 private:
  /// Calls visit(symbol, name) for each function of the object.
  template <typename Visit>
  void for_each_function(Visit visit) const;
  /// Same, for those with a name of the runtime.
  template <typename Visit>
  void for_each_runtime_function(Visit visit) const;
  bool has_function(std::string_view name) const;
  /// Returns where the function begins in memory; null if a jump does not fit there, or if the file has other
  /// code than the memory.
  unsigned char* place_for_jump(const ElfW(Sym) & symbol) const;
  const ElfW(Shdr) * find_section(const char* name, unsigned type) const;
  /// Returns the bytes of the file; null if they are not all in it.
  const char* bytes(std::uint64_t offset, std::uint64_t size) const;

  LoadedObject object_;
  const char* file_ = nullptr;  ///< mapped
  std::size_t size_ = 0;
  const ElfW(Shdr) * sections_ = nullptr;
  unsigned section_count_ = 0;
  unsigned names_ = 0;  ///< the section of the sections' names
  const ElfW(Sym) * symbols_ = nullptr;
  std::size_t symbol_count_ = 0;
  std::string_view strings_;  ///< of the symbols; the last character is a zero
  bool is_present_ = false;
};

/// True if an object that was loaded with the program contains the functions of a runtime.
bool links_static_runtime();

/// True if CUDA's runtime has functions with such names.
bool is_runtime_name(const char* symbol);

}  // namespace lynxpp::preload
