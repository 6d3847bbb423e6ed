// Settings that concern all launches of the process.
#pragma once

#include <atomic>
#include <chrono>

namespace lynxpp::device::cpu {

/// Time after which a running kernel is reported in the log with its location, 10 s by default. It is
/// reported again each time its running time has doubled.
std::atomic<std::chrono::milliseconds>& first_running_report();

/// Ends running and future launches with a failure, because the process is about to exit.
void abandon_launches();
bool launches_abandoned();

}  // namespace lynxpp::device::cpu
