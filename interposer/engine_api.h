// The C boundary between liblynxpp.so (hooks only; preloaded into every process) and liblynxpp-engine.so
// (everything else; opened on the first wanted launch, or at start if the program runs on the cpu device).
// Plain C types; both sides come from one build.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "interposer/lynxpp.h"

#define LYNXPP_ENGINE_ABI 19
#define LYNXPP_CALL_STACK_LIMIT 8
/// Passed to `attach` instead of specifications: launches are trials (LYNXPP_TRIALS).
#define LYNXPP_TRIALS_ATTACHED "(trials)"

#ifdef __cplusplus
extern "C" {
#endif

/// A program image that the hooks saw being loaded. `bytes` stays readable until forget_image.
typedef struct lynxpp_image {
  uint64_t id;  ///< unique in the process
  const void* bytes;
  size_t size;
} lynxpp_image;

/// An intercepted launch, not yet made.
typedef struct lynxpp_launch {
  void* function;             ///< CUfunction or CUkernel as the program passed it
  const char* kernel;         ///< mangled name
  const lynxpp_image* image;  ///< null if the hooks did not see the module being loaded
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
  int cache_config;            ///< CUfunc_cache that the program set for the function; < 0: not set
  uint64_t attribute_changes;  ///< number of attribute changes, of any function, by the program
  uint64_t number;             ///< index among all kernel and graph launches of the process, from 0
  uint64_t modules;            ///< changes whenever known modules or functions change
  int may_be_captured;         ///< 0: no capture is active in the process
  int is_context_function;     ///< true if `function` is known to be a CUfunction; set only for `launch`
} lynxpp_launch;

/// A kernel node of a graph.
typedef struct lynxpp_graph_kernel {
  void* node;                 ///< in the copy
  const char* kernel;         ///< mangled name
  const lynxpp_image* image;  ///< null if the hooks did not see the module being loaded
  int is_enabled;
  int cache_config;  ///< same as in lynxpp_launch
} lynxpp_graph_kernel;

/// An intercepted launch of an executable graph, not yet made. Launches of one graph never overlap.
typedef struct lynxpp_graph_launch {
  uint64_t id;       ///< id of the executable graph, unique in the process
  uint64_t version;  ///< changes whenever the program changes the graph
  /// The hooks' own CUgraph, a copy of the original graph with all later changes; it and its nodes are valid
  /// only during the call. Null: the program makes the launch and the engine only orders it.
  void* copy;
  uint64_t flags;                      ///< flags it was instantiated with
  const lynxpp_graph_kernel* kernels;  ///< empty if there is no copy
  size_t kernel_count;
  void* const* disabled;  ///< disabled nodes of the copy, kernels included
  size_t disabled_count;
  int may_be_running;  ///< true if the engine was not notified of earlier launches
  void* stream;
  int per_thread_stream;
  uint64_t attribute_changes;  ///< same as in lynxpp_launch
  uint64_t number;             ///< same as in lynxpp_launch
  int (*launch_original)(void* executable, void* stream);
  void* executable;
} lynxpp_graph_launch;

/// Finds an entry point of the real driver by its cuGetProcAddress name. Returns null if it is missing.
typedef void* (*lynxpp_driver_lookup)(const char* name);

/// Memory that kernels can reach.
typedef struct lynxpp_allocation {
  uint64_t address;
  uint64_t bytes;
  uint64_t number;                             ///< allocation order, from 0; never reused
  uint32_t kind;                               ///< a device::AllocationKind
  uint32_t depth;                              ///< number of valid entries in `stack`
  const void* stack[LYNXPP_CALL_STACK_LIMIT];  ///< return addresses of the allocating call, innermost first
} lynxpp_allocation;

/// The program's live allocations on the CUDA device, tracked since the process began. Thread safe; the
/// functions do not allocate.
typedef struct lynxpp_allocation_source {
  /// Changes whenever memory is allocated or freed.
  uint64_t (*version)(void);
  /// Returns the number of allocations. If `capacity` suffices, copies all of them, sorted by address, and
  /// the version that they belong to.
  size_t (*copy)(lynxpp_allocation* into, size_t capacity, uint64_t* version);
} lynxpp_allocation_source;

/// An intercepted copy by the program on the CUDA device. Addresses may be host addresses.
typedef struct lynxpp_copy {
  uint64_t to;
  uint64_t from;
  uint64_t bytes;
  void* stream;
  int asynchronous;
} lynxpp_copy;

/// Writes the names of the ranges that the calling thread is in, outermost first, each ended by '\n'. Returns
/// their total size in bytes; only the first `capacity` bytes are written.
typedef size_t (*lynxpp_range_source)(char* into, size_t capacity);

/// The box of a tensor map: support/tensor_boxes.h.
typedef struct lynxpp_tensor_box {
  uint64_t bytes;  ///< 0: unknown
  uint32_t rank;
  int is_im2col;
  int is_dense;
} lynxpp_tensor_box;

/// Finds the box of a map of 128 bytes that the program had the driver encode. Returns 0 if it is unknown.
/// Thread safe.
typedef int (*lynxpp_tensor_box_source)(const void* map, lynxpp_tensor_box* box);

/// One function of the cpu device's CUDA API, by its exported name.
typedef struct lynxpp_cpu_function {
  const char* name;
  void* address;
} lynxpp_cpu_function;

/// Receives an answer: one line of JSON, without the line end.
typedef void (*lynxpp_reply)(void* context, const char* text, size_t bytes);

/// The launches that a process and its forked children made while specifications were attached.
typedef enum lynxpp_seen {
  lynxpp_seen_none = 0,      ///< nothing to report
  lynxpp_seen_missing = 1,   ///< no launch, although a table was requested; the table is not printed
  lynxpp_seen_launches = 2,  ///< launches, none measured
  lynxpp_seen_measured = 3
} lynxpp_seen;

typedef struct lynxpp_engine {
  uint32_t abi;

  /// Called exactly once, before anything else. `source` stays valid.
  void (*use_allocations)(const lynxpp_allocation_source* source);

  /// Sets the attached specifications (comma-separated names or paths, null or empty: detach) and the kernel
  /// filter from the environment. Returns 1 if at least one is attached. Prints errors once.
  int (*attach)(const char* specifications);

  /// Handles a launch on the CUDA device. Returns 1 if the launch was made (its CUresult in *result), 0 if
  /// the caller must make the original launch.
  int (*launch)(const lynxpp_launch* launch, lynxpp_driver_lookup lookup, int* result);

  /// Called before the image goes away.
  void (*forget_image)(uint64_t id);

  /// Called before contexts end, so that no result is lost with them: waits for outstanding launches and
  /// writes their records. Nothing that was loaded or allocated in `context` (null: in any context of
  /// `device`) is used again; with `device` < 0 and no context, everything stays in use.
  void (*save_results)(void* context, int device);

  /// Writes the records of finished launches without waiting for others.
  void (*collect)(void);
  /// Called after the program waited for the device.
  void (*waited)(void);

  /// Waits for outstanding launches, writes every record and finishes the report. Later launches are not
  /// instrumented.
  lynxpp_seen (*finish)(void);

  /// Returns the cpu device's runtime API (cudaMalloc, __cudaRegisterFatBinary, …) for programs that are
  /// built for this version of CUDA's runtime (11, 12, or at least 13): `*count` entries sorted by name.
  const lynxpp_cpu_function* (*cpu_functions)(int version, size_t* count);

  /// Returns a replacement for runtime functions that are missing above (from another CUDA version). It
  /// returns an error for any arguments.
  void* (*cpu_refusal)(void);

  /// Called exactly once, after use_allocations. `source` stays valid.
  void (*use_ranges)(lynxpp_range_source source);

  /// Called exactly once, after use_ranges.
  void (*use_tensor_boxes)(lynxpp_tensor_box_source source);

  /// Called exactly once, after use_tensor_boxes. Calls `notice` on the process's first launch while
  /// specifications are attached (lynxpp_seen_launches), and on its first measured launch
  /// (lynxpp_seen_measured).
  void (*use_launch_notice)(void (*notice)(lynxpp_seen seen));

  /// Called in the child of a fork. Returns 1 if the child gets an engine of its own, with the attached
  /// specifications; 0 if the parent had used its device, which the child then cannot use.
  int (*serves_child)(void);

  /// Called when the program requests a copy.
  void (*copied)(const lynxpp_copy* copy);

  /// Returns the exports of the cpu device's libcuda.so.1: `*count` entries sorted by name.
  const lynxpp_cpu_function* (*cpu_driver_functions)(size_t* count);

  /// Called after `launches` launches of the kernel in a way that is never instrumented ("by graphs").
  void (*launched_natively)(const char* kernel, uint64_t launches, const char* way);

  /// Answers a request of the process's socket (interposer/control/answer.h) through `reply`. `launches` is
  /// the number of launches that the hooks saw. If the request was to attach or detach and succeeded, returns
  /// 1 if something is now attached, else 0; otherwise returns -1.
  int (*control)(const char* request, size_t bytes, int is_cpu, uint64_t launches, lynxpp_reply reply,
                 void* context);

  /// Handles a graph launch. Returns 0 if the caller must make the original launch. Otherwise the launch was
  /// made (its CUresult in *result): 1: the original graph, 2: with variants.
  int (*launch_graph)(const lynxpp_graph_launch* launch, lynxpp_driver_lookup lookup, int* result);

  /// Called before the executable graph goes away.
  void (*forget_graph)(uint64_t id);

  /// Called on cuProfilerStart (1) and cuProfilerStop (0).
  void (*profile)(int on);

  /// Starts keeping results of finished launches for the program (lynxpp.h).
  void (*keep_results)(void);

  /// Passes the kept results to `take`, on the calling thread and with no lock held. Returns their number.
  size_t (*take_results)(lynxpp_take take, void* context);

  /// Returns the number of results that were dropped because the program did not collect them.
  uint64_t (*missed_results)(void);

  /// Handles a launch of a function that the calling thread launched before, if nothing has changed since;
  /// kernel, image and cache configuration may be unset. Returns 2 if it was made (its CUresult in *result),
  /// 1 if it was counted and the caller makes the original launch, 0 if nothing was done.
  int (*launch_again)(const lynxpp_launch* launch, int* result);

  /// Called after the context ended without save_results(). Nothing loaded or allocated there is used again;
  /// uncollected results are lost.
  void (*forget_context)(void* context);

  /// Called before the stream is captured (0) or destroyed (1): its launches may share results that must be
  /// read back first.
  void (*leave_stream)(void* stream, int is_destroyed);
} lynxpp_engine;

/// The only symbol that liblynxpp-engine.so exports. Returns null if `abi` is not LYNXPP_ENGINE_ABI.
const lynxpp_engine* lynxpp_open_engine(uint32_t abi);

#ifdef __cplusplus
}
#endif
