// Launch records in short lines. Launches of one kernel, specification, launch shape and stream are a
// series: its record has what they have in common, and theirs have numbers and times.
//
//   {"record":"series","process":…,"series":3,"kernel":…,"demangled":…,"device":…,"spec":…,
//    "columns":[{"name":…,"unit":…},{"name":…,"ratio":true},{"name":…,"extents":[22],"names":[…]},
//    {"name":"arrays.words","table":"arrays"},…],"grid":[…],"block":[…],"notes":[…],
//    "place":{"ordinal":N,"context":N,"stream":N,"module":…,"thread":N},  (english: ok)
//    "labels":{"arrays":["#0",…]}}
//   {"record":"launch","process":…,"series":3,"launch":17,"values":[123,[21,4],[0,1,…],[20000,20000],…],
//    "place":{"correlation":N,"begin_us":N,"end_us":N}}  (english: ok)
//
// "values" has a value per column: a number; numerator and denominator of a ratio; an array's values, or its
// numerators and its denominators. An array with further members is an object: {"values":…,"underflow":…,…}.
// A column of a table without "extents" has one extent, the number of its values; "labels" name the rows of
// tables. Members of a series from "grid" on are usual values: a launch that differs may have its own, also
// in "place".  (english: ok)
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/record.h"

namespace lynxpp::report {

/// Writes the launch records of one file.
class SeriesWriter {
 public:
  /// Takes the numbers of new series from `numbers`; they must differ in all files of a process.
  explicit SeriesWriter(std::atomic<std::uint64_t>& numbers = numbers_of_process()) : numbers_(numbers) {}

  /// Returns the launch's line, after the line of its series if that has not been written. `process` is that
  /// of records that name none.
  std::string lines_of(const LaunchRecord& record, const std::string& process = {});

  static std::atomic<std::uint64_t>& numbers_of_process();

 private:
  struct Series {
    std::uint64_t number = 0;
    std::string text;  ///< of the usual members and labels
    TableLabels labels;
    LaunchRecord usual;  ///< without results
  };
  using Variants = std::vector<Series>;

  std::atomic<std::uint64_t>& numbers_;
  std::unordered_map<std::string, Variants> series_;  ///< by the text of visit_series_key()
};

}  // namespace lynxpp::report
