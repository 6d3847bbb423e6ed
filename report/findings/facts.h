// Facts about a run, as numbers by name, computed from its records and read by rules.
//
// Per kernel: "SPECIFICATION.RESULT" for each number, "SPECIFICATION.ARRAY.sum", ".max" and ".mean" for each
// array that is not by site, and
//   launches
//   block_threads, blocks                if all launches have the same block or grid
//   multiprocessors, blocks_per_sm       of a GPU, measured or modelled
//   registers, local_bytes               per thread
//   warps_per_sm, most_warps_per_sm      that fit; limit of the device
//   milliseconds                         on the device
//   atomic.most_operations               on the most updated word, if operations were counted
//   traffic.requested, traffic.transferred   bytes of global loads, stores and asynchronous copies at L1:
//                                            of data, and of the sectors that hold it
//   tensor.operations                    multiplications and additions by tensor cores
//   tensor.share                         their time at the device's peak rate (estimated), over the measured
//                                        time of the instrumented kernel: a lower bound
//   launch.microseconds                  work per launch, upper bound of the average (estimated)
//   work, work.issue, work.shared, work.memory, work.atomic, work.launch     see below
// Per location (the accesses of a line to one object, a branch or a loop): "SPECIFICATION.ARRAY" for each
// array by instruction, and "flow.NAME" for each member of BranchCost or LoopCost (flow.h).
//
// Work is an estimate in cycles of one multiprocessor of a current device: four warp instructions issue per
// cycle, shared memory serves one wavefront per cycle, a sector requested from L1 takes two cycles, and an
// atomic operation on the most updated word of global memory occupies the device for 1.5. From 100 launches
// on, each takes at least 3 microseconds of 132 multiprocessors. Work is a sum: overlap is ignored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "report/limits/limits.h"
#include "report/summary.h"

namespace lynxpp::report {

class Facts {
 public:
  /// Ignores values that are not finite.
  void set(const std::string& name, double value);
  void add(const std::string& name, double value);
  void add(const Facts& others);
  /// Returns null if the fact is unknown.
  const double* find(std::string_view name) const;
  /// Returns 0 if the fact is unknown.
  double get(std::string_view name) const;

 private:
  std::map<std::string, double, std::less<>> numbers_;
};

enum class LocationKind { load, store, copy, atomic, branch, loop };

/// How the addresses of neighbouring lanes differ.
enum class LanePattern {
  unknown,   ///< e.g. if the index is data
  constant,  ///< by LocationFacts::stride bytes
  run_time,  ///< by a product with a run-time value
};

struct LocationFacts {
  LocationKind kind = LocationKind::load;
  std::uint64_t instruction = 0;  ///< the first of its instructions with a count
  std::set<std::uint64_t> instructions = {};
  LanePattern lanes = LanePattern::unknown;
  double stride = 0;
  double bytes = 0;          ///< of a lane's access; 0: the opcode does not determine it
  bool is_shared = false;    ///< in shared memory; false: in global memory, or unknown
  bool is_combined = false;  ///< an atomic operation that compilers combine over the lanes of a warp
  Facts facts;
};

struct KernelFacts {
  std::string kernel;  ///< mangled
  std::string device;
  std::vector<std::string> ranges;
  const SitesRecord* sites = nullptr;
  double weight = 0;  ///< share of the run; the sum over all kernels is 1
  Facts facts;
  std::vector<LocationFacts> locations;
};

/// The unit of shares of the run.
enum class Weight { time, modelled_time, work, launches };

struct RunFacts {
  Weight weight = Weight::launches;
  std::vector<KernelFacts> kernels;  ///< in order of appearance
  std::vector<KernelLimits> limits;  ///< measured; empty without trials
};

/// `summary` must outlive the result.
RunFacts facts_of(const Summary& summary);

/// Returns for example "modelled time".
std::string_view text_of(Weight weight);

}  // namespace lynxpp::report
