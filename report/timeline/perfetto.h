// What a program did with the device as a trace that ui.perfetto.dev opens (Chrome's trace events, JSON).
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "report/record.h"

namespace lynxpp::report {

/// A table of a launch is a timeline of thread blocks or warps when it has columns of these names, times in
/// nanoseconds; other columns become arguments of the slices.
inline constexpr const char* timeline_columns[] = {"sm", "begin", "end"};
/// … and one of what happened there, a row each, when it has `sm` and this one.
inline constexpr const char* instant_column = "time";

/// At finish() writes one JSON object. Of activities (LYNXPP_TIMELINE): calls, ranges, and launches on their
/// streams where their time was measured or modelled. Of launches with a timeline: a track for each
/// multiprocessor, more than one where its slices overlap; what happened at a time is an instant on them.
std::unique_ptr<Sink> make_perfetto_sink(std::function<void(std::string_view)> write);

}  // namespace lynxpp::report
