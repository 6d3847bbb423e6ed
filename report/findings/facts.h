// What the records say of a run as numbers by name, for rules to read.
//
// Of a kernel: "SPECIFICATION.RESULT" for each number, "SPECIFICATION.ARRAY.sum", ".max" and ".mean" for each
// array that is not by site, and
//   launches, block_threads, blocks      of a grid and block that all launches have
//   multiprocessors, blocks_per_sm       of a GPU, measured or modelled
//   registers, local_bytes               of a thread
//   warps_per_sm, most_warps_per_sm      that fit, and that could
//   milliseconds                         on the device
//   work, work.issue, work.shared, work.memory     see below
// Of a place, a line of the source or an instruction: "SPECIFICATION.ARRAY" for each array by instruction.
//
// Work is an estimate in cycles of one multiprocessor of today's: four instructions of warps begin in one,
// shared memory serves one wavefront in one, and a sector of memory takes two. It is a sum, as though nothing
// happened at the same time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/summary.h"

namespace lynxpp::report {

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

enum class PlaceKind { load, store, copy, atomic, branch };

struct PlaceFacts {
  PlaceKind kind = PlaceKind::load;
  std::uint64_t instruction = 0;  ///< the first of the place with a count
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
