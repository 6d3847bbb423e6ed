#pragma once

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Inserts the probes' routines into the functions.
///
/// Sites: kernel entry before the first label or instruction; kernel exit before every ret, exit and trap of
/// the kernel and every exit and trap of a device function (under the exit's guard); block entry before the
/// block's first instruction; block exit before its branch, call or return, or after its last instruction if
/// it falls through; instruction probes before the instruction, for the lanes whose guard holds (branches:
/// for all active lanes), or after it, for the lanes that executed it (not for branches and exits).
/// Unreachable blocks are instrumented like all others.
Status splice_probes(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
