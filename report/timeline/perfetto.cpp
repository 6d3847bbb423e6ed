#include "report/timeline/perfetto.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/number.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

using Json = nlohmann::ordered_json;

// Processes of the trace.
constexpr int of_host = 1, of_streams = 2, of_multiprocessors = 3;
// Tracks of the host.
constexpr int calls = 1, ranges = 2;

struct Track {
  int process = 0;
  std::uint64_t number = 0;
};

/// Writes trace events, whose times are in microseconds.
class Trace {
 public:
  void name_process(int process, const std::string& name) {
    add({{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", name}}}});
  }
  void name_track(const Track& track, const std::string& name) {
    add({{"ph", "M"},
         {"name", "thread_name"},
         {"pid", track.process},
         {"tid", track.number},
         {"args", {{"name", name}}}});
    add({{"ph", "M"},
         {"name", "thread_sort_index"},
         {"pid", track.process},
         {"tid", track.number},
         {"args", {{"sort_index", track.number}}}});
  }
  void slice(const Track& track, const std::string& name, double begin, double duration, Json arguments) {
    add({{"ph", "X"},
         {"name", name},
         {"pid", track.process},
         {"tid", track.number},
         {"ts", begin},
         {"dur", duration},
         {"args", std::move(arguments)}});
  }
  void instant(const Track& track, const std::string& name, double time, Json arguments) {
    add({{"ph", "i"},
         {"s", "t"},
         {"name", name},
         {"pid", track.process},
         {"tid", track.number},
         {"ts", time},
         {"args", std::move(arguments)}});
  }
  std::string finish() && { return std::move(text_) + "\n],\"displayTimeUnit\":\"ns\"}\n"; }

 private:
  void add(const Json& event) {
    text_ += text_.ends_with('[') ? "\n" : ",\n";
    text_ += event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::string text_ = "{\"traceEvents\":[";
};

/// A thread block's or a warp's time on a multiprocessor, or an event there, in nanoseconds.
struct Stay {
  std::uint64_t sm = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_instant = false;
  std::size_t launch = 0;  ///< index into PerfettoSink::timelines_
  Json others = {};        ///< the other columns
};

struct LaunchTimeline {
  std::string name;
  std::string modelled;  ///< the machine that its times are modelled for
};

class PerfettoSink final : public Sink {
 public:
  explicit PerfettoSink(std::function<void(std::string_view)> write) : write_(std::move(write)) {}
  void sites(const SitesRecord&) override {}
  void coverage(const CoverageRecord&) override {}
  void timing(const TimingRecord&) override {}
  void activity(const ActivityRecord& record) override { activities_.push_back(record); }
  void launch(const LaunchRecord& record) override {
    if (record.modelled) modelled_.try_emplace({record.kernel, record.launch}, *record.modelled);
    std::vector<std::string> tables;
    for (const ResultValue& each : record.results) {
      if (!each.table.empty() && std::ranges::count(tables, each.table) == 0) tables.push_back(each.table);
    }
    for (const std::string& table : tables) add_table(record, table);
  }
  void finish() override {
    std::ranges::stable_sort(activities_, {}, &ActivityRecord::order);
    if (!activities_.empty()) {
      trace_.name_process(of_host, "program");
      trace_.name_track({of_host, calls}, "calls");
      trace_.name_track({of_host, ranges}, "ranges, up to the last call in each");
      trace_.name_process(of_streams, "device, from the call or the end of the launch before it");
    }
    write_calls();
    write_ranges();
    write_stays();
    write_(std::move(trace_).finish());
  }

 private:
  void add_table(const LaunchRecord& record, const std::string& table) {
    const auto column = [&](const std::string& name) -> const ResultValue* {
      const auto found = std::ranges::find(record.results, table + "." + name, &ResultValue::name);
      return found == record.results.end() || found->extents.size() != 1 ? nullptr : &*found;
    };
    const ResultValue* const sm = column(timeline_columns[0]);
    const ResultValue* const time = column(instant_column);
    const bool is_instants = time != nullptr;
    const ResultValue* const begin = is_instants ? time : column(timeline_columns[1]);
    const ResultValue* const end = is_instants ? time : column(timeline_columns[2]);
    if (sm == nullptr || begin == nullptr || end == nullptr) return;
    const auto at = [](const ResultValue& values, std::size_t row) {
      return static_cast<std::uint64_t>(number_at(values, row).integer);
    };
    timelines_.push_back({demangle(record.kernel) + " launch " + std::to_string(record.launch),
                          record.modelled ? record.modelled->machine : ""});
    const std::size_t rows = std::min({size_of(sm->values), size_of(begin->values), size_of(end->values)});
    for (std::size_t row = 0; row < rows; ++row) {
      Stay stay{at(*sm, row), at(*begin, row), at(*end, row), is_instants, timelines_.size() - 1};
      // Skip rows of a table by block that no block has filled.
      if (stay.begin == 0 || stay.end < stay.begin) continue;
      for (const ResultValue& each : record.results) {
        const bool is_other = each.table == table && &each != sm && &each != begin && &each != end;
        if (is_other && row < size_of(each.values))
          stay.others[each.name.substr(table.size() + 1)] = number_at(each, row).as_double();
      }
      stays_.push_back(std::move(stay));
    }
  }

  void write_calls() {
    std::map<std::uint64_t, double> ends;  // of streams, in microseconds
    for (const ActivityRecord& each : activities_) {
      const double time = each.host_ms * 1000;
      const Track stream{of_streams, each.stream};
      if (each.wait) trace_.instant({of_host, calls}, "wait", time, Json::object());
      if (each.copy) {
        const Json arguments{
            {"bytes", each.copy->bytes}, {"stream", each.stream}, {"asynchronous", each.copy->asynchronous}};
        trace_.instant({of_host, calls}, "copy " + each.copy->direction, time, arguments);
        name_stream(each.stream);
        trace_.instant(stream, "copy " + each.copy->direction, time, arguments);
      }
      if (each.launch) write_launch(each, ends[each.stream]);
    }
  }

  void write_launch(const ActivityRecord& record, double& stream_end) {
    const ActivityRecord::Launch& launch = *record.launch;
    const double time = record.host_ms * 1000;
    const std::string name = demangle(launch.kernel);
    Json arguments{{"launch", launch.launch}, {"stream", record.stream}};
    trace_.instant({of_host, calls}, "launch " + name, time, arguments);
    name_stream(record.stream);
    const Track stream{of_streams, record.stream};
    const auto modelled = modelled_.find({launch.kernel, launch.launch});
    const double begin = std::max(time, stream_end);
    if (launch.milliseconds) {
      arguments["time"] = "measured";
      trace_.slice(stream, name, begin, *launch.milliseconds * 1000, std::move(arguments));
      stream_end = begin + *launch.milliseconds * 1000;
    } else if (modelled != modelled_.end()) {
      arguments["time"] = "modelled for " + modelled->second.machine + ", of the instrumented launch";
      trace_.slice(stream, name + " (modelled)", begin, modelled->second.seconds * 1e6, std::move(arguments));
      stream_end = begin + modelled->second.seconds * 1e6;
    } else {
      arguments["time"] = "not known";
      trace_.instant(stream, name, time, std::move(arguments));
    }
  }

  void name_stream(std::uint64_t stream) {
    if (std::ranges::count(named_streams_, stream) != 0) return;
    named_streams_.push_back(stream);
    trace_.name_track({of_streams, stream},
                      stream == 0 ? "default stream" : "stream " + std::to_string(stream));
  }

  void write_ranges() {
    std::vector<std::pair<std::string, double>> open;
    double last = 0;
    const auto close_to = [&](std::size_t depth) {
      while (open.size() > depth) {
        trace_.slice({of_host, ranges}, open.back().first, open.back().second, last - open.back().second,
                     Json::object());
        open.pop_back();
      }
    };
    for (const ActivityRecord& each : activities_) {
      std::size_t same = 0;
      while (same < std::min(open.size(), each.ranges.size()) && open[same].first == each.ranges[same])
        ++same;
      close_to(same);
      last = each.host_ms * 1000;
      for (std::size_t i = same; i < each.ranges.size(); ++i) open.emplace_back(each.ranges[i], last);
    }
    close_to(0);
  }

  /// Assigns overlapping slices of a multiprocessor to different tracks.
  void write_stays() {
    if (stays_.empty()) return;
    std::ranges::stable_sort(stays_, {}, &Stay::begin);
    const bool is_modelled =
        std::ranges::any_of(timelines_, [](const LaunchTimeline& each) { return !each.modelled.empty(); });
    trace_.name_process(of_multiprocessors, std::string("multiprocessors, by the device's clock") +
                                                (is_modelled ? " (modelled where it says so)" : ""));
    constexpr std::uint64_t most_tracks = 4096;
    const std::uint64_t origin = stays_.front().begin;
    std::map<std::uint64_t, std::vector<std::uint64_t>> ends;  // per multiprocessor, of its tracks
    for (const Stay& each : stays_) {
      std::vector<std::uint64_t>& tracks = ends[each.sm];
      const auto free = std::ranges::find_if(tracks, [&](std::uint64_t end) { return end <= each.begin; });
      const auto slot = static_cast<std::uint64_t>(free - tracks.begin());
      const Track track{of_multiprocessors, each.sm * most_tracks + slot};
      if (free == tracks.end()) {
        tracks.push_back(each.end);
        trace_.name_track(track, "SM " + std::to_string(each.sm) + " (" + std::to_string(slot) + ")");
      } else {
        *free = each.end;
      }
      const LaunchTimeline& launch = timelines_[each.launch];
      Json arguments = each.others.is_null() ? Json::object() : each.others;
      if (!launch.modelled.empty()) arguments["time"] = "modelled for " + launch.modelled;
      const std::string name = launch.name + (launch.modelled.empty() ? "" : " (modelled)");
      const double begin = static_cast<double>(each.begin - origin) / 1000;
      const double duration = static_cast<double>(each.end - each.begin) / 1000;
      if (each.is_instant) {
        trace_.instant(track, name, begin, std::move(arguments));
      } else {
        trace_.slice(track, name, begin, duration, std::move(arguments));
      }
    }
  }

  std::function<void(std::string_view)> write_;
  Trace trace_;
  std::vector<ActivityRecord> activities_;
  std::map<std::pair<std::string, std::uint64_t>, ModelledTime> modelled_;  ///< by kernel and launch
  std::vector<LaunchTimeline> timelines_;
  std::vector<Stay> stays_;
  std::vector<std::uint64_t> named_streams_;
};

}  // namespace

std::unique_ptr<Sink> make_perfetto_sink(std::function<void(std::string_view)> write) {
  return std::make_unique<PerfettoSink>(std::move(write));
}

}  // namespace lynxpp::report
