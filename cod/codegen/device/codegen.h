// Compiles the handlers of a program to PTX.
#pragma once

#include "cod/device_code.h"
#include "cod/sema/program.h"
#include "support/result.h"

namespace lynxpp::cod {

Result<DeviceCode> generate_device_code(const Program& program, const DeviceTarget& target);

}  // namespace lynxpp::cod
