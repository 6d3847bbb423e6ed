// Annotations for Clang's thread-safety analysis (scripts/check_locks); other compilers ignore them.
//
//   class LYNXPP_CAPABILITY("mutex") Mutex { void lock() LYNXPP_ACQUIRE(); … };
//   int count_ LYNXPP_GUARDED_BY(mutex_) = 0;        accessed only while mutex_ is held
//   void add() LYNXPP_REQUIRES(mutex_);              called only while mutex_ is held
#pragma once

#if defined(__clang__)
#define LYNXPP_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define LYNXPP_THREAD_SAFETY(attribute)
#endif

#define LYNXPP_CAPABILITY(kind) LYNXPP_THREAD_SAFETY(capability(kind))
#define LYNXPP_SCOPED_CAPABILITY LYNXPP_THREAD_SAFETY(scoped_lockable)
#define LYNXPP_GUARDED_BY(mutex) LYNXPP_THREAD_SAFETY(guarded_by(mutex))
#define LYNXPP_REQUIRES(...) LYNXPP_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define LYNXPP_EXCLUDES(...) LYNXPP_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
#define LYNXPP_ACQUIRE(...) LYNXPP_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define LYNXPP_ACQUIRE_SHARED(...) LYNXPP_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define LYNXPP_TRY_ACQUIRE(...) LYNXPP_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
#define LYNXPP_RELEASE(...) LYNXPP_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define LYNXPP_RELEASE_SHARED(...) LYNXPP_THREAD_SAFETY(release_shared_capability(__VA_ARGS__))
#define LYNXPP_UNANALYSED LYNXPP_THREAD_SAFETY(no_thread_safety_analysis)
