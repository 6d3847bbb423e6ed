#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Replaces the names in unit.variant.shared_variables by their addresses, so that the variant and the
/// original module see the same storage. Constant-space accesses become global ones: the driver gives a
/// `.const` variable's address in the generic space.
///   ld.const.f32 %f1, [c+4];   ▶   mov.b64 %lynxpp_address, 140000000;
///                                  ld.global.nc.f32 %f1, [%lynxpp_address+4];
///   mov.u64 %rd1, counter;     ▶   mov.u64 %rd1, 140000512;
/// Runs first, so that an instruction's address is ready behind whatever later passes put before it.
Status replace_shared_variables(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
