// A program's operations on the device as a trace for ui.perfetto.dev (Chrome's trace events, JSON).
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "report/record.h"

namespace lynxpp::report {

/// A launch's table with columns of these names is a timeline of thread blocks or warps, with times in
/// nanoseconds; other columns become arguments of the slices.
inline constexpr const char* timeline_columns[] = {"sm", "begin", "end"};
/// A table with `sm` and this column has an event per row.
inline constexpr const char* instant_column = "time";

/// Writes one JSON object at finish(). From activities (LYNXPP_TIMELINE): calls, ranges, and launches on
/// their streams if their time was measured or modelled. From launches with a timeline: one track per
/// multiprocessor, more if slices overlap; events are instants on these tracks.
std::unique_ptr<Sink> make_perfetto_sink(std::function<void(std::string_view)> write);

}  // namespace lynxpp::report
