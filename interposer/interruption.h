// What is written when a signal ends the program.
#pragma once

namespace lynxpp::interposer {

/// Has `save` called, on a thread of its own, when SIGINT, SIGTERM or SIGABRT is about to end the process;
/// then the process dies of that signal, after some seconds at the latest. Signals that the program handles
/// or ignores at the time of the call are left to it, and a handler that it installs later takes the place of
/// ours. Call once in a process; a forked child dies of the signal as if there were no handler, unless it
/// calls this function as well.
void save_before_dying(void (*save)());

/// For the end of main and the like: where such a signal has come already, waits for the death.
void wait_when_dying();

}  // namespace lynxpp::interposer
