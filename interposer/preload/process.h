// The process that the preload library lives in: its environment at the start, the dynamic linker's real
// functions, and messages to the user.
#pragma once

namespace lynxpp::preload {

enum class DeviceChoice { automatic, cuda, cpu };
/// When to open the socket for `lynxpp attach`: never, unless system calls are filtered, or always.
enum class ControlChoice { off, unless_filtered, on };

struct Settings {
  /// LYNXPP_SPEC; LYNXPP_TRIALS_ATTACHED if it is unset and LYNXPP_TRIALS is set; null if nothing is attached
  const char* specifications = nullptr;
  DeviceChoice device = DeviceChoice::automatic;
  bool verbose = false;  ///< true if LYNXPP_LOG is info, debug or trace
  int run_process = 0;   ///< LYNXPP_RUN (support/run_mark.h): the program of `lynxpp run`; 0: none
  int run_mark = -1;
  bool trials = false;                                     ///< true if LYNXPP_TRIALS is set
  bool checks = false;                                     ///< true if LYNXPP_CPU_CHECK is set
  ControlChoice control = ControlChoice::unless_filtered;  ///< LYNXPP_CONTROL: off if 0, on if 1
  const char* runtime_folder = nullptr;                    ///< XDG_RUNTIME_DIR; null if unset
};

/// True if the program runs with raised rights (setuid, setgid, file capabilities: AT_SECURE). The library
/// then does nothing at all: the user who started the program must not choose which files it reads and
/// writes. Valid after lynxpp_resolve_real_functions().
extern bool has_raised_rights;

/// Filled once, by the library's constructor.
extern Settings settings;
void read_settings(char** environment);

/// Prints one line to stderr, "lynxpp: …". Usable at any time; does not allocate.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// Keeps say() working until the very end: some programs close stderr when they exit.
void keep_stderr();

/// True if an NVIDIA driver is installed: its device nodes and its library. Cheap if the library is in a
/// usual directory.
bool driver_present();

/// Return the folder of the cpu device's libcuda.so.1, and the library's path; null if it is missing.
const char* stand_in_folder();
const char* stand_in_driver();

/// Returns the path of this library with all symbolic links resolved, or an empty string.
const char* own_path();
/// Remembers the path while the working directory is still the one that LD_PRELOAD refers to.
void remember_own_path();
/// Looks up the functions that the hooks of environment.cpp call: a later look-up would wait for the dynamic
/// linker's lock.
void find_environment_functions();

/// Returns the function of that name that this library exports, or null.
void* own_function(const char* name);

/// The functions that this library's exports replace. Precondition of the calls: resolve_real_functions() has
/// run (ensured by the library's constructor and the assembly entry points).
void* real_dlsym(void* handle, const char* name);
void* real_dlopen(const char* name, int flags);
/// Returns a library that the process has opened, by name or path; null if it has not. Does not query other
/// preloads that interpose dlopen, and may therefore return a library that it mistakes for the requested one.
void* find_opened(const char* name);
extern "C" void lynxpp_resolve_real_functions();

}  // namespace lynxpp::preload
