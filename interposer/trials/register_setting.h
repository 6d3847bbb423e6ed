// Register limits of a variant's kernel: directives of its PTX, which change no result.
#pragma once

#include <string>

#include "device/device.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Removes .minnctapersm and .maxnreg, which limit the registers, from the directives in the text. Fails if
/// the text has neither.
Status remove_register_limits(std::string& ptx, device::DirectiveRange& directives);

/// Limits the registers so that a multiprocessor holds one thread block of the launch more. Fails if no
/// number of registers does so.
Status limit_registers(std::string& ptx, device::DirectiveRange& directives, device::Device& device,
                       const device::Launch& launch);

}  // namespace lynxpp::interposer
