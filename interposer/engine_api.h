// The C boundary between liblynxpp.so (hooks only; preloaded into every process) and liblynxpp-engine.so
// (everything else; opened on the first wanted launch, or at start when the program will run on the cpu
// device). Plain C types; both sides come from one build.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "interposer/lynxpp.h"

#define LYNXPP_ENGINE_ABI 15
#define LYNXPP_CALL_STACK_LIMIT 8

#ifdef __cplusplus
extern "C" {
#endif

/// A program image the hooks saw being loaded. `bytes` stays readable until forget_image.
typedef struct lynxpp_image {
  uint64_t id;  ///< unique in the process
  const void* bytes;
  size_t size;
} lynxpp_image;

/// A launch the hooks intercepted, not yet made.
typedef struct lynxpp_launch {
  void* function;             ///< CUfunction or CUkernel as the program passed it
  const char* kernel;         ///< mangled name
  const lynxpp_image* image;  ///< null when the module was not seen being loaded
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  void* stream;
  int per_thread_stream;
  int cooperative;
  void** parameters;
  void** extra;
  const void* attributes;
  uint32_t attribute_count;
  int cache_config;            ///< CUfunc_cache the program has set of the function; < 0: none
  uint64_t attribute_changes;  ///< how often the program has set an attribute of some function
  uint64_t number;             ///< among all calls of the process that launch a kernel or a graph, from 0
  uint64_t modules;            ///< another number when what is known of modules and functions has changed
  int may_be_captured;         ///< 0: no capture goes on in the process
  int is_context_function;     ///< true if `function` is known to be a CUfunction; set only for `launch`
} lynxpp_launch;

/// A kernel node of a graph.
typedef struct lynxpp_graph_kernel {
  void* node;                 ///< of the copy
  const char* kernel;         ///< mangled name
  const lynxpp_image* image;  ///< null when the module was not seen being loaded
  int is_enabled;
  int cache_config;  ///< as of a launch
} lynxpp_graph_kernel;

/// A launch of an executable graph that the hooks intercepted, not yet made. Launches of one come one after
/// the other.
typedef struct lynxpp_graph_launch {
  uint64_t id;       ///< of the executable graph, unique in the process
  uint64_t version;  ///< another one whenever the program has changed it
  /// The hooks' own CUgraph, a copy of the original graph with all later changes; it and its nodes are
  /// valid during the call only. Null: the program makes the launch, and the engine only orders it.
  void* copy;
  uint64_t flags;                      ///< that it was instantiated with
  const lynxpp_graph_kernel* kernels;  ///< none without a copy
  size_t kernel_count;
  void* const* disabled;  ///< nodes of the copy, kernels among them
  size_t disabled_count;
  int may_be_running;  ///< earlier launches were not told of
  void* stream;
  int per_thread_stream;
  uint64_t attribute_changes;  ///< as of a launch
  uint64_t number;             ///< as of a launch
  int (*launch_original)(void* executable, void* stream);
  void* executable;
} lynxpp_graph_launch;

/// Finds an entry point of the real driver by its cuGetProcAddress name; null when it has none.
typedef void* (*lynxpp_driver_lookup)(const char* name);

/// Memory that kernels can reach.
typedef struct lynxpp_allocation {
  uint64_t address;
  uint64_t bytes;
  uint64_t number;                             ///< in the order they were made, from 0; never used twice
  uint32_t kind;                               ///< a device::AllocationKind
  uint32_t depth;                              ///< frames of `stack` that are there
  const void* stack[LYNXPP_CALL_STACK_LIMIT];  ///< return addresses of the call that made it, innermost first
} lynxpp_allocation;

/// The program's live allocations on the cuda device, kept since the process began. Thread safe; the
/// functions allocate nothing.
typedef struct lynxpp_allocation_source {
  /// Another number whenever something was allocated or freed.
  uint64_t (*version)(void);
  /// Copies all allocations, sorted by address, when `capacity` is large enough, with the version they are
  /// of. Returns how many there are.
  size_t (*copy)(lynxpp_allocation* into, size_t capacity, uint64_t* version);
} lynxpp_allocation_source;

/// A copy of the program's that the hooks have seen made, on the cuda device. Addresses of the host are
/// addresses, too.
typedef struct lynxpp_copy {
  uint64_t to;
  uint64_t from;
  uint64_t bytes;
  void* stream;
  int asynchronous;
} lynxpp_copy;

/// Writes the names of the ranges that the calling thread is in, the outermost first, each ended by '\n'.
/// Returns how many bytes there are, of which the first `capacity` are written.
typedef size_t (*lynxpp_range_source)(char* into, size_t capacity);

/// One function of the cpu device's CUDA API, by its exported name.
typedef struct lynxpp_cpu_function {
  const char* name;
  void* address;
} lynxpp_cpu_function;

/// Takes an answer: one line of JSON, without its end.
typedef void (*lynxpp_reply)(void* context, const char* text, size_t bytes);

/// Launches that a process and its forked children have made while specifications were attached.
typedef enum lynxpp_seen {
  lynxpp_seen_none = 0,      ///< nothing needs to be reported
  lynxpp_seen_missing = 1,   ///< none, although a table is wanted, which is not printed then
  lynxpp_seen_launches = 2,  ///< none of which was measured
  lynxpp_seen_measured = 3
} lynxpp_seen;

typedef struct lynxpp_engine {
  uint32_t abi;

  /// Called first and once; `source` stays.
  void (*use_allocations)(const lynxpp_allocation_source* source);

  /// Sets the attached specifications (comma-separated names or paths, null or empty: detach) and the kernel
  /// filter from the environment. Returns 1 when at least one is attached. Errors are printed once.
  int (*attach)(const char* specifications);

  /// The launch, on the cuda device. Returns 1 when it was made (its CUresult in *result), 0 when the caller
  /// must make the original one.
  int (*launch)(const lynxpp_launch* launch, lynxpp_driver_lookup lookup, int* result);

  /// The image is going away.
  void (*forget_image)(uint64_t id);

  /// Called before contexts end, so that no result dies with them: waits for outstanding launches and writes
  /// their records. Of `context` (null: of all contexts of `device`) nothing that was loaded or allocated is
  /// used again; with `device` < 0 and no context all stays in use.
  void (*save_results)(void* context, int device);

  /// Called when the program has waited for the device: writes the records of launches that are over. Waits
  /// for nothing.
  void (*collect)(void);

  /// Waits for outstanding launches, writes every record, finishes the report. Further launches are not
  /// instrumented.
  lynxpp_seen (*finish)(void);

  /// The cpu device's runtime API (cudaMalloc, __cudaRegisterFatBinary, …), `*count` entries sorted by name.
  const lynxpp_cpu_function* (*cpu_functions)(size_t* count);

  /// What stands in for runtime functions that are not among these (of another CUDA version): returns an
  /// error, whatever its arguments.
  void* (*cpu_refusal)(void);

  /// Called second and once; `source` stays.
  void (*use_ranges)(lynxpp_range_source source);

  /// Called third and once. Calls `notice` when the process makes its first launch while specifications are
  /// attached (lynxpp_seen_launches), and its first one that is measured (lynxpp_seen_measured).
  void (*use_launch_notice)(void (*notice)(lynxpp_seen seen));

  /// Called in the child of a fork. Returns 1 if the child's launches are instrumented by an engine of its
  /// own, with the specifications that were attached; 0 when the parent had used its device, which the child
  /// then cannot use.
  int (*serves_child)(void);

  /// The program has called for a copy.
  void (*copied)(const lynxpp_copy* copy);

  /// What the cpu device's libcuda.so.1 exports, `*count` entries sorted by name.
  const lynxpp_cpu_function* (*cpu_driver_functions)(size_t* count);

  /// The program has launched the kernel so many times in a way that is never instrumented ("by graphs").
  void (*launched_natively)(const char* kernel, uint64_t launches, const char* way);

  /// Answers a request of the process's socket (interposer/control/answer.h) through `reply`. `launches`:
  /// launches by the program that the hooks have seen. If the request was to attach or detach and succeeded,
  /// returns 1 if something is attached now, else 0; otherwise returns -1.
  int (*control)(const char* request, size_t bytes, int is_cpu, uint64_t launches, lynxpp_reply reply,
                 void* context);

  /// The launch of a graph. Returns 0 when the caller must make the original one, and after it was made (its
  /// CUresult in *result) 1: the original, 2: with variants.
  int (*launch_graph)(const lynxpp_graph_launch* launch, lynxpp_driver_lookup lookup, int* result);

  /// The executable graph is going away.
  void (*forget_graph)(uint64_t id);

  /// The program has called cuProfilerStart (1) or cuProfilerStop (0).
  void (*profile)(int on);

  /// From now on results of finished launches are kept for the program (lynxpp.h).
  void (*keep_results)(void);

  /// Hands them over, in the calling thread, with no lock held; returns how many there were.
  size_t (*take_results)(lynxpp_take take, void* context);

  /// Results that were dropped because nobody took them.
  uint64_t (*missed_results)(void);

  /// The launch, when the calling thread has launched the function before and nothing has changed since; its
  /// kernel, image and cache configuration need not be known. Returns 2 when it was made (its CUresult in
  /// *result), 1 when it was counted and the caller makes the original one, 0: nothing was done.
  int (*launch_again)(const lynxpp_launch* launch, int* result);

  /// The context has ended without save_results() for it. Nothing loaded or allocated there is used
  /// again; results that were not collected are lost.
  void (*forget_context)(void* context);
} lynxpp_engine;

/// The only symbol liblynxpp-engine.so exports. Null when `abi` is not LYNXPP_ENGINE_ABI.
const lynxpp_engine* lynxpp_open_engine(uint32_t abi);

#ifdef __cplusplus
}
#endif
