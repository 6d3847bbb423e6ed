// Settings for developers, and for users in rare cases, in one environment variable:
//   LYNXPP_DEBUG=cpu_tier=regions,without=plain_sums,lane_values,timing=1
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace lynxpp {

/// The keys of LYNXPP_DEBUG. The variable LYNXPP_KEY, in upper case, sets one of them, too.
inline constexpr std::array debug_keys = {
    std::string_view("compile_budget"),
    std::string_view("cpu_cache"),
    std::string_view("cpu_capability"),
    std::string_view("cpu_check"),
    std::string_view("cpu_check_output"),
    std::string_view("cpu_check_schedules"),
    std::string_view("cpu_check_seed"),
    std::string_view("cpu_clock"),
    std::string_view("cpu_clock_l2"),
    std::string_view("cpu_clock_times"),
    std::string_view("cpu_counters"),
    std::string_view("cpu_devices"),
    std::string_view("cpu_tier"),
    std::string_view("cpu_words"),
    std::string_view("launch_records"),
    std::string_view("outline"),
    std::string_view("ptx"),
    std::string_view("ptx_store"),
    std::string_view("table"),
    std::string_view("timeline"),
    std::string_view("timing"),
    std::string_view("trial_launches"),
    std::string_view("trial_replay"),
    std::string_view("trials"),
    std::string_view("variant_limit"),
    std::string_view("wide_counters"),
    std::string_view("without"),
    std::string_view("words"),
};

/// Returns the value of an environment variable or, if it is not set, of its key in LYNXPP_DEBUG, without
/// "LYNXPP_" and in lower case; nullptr without either. LYNXPP_DEBUG is read once. `variable`: begins with
/// "LYNXPP_". Programs that run with their file's privileges get nullptr.
const char* setting(const char* variable);

/// A key and its value.
struct DebugSetting {
  std::string key;
  std::string value;
};

/// Returns what LYNXPP_DEBUG has.
const std::vector<DebugSetting>& debug_settings();

/// Parses a list of KEY=VALUE, separated by commas. A piece without '=' continues the value before it; one at
/// the beginning is a key without a value.
std::vector<DebugSetting> parse_debug_settings(std::string_view text);

/// Returns an error for each key in LYNXPP_DEBUG that is not in `debug_keys`.
Diagnostics check_debug_settings();

}  // namespace lynxpp
