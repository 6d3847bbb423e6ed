// The shape of launches, for those who make requests (engine/instrument.h).
#pragma once

#include "ptx/analysis/launch_shape.h"

namespace lynxpp::engine {

using ptx::LaunchShape;

}  // namespace lynxpp::engine
