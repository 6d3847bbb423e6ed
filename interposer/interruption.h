// Saves results when a signal ends the program.
#pragma once

namespace lynxpp::interposer {

/// Calls `save` on a separate thread when SIGINT, SIGTERM or SIGABRT is about to end the process; the process
/// then dies of that signal, after a few seconds at most. Signals that the program handles or ignores at the
/// time of the call are left alone, and a handler that it installs later replaces ours. Call once per
/// process; a forked child dies of the signal as if there were no handler, unless it calls this function as
/// well.
void save_at_fatal_signals(void (*save)());

/// If such a signal has arrived, waits for the process to die. Called at the end of main and similar points.
void wait_if_terminating();

}  // namespace lynxpp::interposer
