#include "support/own_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <exception>
#include <utility>

namespace lynxpp {
namespace {

struct Bounds {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;

  /// Distance to the end of the stack; 0 if this is another stack.
  std::size_t left() const {
    const std::size_t distance = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - begin;
    return distance < bytes ? distance : 0;
  }
};

/// The stack that the thread was created with. A program may also run on other stacks, such as those of
/// coroutines.
Bounds bounds_of_thread() {
  Bounds bounds;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* low = nullptr;
  if (pthread_attr_getstack(&attributes, &low, &bounds.bytes) == 0)
    bounds.begin = reinterpret_cast<std::uintptr_t>(low);
  pthread_attr_destroy(&attributes);
  return bounds;
}

/// The innermost stack of run_with_stack() that the thread uses.
Bounds& own_bounds() {
  static thread_local Bounds bounds;
  return bounds;
}

std::size_t stack_left() {
  if (const std::size_t left = own_bounds().left()) return left;
  static thread_local const Bounds of_thread = bounds_of_thread();
  return of_thread.left();
}

class OwnStack {
 public:
  OwnStack() {
    constexpr std::size_t guard_bytes = 4096;
    void* const memory = mmap(nullptr, guard_bytes + own_stack_bytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return;
    memory_ = memory;
    bytes_ = guard_bytes + own_stack_bytes;
    begin_ = static_cast<char*>(memory) + guard_bytes;
    if (mprotect(begin_, own_stack_bytes, PROT_READ | PROT_WRITE) != 0) begin_ = nullptr;
  }
  ~OwnStack() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  OwnStack(const OwnStack&) = delete;
  OwnStack& operator=(const OwnStack&) = delete;

  /// Null if allocation failed.
  char* begin() const { return begin_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  char* begin_ = nullptr;
};

struct Call {
  const std::function<void()>& body;
  std::exception_ptr thrown;
};

/// The first function on a new stack, which no exception may leave. Takes a pointer in halves, because
/// makecontext passes integers.
void enter(unsigned high, unsigned low) {
  Call& call = *reinterpret_cast<Call*>(std::uintptr_t{high} << 32 | low);
  try {
    call.body();
  } catch (...) {
    call.thrown = std::current_exception();
  }
}

}  // namespace

bool run_with_stack(std::size_t needed, const std::function<void()>& body) {
  if (stack_left() >= needed) {
    body();
    return true;
  }
  const OwnStack stack;
  ucontext_t before;
  ucontext_t inside;
  if (stack.begin() == nullptr || getcontext(&inside) != 0) return false;
  inside.uc_stack.ss_sp = stack.begin();
  inside.uc_stack.ss_size = own_stack_bytes;
  inside.uc_link = &before;
  Call call{body, nullptr};
  const auto address = reinterpret_cast<std::uintptr_t>(&call);
  makecontext(&inside, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
  const Bounds outer =
      std::exchange(own_bounds(), {reinterpret_cast<std::uintptr_t>(stack.begin()), own_stack_bytes});
  swapcontext(&before, &inside);
  own_bounds() = outer;
  if (call.thrown != nullptr) std::rethrow_exception(call.thrown);
  return true;
}

}  // namespace lynxpp
