// What the preload library knows of the process it lives in: its environment as it was at the start, the
// dynamic linker's real functions, and how to say something to the user.
#pragma once

namespace lynxpp::preload {

enum class DeviceChoice { automatic, cuda, cpu };
/// Of the socket for `lynxpp attach`: none, none under a filter of system calls, or one even then.
enum class ControlChoice { off, unless_filtered, on };

struct Settings {
  const char* specifications = nullptr;  ///< LYNXPP_SPEC; null when unset or empty
  DeviceChoice device = DeviceChoice::automatic;
  bool verbose = false;  ///< LYNXPP_LOG is info, debug or trace
  int run_process = 0;   ///< LYNXPP_RUN (support/run_mark.h): the program of `lynxpp run`; 0: none
  int run_mark = -1;
  bool checks = false;                                     ///< LYNXPP_CPU_CHECK is set
  ControlChoice control = ControlChoice::unless_filtered;  ///< LYNXPP_CONTROL: off when 0, on when 1
  const char* runtime_folder = nullptr;                    ///< XDG_RUNTIME_DIR; null when unset
};

/// True if the program runs with raised rights (setuid, setgid, file capabilities: AT_SECURE). The library
/// then does nothing at all: whoever started the program must not say which files it reads and writes. Known
/// once lynxpp_resolve_real_functions() has run.
extern bool has_raised_rights;

/// Filled once, by the library's constructor.
extern Settings settings;
void read_settings(char** environment);

/// One line on stderr, "lynxpp: …". Usable at any time; allocates nothing.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// Lets say() reach the user at the very end, too: some programs close stderr when they leave.
void keep_stderr();

/// Whether there is an NVIDIA driver: its device nodes and its library. Cheap where the library is in a usual
/// place.
bool driver_present();

/// Of the cpu device's libcuda.so.1: the folder, and its path, null when it is not there.
const char* stand_in_folder();
const char* stand_in_driver();

/// The path of this library with every symbolic link followed, or an empty string.
const char* own_path();
/// Remembers the path while the working directory is still the one LD_PRELOAD was written for.
void remember_own_path();
/// Looks up what stands behind the hooks of environment.cpp: later a look-up would wait for the dynamic
/// linker's lock.
void find_environment_functions();

/// The function of that name that this library exports, or null.
void* own_function(const char* name);

/// The functions behind the ones this library exports. Precondition of the calls: resolve_real_functions()
/// has run (the library's constructor and the assembly entry points see to it).
void* real_dlsym(void* handle, const char* name);
void* real_dlopen(const char* name, int flags);
/// Returns a library that the process has opened, by name or path; null if it has not. Does not query another
/// preload that interposes dlopen: it may return a library that it mistakes for that one.
void* find_opened(const char* name);
extern "C" void lynxpp_resolve_real_functions();

}  // namespace lynxpp::preload
