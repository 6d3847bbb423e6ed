/* Results of lynxpp for the program itself, while it runs: for a scheduler or tuner that chooses by what its
 * kernels did. C and C++; nothing to link: the functions find lynxpp in the process (LD_PRELOAD, `lynxpp run`)
 * and otherwise answer that it is not there. docs/c-api.md has an example. */
#ifndef LYNXPP_H
#define LYNXPP_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define LYNXPP_API_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* A result that is a number; of a ratio its value. NaN: there is none. */
typedef struct lynxpp_value {
  const char* name; /* as in the table: "thread_instructions" */
  const char* unit; /* "" where there is none */
  double value;     /* exact up to 2^53 */
} lynxpp_value;

/* What one specification says of one finished launch. Valid during the call. */
typedef struct lynxpp_result {
  const char* kernel;    /* mangled */
  const char* demangled; /* as written */
  const char* specification;
  uint64_t launch;      /* number of this launch of this kernel while something was attached, from 0 */
  uint64_t correlation; /* number among all launches of the process; the same for every specification */
  uint64_t device;      /* ordinal */
  uint32_t grid[3];
  uint32_t block[3];
  size_t count; /* of values */
  const lynxpp_value* values;
} lynxpp_result;

typedef void (*lynxpp_take)(void* context, const lynxpp_result* result);

/* What the preloaded library answers; the functions below call it. */
typedef struct lynxpp_api {
  uint32_t version;
  int (*attach)(const char* specifications);
  int (*attached)(void);
  size_t (*poll)(lynxpp_take take, void* context);
  uint64_t (*missed)(void);
} lynxpp_api;

/* NULL: lynxpp is not in this process, or is older than this header. */
static inline const lynxpp_api* lynxpp_find(void) {
  typedef const lynxpp_api* (*open_api)(uint32_t);
  void* const found = dlsym((void*)0 /* RTLD_DEFAULT */, "lynxpp_open_api");
  open_api open = NULL;
  if (found == NULL) return NULL;
  *(void**)(&open) = found;
  return open(LYNXPP_API_VERSION);
}

/* 1: specifications are attached; 0: none is; -1: lynxpp is not in this process. */
static inline int lynxpp_attached(void) {
  const lynxpp_api* const api = lynxpp_find();
  return api != NULL ? api->attached() : -1;
}

/* Attaches these in the place of what is attached: names or paths, separated by commas. From the next launch on.
 * 1: done; 0: they have mistakes, which stand on standard error, and nothing is attached; -1: not there. */
static inline int lynxpp_attach(const char* specifications) {
  const lynxpp_api* const api = lynxpp_find();
  return api != NULL ? api->attach(specifications) : -1;
}

/* Later launches run as they are. Results of earlier ones still come. */
static inline void lynxpp_detach(void) {
  const lynxpp_api* const api = lynxpp_find();
  if (api != NULL) api->attach("");
}

/* Calls `take` with the results of launches that have finished since the last call, in the calling thread and in
 * the order in which they were settled; it may launch, attach, detach and poll. Returns how many there were.
 * Results are kept from the first call of lynxpp_poll or lynxpp_attach on, 65,536 of them at most. Waits for no
 * launch: what the program has waited for (cudaDeviceSynchronize and the like) is there. */
static inline size_t lynxpp_poll(lynxpp_take take, void* context) {
  const lynxpp_api* const api = lynxpp_find();
  return api != NULL ? api->poll(take, context) : 0;
}

/* Results that were dropped, the oldest first, because nobody polled in time. */
static inline uint64_t lynxpp_missed(void) {
  const lynxpp_api* const api = lynxpp_find();
  return api != NULL ? api->missed() : 0;
}

/* The value of this name, or `otherwise` where the result has none. */
static inline double lynxpp_value_of(const lynxpp_result* result, const char* name, double otherwise) {
  size_t i = 0;
  for (i = 0; i < result->count; ++i) {
    const char* a = result->values[i].name;
    const char* b = name;
    while (*a != '\0' && *a == *b) ++a, ++b;
    if (*a == *b) return result->values[i].value;
  }
  return otherwise;
}

#ifdef __cplusplus
}
#endif

#endif
