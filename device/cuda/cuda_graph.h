// Launches of graphs with variants through the CUDA driver.
#pragma once

#include <functional>
#include <memory>

#include "device/cuda/driver.h"
#include "device/cuda/pool.h"
#include "device/graphs.h"

namespace lynxpp::device::cuda {

class CudaVariant;

/// Chooses the variant to launch for a given one. Fails if none can be launched.
using VariantChoice = std::function<Result<CudaVariant*>(CudaVariant& variant, const Launch& launch)>;

/// Fails if the driver is too old.
Result<std::unique_ptr<ProgramGraph>> make_program_graph(const Driver& driver, Pool& pool,
                                                         VariantChoice choice);

}  // namespace lynxpp::device::cuda
