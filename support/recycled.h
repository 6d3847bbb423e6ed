// Memory for objects that one thread repeatedly creates and another destroys: the allocator would move it
// between threads.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>

namespace lynxpp {

/// Base class of Object: memory of destroyed objects is reused for new ones. Thread safe.
template <typename Object>
class Recycled {
 public:
  static void* operator new(std::size_t bytes) {
    KeptMemory& kept = kept_memory();
    if (bytes == sizeof(Object)) {
      const std::lock_guard lock(kept.mutex);
      if (Free* const first = kept.first; first != nullptr) {
        kept.first = first->next;
        --kept.count;
        return first;
      }
    }
    return ::operator new(bytes);
  }

  static void operator delete(void* memory, std::size_t bytes) noexcept {
    static_assert(sizeof(Object) >= sizeof(Free) && alignof(Object) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    KeptMemory& kept = kept_memory();
    if (memory != nullptr && bytes == sizeof(Object)) {
      const std::lock_guard lock(kept.mutex);
      if (kept.count < most_kept) {
        kept.first = ::new (memory) Free{kept.first};
        ++kept.count;
        return;
      }
    }
    ::operator delete(memory);
  }

 private:
  struct Free {
    Free* next;
  };
  struct KeptMemory {
    std::mutex mutex;  ///< guards the following members
    Free* first = nullptr;
    std::size_t count = 0;
  };

#ifdef __SANITIZE_ADDRESS__
  static constexpr std::size_t most_kept = 0;  // so that uses after destruction are detected
#else
  static constexpr std::size_t most_kept = 1024;
#endif

  /// Never destroyed: objects may outlive static storage.
  static KeptMemory& kept_memory() {
    static KeptMemory* const all = new KeptMemory;
    return *all;
  }
};

}  // namespace lynxpp
