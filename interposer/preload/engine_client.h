// The preload library's side of engine_api.h: opens liblynxpp-engine.so once, and finishes the report once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "interposer/engine_api.h"
#include "interposer/preload/process.h"

namespace lynxpp::preload {

/// Nonzero if launches may have to be instrumented; read by every launch.
extern std::atomic<int> attached_flag;
inline bool attached() { return attached_flag.load(std::memory_order_relaxed) != 0; }

/// Returns how often specifications were attached while nothing was attached.
std::uint64_t attachments();

/// Number of calls in this process that launch a kernel or a graph.
extern std::atomic<std::uint64_t> launch_count;
inline std::uint64_t next_launch_number() { return launch_count.fetch_add(1, std::memory_order_relaxed); }

/// Returns the engine, opened on the first call from the folder of liblynxpp.so. Null if it is missing or
/// from another build; the first call then prints why, and `consequence`: what this means for the program.
const lynxpp_engine* open_engine(const char* consequence);

/// Returns the engine with the specifications of the environment attached and finish registered. Null if the
/// engine is missing or attached nothing; attached() is false from then on.
const lynxpp_engine* attached_engine();

/// Makes the engine, or the one opened later, keep results for the program (lynxpp.h).
void keep_results();
/// Returns the engine if this process may use it; null if it is not open or this is a forked child.
const lynxpp_engine* usable_engine();

/// Called when the program sets LYNXPP_SPEC to `specifications` (null or empty: detach). Takes effect on the
/// next launch; an open engine compiles them now, otherwise the next launch opens it.
void specifications_changed(const char* specifications);

/// Answers a request line from the process's socket (interposer/control/answer.h). Opens the engine only to
/// attach, or if LYNXPP_SPEC is set.
void answer_request(const std::string& request, std::string& reply);

/// Called on cuProfilerStart and cuProfilerStop. An engine that is opened later is notified too.
void profiler_called(bool starts);

/// Returns the engine if this process has opened it, else null. Never opens it.
const lynxpp_engine* opened_engine();

/// Registers finish() to be called, once, when the process ends by exit() or a return from main.
void finish_at_exit();
/// Makes the engine write its records, once, and only in a process that it serves.
void finish();
/// Called after finish(). Returns the exit status for a process that ends with `status`: the program of
/// `lynxpp run` fails if it succeeded but nothing was measured.
int status_of_run(int status);

/// During its lifetime, hooked functions called on this thread go straight to the original: calls by the
/// engine or by an original are not the program's. In a program with raised rights, all calls do.
class Passthrough {
 public:
  Passthrough() { ++depth; }
  ~Passthrough() { --depth; }
  Passthrough(const Passthrough&) = delete;
  Passthrough& operator=(const Passthrough&) = delete;
  static bool active() { return depth != 0 || has_raised_rights; }

 private:
  static constinit thread_local int depth __attribute__((tls_model("initial-exec")));
};

}  // namespace lynxpp::preload
