// The news that a process has made and measured launches, which forked children share with their parent: a
// parent that launches nothing itself must not say that nothing was launched.
#pragma once

#include "interposer/engine_api.h"

namespace lynxpp::interposer {

using LaunchNotice = void (*)(lynxpp_seen seen);

/// Called once, before the first fork that matters.
void share_launch_notice();

/// Called after every launch with what the process has seen so far. `notice` is called once for each stage;
/// null: nobody else is told.
void note_launch(lynxpp_seen seen, LaunchNotice notice);

/// What this process, a forked child, or the parent it was forked from has seen.
lynxpp_seen seen_launches();

/// Called in the child of a fork, which makes launches of its own.
void begin_launch_notice_in_child();

}  // namespace lynxpp::interposer
