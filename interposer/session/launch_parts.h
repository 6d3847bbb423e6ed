// The parts of the session that a launch passes.
#pragma once

#include "interposer/configuration.h"
#include "interposer/results/timeline.h"
#include "interposer/results/trace_streams.h"
#include "interposer/session/counter_sharing.h"
#include "interposer/session/known_kernels.h"
#include "interposer/session/launch_planner.h"
#include "interposer/session/launch_room.h"
#include "interposer/session/launching.h"
#include "interposer/session/recorder.h"
#include "interposer/trials/trials.h"

namespace lynxpp::interposer {

/// Each is thread safe.
struct LaunchParts {
  const Configuration& configuration;
  Launches& launches;
  KnownKernels& kernels;
  LaunchPlanner& planner;
  LaunchRoom& room;
  CounterSharing& sharing;
  TraceStreams& streams;
  Timeline& timeline;
  Recorder& recorder;
  Trials* trials = nullptr;  ///< null without LYNXPP_TRIALS
};

}  // namespace lynxpp::interposer
