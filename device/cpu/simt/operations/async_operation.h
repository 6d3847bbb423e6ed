// Asynchronous operations on memory: performed at once; in checked launches, when the kernel waits for them.
#pragma once

#include <cstdint>
#include <utility>

#include "device/cpu/simt/check/block_check.h"
#include "device/cpu/simt/operations/barrier_objects.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {

/// Performs an operation that one lane issues. `perform` has its effect on memory, through pointers that
/// place() returned, and must not refer to the call, which may have ended. Example, a copy that signals an
/// mbarrier object (the site of its address is the third):
///
///     const AsyncAccess accesses[] = {{sites[0], to, bytes, false, true},
///                                     {sites[1], from, bytes, true, false}};
///     perform_async(call, {lane, AsyncCompletion::object, true, accesses, sites[2], object, bytes},
///                   [=] { std::memcpy(target, source, bytes); });
template <typename Perform>
void perform_async(const OperationCall& call, const AsyncIssue& issue, Perform perform) {
  if (call.warp->check != nullptr) return call.warp->check->issue(*call.warp, issue, std::move(perform));
  perform();
  if (issue.object != nullptr) complete_bytes(issue.object, issue.object_bytes);
}

}  // namespace lynxpp::device::cpu
