// How much the tensor copies of one launch move.
#pragma once

#include <vector>

#include "cod/host_report.h"
#include "device/device.h"
#include "engine/instrument.h"
#include "support/tensor_boxes.h"

namespace lynxpp::interposer {

/// Returns the sizes of the variant's copies (engine::Instrumented::tensor_copies), by the maps among the
/// launch's parameters. The size of a copy is unknown if its map is, or is of another kind than the
/// instruction expects.
std::vector<cod::TensorCopySize> tensor_copy_sizes(const engine::Instrumented& variant,
                                                   const device::Launch& launch,
                                                   const TensorBoxReader& find_box);

}  // namespace lynxpp::interposer
