// Describes the running kernels of a process.
#pragma once

namespace lynxpp::cli {

/// The specification that stores where warps are.
inline constexpr char hang_specification[] = "hang_location";

/// Starts a process that waits until a kernel of `process` has run for `seconds`, prints on standard error
/// where its warps wait, and exits. It also exits when `process` does.
void watch_for_hang(int process, int seconds);

}  // namespace lynxpp::cli
