// Final messages of the program of `lynxpp run`: that it launched nothing, or that launches were not seen.
// Other processes that are merely preloaded, such as a shell or the program's children, print none of these.
#pragma once

#include "interposer/engine_api.h"

namespace lynxpp::preload {

/// True if this process is the program that `lynxpp run` started.
bool is_run_program();

/// Reports that no kernel launch was seen, and why, unless a child process has seen one.
void report_no_launch();

/// Reports a CUDA driver that was opened into a separate namespace (dlmopen), which we cannot reach.
void report_unseen_drivers();

/// Reports to the program of `lynxpp run` what this process, one of its children, has seen.
void report_to_run_command(lynxpp_seen seen);

/// True if a child process of the program has measured a launch.
bool child_has_measured();

}  // namespace lynxpp::preload
