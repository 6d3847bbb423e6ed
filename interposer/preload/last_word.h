// What is said when the program of `lynxpp run` ends without a launch, or launches have passed unseen. A
// process that is merely preloaded, such as a shell or the children of the program, says nothing of the kind.
#pragma once

#include "interposer/engine_api.h"

namespace lynxpp::preload {

/// Whether this process is the program that `lynxpp run` started.
bool is_run_program();

/// Says that no kernel launch was seen, and why, unless a child process has seen one.
void say_no_launch();

/// Names a CUDA driver that was opened into a namespace of its own (dlmopen), where nothing of ours is.
void say_what_passed_unseen();

/// Notifies the program of `lynxpp run` of what this process, one of its children, has seen.
void tell_run_program(lynxpp_seen seen);

/// True if a child process of the program has measured a launch.
bool child_has_measured();

}  // namespace lynxpp::preload
