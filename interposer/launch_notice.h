// Notice that a process has made and measured launches, shared between a parent and its forked children: a
// parent that launches nothing itself must not report that nothing was launched.
#pragma once

#include "interposer/engine_api.h"

namespace lynxpp::interposer {

using LaunchNotice = void (*)(lynxpp_seen seen);

/// Called once, before the first fork that matters.
void share_launch_notice();

/// Called after every launch with the stage that the process has reached. Calls `notice` once per stage,
/// unless it is null.
void note_launch(lynxpp_seen seen, LaunchNotice notice);

/// Returns the stage that this process, a forked child, or the parent it was forked from has reached.
lynxpp_seen seen_launches();

/// Called in the child of a fork, which makes its own launches.
void begin_launch_notice_in_child();

}  // namespace lynxpp::interposer
