// What the records say of a run as numbers by name, for rules to read.
//
// Of a kernel: "SPECIFICATION.RESULT" for each number, "SPECIFICATION.ARRAY.sum", ".max" and ".mean" for each
// array that is not by site, and
//   launches, block_threads, blocks      of a grid and block that all launches have
//   multiprocessors, blocks_per_sm       of a GPU, measured or modelled
//   registers, local_bytes               of a thread
//   warps_per_sm, most_warps_per_sm      that fit, and that could
//   milliseconds                         on the device
//   launch.microseconds                  of work in a launch, at most and on average (estimated)
//   work, work.issue, work.shared, work.memory, work.atomic, work.launch     see below
// Per place (the accesses of a line to one object, a branch or a loop): "SPECIFICATION.ARRAY" for each array
// by instruction, and "flow.NAME" for each member of BranchCost or LoopCost (flow.h).
//
// Work is an estimate in cycles of one multiprocessor of a current device: four warp instructions issue per
// cycle, shared memory serves one wavefront per cycle, a sector requested from L1 takes two, and an atomic
// operation on the most updated word of global memory occupies the device for 1.5. From 100 launches on, each
// takes at least 3 microseconds of 132 multiprocessors. It is a sum, as if nothing overlapped in
// time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "report/summary.h"

namespace lynxpp::report {

/// Returns 0 if `b` is 0.
inline double ratio(double a, double b) { return b > 0 ? a / b : 0; }

class Facts {
 public:
  /// What is no finite number is not kept.
  void set(const std::string& name, double value);
  void add(const std::string& name, double value);
  /// Null: there is none.
  const double* find(std::string_view name) const;
  /// 0: there is none.
  double get(std::string_view name) const;

 private:
  std::map<std::string, double, std::less<>> numbers_;
};

enum class PlaceKind { load, store, copy, atomic, branch, loop };

/// How the addresses of neighbouring lanes differ.
enum class LanePattern {
  unknown,   ///< e.g. if the index is data
  constant,  ///< by PlaceFacts::stride bytes
  run_time,  ///< by a product with a run-time value
};

struct PlaceFacts {
  PlaceKind kind = PlaceKind::load;
  std::uint64_t instruction = 0;  ///< the first of the place with a count
  std::set<std::uint64_t> instructions = {};
  LanePattern lanes = LanePattern::unknown;
  double stride = 0;
  double bytes = 0;          ///< of a lane's access; 0: not given by the opcode
  bool is_shared = false;    ///< in shared memory; false: in global memory, or unknown
  bool is_combined = false;  ///< an atomic operation that compilers combine over the lanes of a warp
  Facts facts;
};

struct KernelFacts {
  std::string kernel;  ///< mangled
  std::string device;
  std::vector<std::string> ranges;
  const SitesRecord* sites = nullptr;
  double weight = 0;  ///< its share of the run; of all kernels together 1
  Facts facts;
  std::vector<PlaceFacts> places;
};

/// What shares of the run are shares of.
enum class Weight { time, modelled_time, work, launches };

struct RunFacts {
  Weight weight = Weight::launches;
  std::vector<KernelFacts> kernels;  ///< in order of appearance
};

/// `summary` has to outlive it.
RunFacts facts_of(const Summary& summary);

/// "modelled time".
std::string_view text_of(Weight weight);

}  // namespace lynxpp::report
