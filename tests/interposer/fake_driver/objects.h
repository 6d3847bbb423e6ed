// Objects that the handles of the fake driver point to. A handle dies with its owner, and a call with a dead
// handle ends the process, as it may in the real driver.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "tests/interposer/event_log.h"

namespace lynxpp::fake_driver {

struct Object {
  std::string kind;
  std::string name;
  Object* owner = nullptr;
  void* context = nullptr;  ///< the context that owns it; null: none
  bool is_alive = true;
  std::vector<Object*> nodes = {};   ///< for a graph, its nodes; for a node, its child graphs
  std::vector<Object*> before = {};  ///< nodes that a node waits for
  Object* origin = nullptr;          ///< the object it was copied from; compared only
  int attributes[32] = {};           ///< attributes of a kernel node, by attribute number
};

/// Never freed, so that dead handles can be detected; a deque does not move its elements.
inline std::deque<Object>& objects() {
  static auto* const all = new std::deque<Object>;
  return *all;
}
inline std::mutex& objects_mutex() {
  static std::mutex mutex;
  return mutex;
}

inline Object* create(const char* kind, const char* name = "", void* owner = nullptr,
                      void* context = nullptr) {
  const std::lock_guard lock(objects_mutex());
  Object& made = objects().emplace_back();
  made.kind = kind;
  made.name = name;
  made.owner = static_cast<Object*>(owner);
  made.context = context;
  return &made;
}

/// Returns the object that the caller was given.
inline Object* object(void* handle, const char* call = __builtin_FUNCTION()) {
  auto* const found = static_cast<Object*>(handle);
  if (found != nullptr && found->is_alive) return found;
  log_event("driver: %s of a dead %s", call, found != nullptr ? found->kind.c_str() : "null");
  fprintf(stderr, "fake driver: %s of a dead %s\n", call, found != nullptr ? found->kind.c_str() : "null");
  abort();
}

/// Kills an object and everything it owns.
inline void kill(Object* dying) {
  dying->is_alive = false;
  for (Object* const each : dying->nodes) kill(each);
}

template <typename Dies>
void kill_if(const Dies& dies) {
  const std::lock_guard lock(objects_mutex());
  for (Object& each : objects()) {
    if (each.is_alive && dies(each)) kill(&each);
  }
}

/// Returns the current context of the calling thread.
void* current_context();

}  // namespace lynxpp::fake_driver

#define EXPORT extern "C" [[gnu::visibility("default")]]
