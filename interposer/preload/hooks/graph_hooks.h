// The end of executable graphs.
#pragma once

#include "interposer/preload/graphs.h"

namespace lynxpp::preload {

/// Releases what the engine and the driver keep for the graph, which the program no longer launches.
/// Precondition: Passthrough is active, and the graph's context is alive.
void forget_graph(ExecutableGraph& graph);
/// Same, without the engine. Precondition: the graph's context is gone.
void abandon_graph(ExecutableGraph& graph);

}  // namespace lynxpp::preload
