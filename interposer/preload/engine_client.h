// The preload library's side of engine_api.h: opening liblynxpp-engine.so once, and closing the books once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "interposer/engine_api.h"
#include "interposer/preload/process.h"

namespace lynxpp::preload {

/// Whether launches may have to be instrumented; read by every launch.
extern std::atomic<int> attached_flag;
inline bool attached() { return attached_flag.load(std::memory_order_relaxed) != 0; }

/// How often something was attached where nothing had been.
std::uint64_t attachments();

/// Calls of the program that launch a kernel or a graph so far, in this process.
extern std::atomic<std::uint64_t> launch_count;
inline std::uint64_t next_launch_number() { return launch_count.fetch_add(1, std::memory_order_relaxed); }

/// The engine, opened on the first call from the folder of liblynxpp.so. Null when it is missing or of
/// another build; then the first call has said so on stderr, with `consequence`: what that means for the
/// program.
const lynxpp_engine* open_engine(const char* consequence);

/// The engine with the specifications of the environment attached and finish registered. Null, and attached()
/// false from then on, when there is no engine or it attached nothing.
const lynxpp_engine* attached_engine();

/// The program asks for results by code (lynxpp.h): the engine keeps them from now on, or once it is opened.
void keep_results();
/// The engine where this process may use it, else null: there is none yet, or it is a forked child.
const lynxpp_engine* usable_engine();

/// The program changed LYNXPP_SPEC to `specifications` (null or empty: detach). Takes effect from the next
/// launch on; an engine that is open compiles them now, else the next launch opens it.
void specifications_changed(const char* specifications);

/// Answers a line that has come over the process's socket (interposer/control/answer.h). Opens the engine
/// only to attach, or where LYNXPP_SPEC is set anyway.
void answer_request(const std::string& request, std::string& reply);

/// The program has called cuProfilerStart, or cuProfilerStop. An engine that is opened later knows it, too.
void profiler_called(bool starts);

/// The engine if this process has opened it, else null. Never opens it.
const lynxpp_engine* opened_engine();

/// Calls finish() when the process ends by exit() or a return from main. Once.
void finish_at_exit();
/// Makes the engine write its records, once, and only in a process that it serves.
void finish();
/// Called after finish(). Returns the exit status of the process that ends with `status`. The program of
/// `lynxpp run` fails if it succeeded but nothing was measured.
int status_of_run(int status);

/// While one lives, hooked functions called on this thread go straight to the original: what the engine or an
/// original does is not the program's doing. In a program with raised rights they always do.
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
