// Graphs with variants on the driver.
#pragma once

#include <functional>
#include <memory>

#include "device/cuda/driver.h"
#include "device/cuda/pool.h"
#include "device/graphs.h"

namespace lynxpp::device::cuda {

class CudaVariant;

/// The variant to launch in the place of one. Failure: why none.
using VariantChoice = std::function<Result<CudaVariant*>(CudaVariant& variant, const Launch& launch)>;

/// Failure: the driver is too old.
Result<std::unique_ptr<ProgramGraph>> make_program_graph(const Driver& driver, Pool& pool,
                                                         VariantChoice choice);

}  // namespace lynxpp::device::cuda
