#pragma once

#include "device/cuda/driver.h"
#include "device/cuda/pool.h"
#include "device/device.h"
#include "support/result.h"

namespace lynxpp::device::cuda {

/// Writes the addresses to the table of a variant's module. Waits for the copy, since launches on any stream
/// follow, on a stream that does not wait for the program's work. Precondition: the context is current.
Status write_table(const Driver& driver, Pool& pool, CUmodule module, const VariableTable& table);

}  // namespace lynxpp::device::cuda
