// What lynxpp tells its user: launch records and coverage records, and the sinks they go to.
//
// JSON Lines (LYNXPP_OUTPUT), one object a line:
//   {"record":"launch","kernel":…,"demangled":…,"launch":0,"device":…,"grid":[x,y,z],"block":[x,y,z],"spec":…,
//    "results":{name: number | {"extents":[…],"values":[…]}}, …}
//   {"record":"coverage","kernel":…,"demangled":…,"instrumented":bool,"reason":…,"launches":N, "sites":N, "notes":[…]}
// A launch counts from 0, per kernel, over the launches made while a specification was attached.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lynxpp::report {

using Values = std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>;

struct ResultValue {
  std::string name;
  std::vector<std::uint64_t> extents;  ///< empty: a number
  Values values;
  std::string unit;
};

struct LaunchRecord {
  std::string kernel;        ///< mangled
  std::uint64_t launch = 0;  ///< index of this launch of this kernel among those made while attached
  std::string device;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::string spec;
  std::vector<ResultValue> results;
  std::vector<std::string> notes;  ///< e.g. accesses dropped
};

struct CoverageRecord {
  std::string kernel;
  bool instrumented = false;
  std::string reason;          ///< why not, or empty
  std::uint64_t launches = 0;  ///< all launches seen while a spec was attached
  std::uint64_t instrumented_launches = 0;
  std::uint64_t sites = 0;  ///< places a handler was spliced at
  std::vector<std::string> notes;
};

/// Milliseconds, as in Figure 8 of the Lynx paper.
struct TimingRecord {
  std::string kernel;
  double parse = 0, instrument = 0, emit = 0, load = 0, execute = 0;
};

/// Receives records as they are made; finish() is called once, at exit or detach. Not thread safe: the session serialises.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void launch(const LaunchRecord& record) = 0;
  virtual void coverage(const CoverageRecord& record) = 0;
  virtual void timing(const TimingRecord& record) = 0;
  virtual void finish() = 0;
};

/// Appends one JSON object a line to `path` and flushes after each; null when the file cannot be opened.
std::unique_ptr<Sink> make_json_lines_sink(const std::string& path);
/// Collects and prints aligned tables on stderr at finish(): one row per kernel and spec with totals over its launches, then the coverage
/// of kernels that were not instrumented, then timings when there are any.
std::unique_ptr<Sink> make_table_sink();
/// Hands every record to all of them.
std::unique_ptr<Sink> make_tee(std::vector<std::unique_ptr<Sink>> sinks);

}  // namespace lynxpp::report
