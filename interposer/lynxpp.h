/* Results of lynxpp for the running program itself: for a scheduler or tuner that decides by the behaviour
 * of its kernels. C and C++; nothing to link: the functions find lynxpp in the process (LD_PRELOAD, `lynxpp
 * run`) and otherwise report that it is absent. docs/c-api.md has an example. */
#ifndef LYNXPP_H
#define LYNXPP_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define LYNXPP_API_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* A numeric result; for a ratio, its value. NaN: undefined. */
typedef struct lynxpp_value {
  const char* name; /* as in the table: "thread_instructions" */
  const char* unit; /* "" if it has no unit */
  double value;     /* exact up to 2^53 */
} lynxpp_value;

/* One specification's results for one finished launch. Valid during the call. */
typedef struct lynxpp_result {
  const char* kernel;    /* mangled */
  const char* demangled; /* as written */
  const char* specification;
  uint64_t launch;      /* index among this kernel's launches while something was attached, from 0 */
  uint64_t correlation; /* index among all launches of the process; the same for every specification */
  uint64_t device;      /* ordinal */
  uint32_t grid[3];
  uint32_t block[3];
  size_t count; /* number of values */
  const lynxpp_value* values;
} lynxpp_result;

typedef void (*lynxpp_take)(void* context, const lynxpp_result* result);

/* The preloaded library's functions; those below call them. */
typedef struct lynxpp_api {
  uint32_t version;
  int (*attach)(const char* specifications);
  int (*attached)(void);
  size_t (*poll)(lynxpp_take take, void* context);
  uint64_t (*missed)(void);
} lynxpp_api;

/* Returns NULL if lynxpp is not in this process or is older than this header. */
static inline const lynxpp_api* lynxpp_find(void) {
  typedef const lynxpp_api* (*open_api)(uint32_t);
  void* const found = dlsym((void*)0 /* RTLD_DEFAULT */, "lynxpp_open_api");
  open_api open = NULL;
  if (found == NULL) return NULL;
  *(void**)(&open) = found;
  return open(LYNXPP_API_VERSION);
}

/* Returns 1 if specifications are attached, 0 if not, -1 if lynxpp is not in this process. */
static inline int lynxpp_attached(void) {
  const lynxpp_api* const api = lynxpp_find();
  return api != NULL ? api->attached() : -1;
}

/* Replaces the attached specifications, from the next launch on: names or paths, separated by commas.
 * Returns 1 on success; 0 if they have errors, which are printed to standard error, and nothing is attached;
 * -1 if lynxpp is not in this process. */
static inline int lynxpp_attach(const char* specifications) {
  const lynxpp_api* const api = lynxpp_find();
  return api != NULL ? api->attach(specifications) : -1;
}

/* Detaches: later launches run unchanged. Results of earlier launches still arrive. */
static inline void lynxpp_detach(void) {
  const lynxpp_api* const api = lynxpp_find();
  if (api != NULL) api->attach("");
}

/* Calls `take` with the results of launches that have finished since the last call, on the calling thread
 * and in the order in which they were collected; `take` may launch, attach, detach and poll. Returns their
 * number. Results are kept from the first call of lynxpp_poll or lynxpp_attach on, at most 65,536. Does not
 * wait for launches; results of launches that the program waited for (cudaDeviceSynchronize etc.) are
 * available. */
static inline size_t lynxpp_poll(lynxpp_take take, void* context) {
  const lynxpp_api* const api = lynxpp_find();
  return api != NULL ? api->poll(take, context) : 0;
}

/* Returns the number of results that were dropped, oldest first, because the program did not poll in time. */
static inline uint64_t lynxpp_missed(void) {
  const lynxpp_api* const api = lynxpp_find();
  return api != NULL ? api->missed() : 0;
}

/* Returns the value of this name, or `otherwise` if the result lacks it. */
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
