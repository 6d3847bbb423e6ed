// Lets the running program attach and detach by changing LYNXPP_SPEC: setenv, unsetenv, putenv and clearenv
// work as usual, and a change of this variable takes effect on the next launch. Languages whose run-time
// library changes the C environment (such as Python's os.environ) are covered too.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "interposer/preload/engine_client.h"
#include "interposer/preload/process.h"

#define LYNXPP_EXPORT extern "C" [[gnu::visibility("default")]]

namespace lynxpp::preload {
namespace {

constexpr char variable[] = "LYNXPP_SPEC";

/// The C library's function that one of ours replaces.
template <typename Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  Function get() {
    void* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      lynxpp_resolve_real_functions();
      found = real_dlsym(RTLD_NEXT, name_);
      found_.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<Function>(found);
  }

 private:
  const char* name_;
  std::atomic<void*> found_ = nullptr;
};

constinit Next<int (*)(const char*, const char*, int)> next_setenv("setenv");
constinit Next<int (*)(const char*)> next_unsetenv("unsetenv");
constinit Next<int (*)(char*)> next_putenv("putenv");
constinit Next<int (*)()> next_clearenv("clearenv");

bool is_ours(const char* name) {
  return name != nullptr && strncmp(name, variable, sizeof variable - 1) == 0 &&
         (name[sizeof variable - 1] == '\0' || name[sizeof variable - 1] == '=');
}

int changed(int result) {
  if (result == 0 && !Passthrough::active()) specifications_changed(secure_getenv(variable));
  return result;
}

}  // namespace

void find_environment_functions() {
  next_setenv.get();
  next_unsetenv.get();
  next_putenv.get();
  next_clearenv.get();
}

}  // namespace lynxpp::preload

using lynxpp::preload::changed;
using lynxpp::preload::is_ours;
using lynxpp::preload::next_clearenv;
using lynxpp::preload::next_putenv;
using lynxpp::preload::next_setenv;
using lynxpp::preload::next_unsetenv;

LYNXPP_EXPORT int setenv(const char* name, const char* value, int overwrite) noexcept {
  const int result = next_setenv.get()(name, value, overwrite);
  return is_ours(name) ? changed(result) : result;
}

LYNXPP_EXPORT int unsetenv(const char* name) noexcept {
  const int result = next_unsetenv.get()(name);
  return is_ours(name) ? changed(result) : result;
}

LYNXPP_EXPORT int putenv(char* entry) noexcept {
  const int result = next_putenv.get()(entry);
  return is_ours(entry) ? changed(result) : result;
}

LYNXPP_EXPORT int clearenv() noexcept { return changed(next_clearenv.get()()); }
