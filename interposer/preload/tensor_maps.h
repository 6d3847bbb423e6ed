// The tensor maps that the program had the driver encode. Recorded from the start of the process, because a
// specification may be attached at any time.
#pragma once

#include "interposer/engine_api.h"
#include "support/tensor_boxes.h"

namespace lynxpp::preload {

/// Returns the boxes of this process's maps. Never destroyed.
TensorBoxes& tensor_boxes();

/// Implements lynxpp_tensor_box_source.
int find_tensor_box(const void* map, lynxpp_tensor_box* box);

}  // namespace lynxpp::preload
