// The program's own changes to LYNXPP_SPEC attach and detach while it runs: setenv, unsetenv, putenv and
// clearenv do what they always do, and a change of that one variable takes effect from the next launch on.
// Languages whose run time changes the C environment (Python's os.environ does) come through here too.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "interposer/preload/engine_client.h"
#include "interposer/preload/process.h"

#define LYNXPP_EXPORT extern "C" [[gnu::visibility("default")]]

namespace lynxpp::preload {
namespace {

constexpr char variable[] = "LYNXPP_SPEC";

/// The C library's function behind one of ours.
template <typename Function>
Function real(const char* name) {
  lynxpp_resolve_real_functions();
  return reinterpret_cast<Function>(real_dlsym(RTLD_NEXT, name));
}

bool is_ours(const char* name) {
  return name != nullptr && strncmp(name, variable, sizeof variable - 1) == 0 &&
         (name[sizeof variable - 1] == '\0' || name[sizeof variable - 1] == '=');
}

int changed(int result) {
  if (result == 0 && !Passthrough::active()) specifications_changed(getenv(variable));
  return result;
}

}  // namespace
}  // namespace lynxpp::preload

using lynxpp::preload::changed;
using lynxpp::preload::is_ours;
using lynxpp::preload::real;

LYNXPP_EXPORT int setenv(const char* name, const char* value, int overwrite) noexcept {
  static const auto next = real<int (*)(const char*, const char*, int)>("setenv");
  const int result = next(name, value, overwrite);
  return is_ours(name) ? changed(result) : result;
}

LYNXPP_EXPORT int unsetenv(const char* name) noexcept {
  static const auto next = real<int (*)(const char*)>("unsetenv");
  const int result = next(name);
  return is_ours(name) ? changed(result) : result;
}

LYNXPP_EXPORT int putenv(char* entry) noexcept {
  static const auto next = real<int (*)(char*)>("putenv");
  const int result = next(entry);
  return is_ours(entry) ? changed(result) : result;
}

LYNXPP_EXPORT int clearenv() noexcept {
  static const auto next = real<int (*)()>("clearenv");
  return changed(next());
}
