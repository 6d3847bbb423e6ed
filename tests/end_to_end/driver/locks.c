// A library to preload: counts the locks that a process acquires and prints the total at exit.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_long locks;

#define COUNTED(name, type)                                     \
  __attribute__((visibility("default"))) int name(type* lock) { \
    static int (*original)(type*);                              \
    if (original == NULL) original = dlsym(RTLD_NEXT, #name);   \
    atomic_fetch_add(&locks, 1);                                \
    return original(lock);                                      \
  }
COUNTED(pthread_mutex_lock, pthread_mutex_t)
COUNTED(pthread_mutex_trylock, pthread_mutex_t)
COUNTED(pthread_rwlock_rdlock, pthread_rwlock_t)
COUNTED(pthread_rwlock_wrlock, pthread_rwlock_t)

__attribute__((destructor)) static void say(void) { fprintf(stderr, "locks: %ld\n", locks); }
