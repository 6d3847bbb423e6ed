// Runs passes in order. The table in pipeline.cpp defines the passes and their order.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

struct PassTiming {
  std::string pass;
  double milliseconds = 0;  ///< excluding verification
  double verify_milliseconds = 0;
  std::size_t edits = 0;  ///< edits the pass added
};

/// Callbacks that inspect the unit between passes, for printing.
struct PassObserver {
  using Function = std::function<void(std::string_view pass, const InstrumentationUnit&)>;
  Function before, after;  ///< null: not called
};

class PassManager {
 public:
  /// Plans, or adds edits to the unit. A pass never changes the module itself.
  using Run = std::function<Status(InstrumentationUnit&)>;

  void add(std::string_view name, Run run) { passes_.push_back({std::string(name), std::move(run)}); }
  /// Sets a verifier that runs after each pass that added edits. A verification failure stops the pipeline.
  void verify_with(std::function<Status(const InstrumentationUnit&)> verifier) {
    verifier_ = std::move(verifier);
  }
  void observe_with(PassObserver observer) { observer_ = std::move(observer); }

  /// Runs the remaining passes in the order of add(). The first diagnostic of a failure names the pass.
  Status run(InstrumentationUnit& unit) { return run_through({}, unit); }
  /// Runs the remaining passes up to and including `last`.
  Status run_through(std::string_view last, InstrumentationUnit& unit);
  const std::vector<PassTiming>& timings() const { return timings_; }

 private:
  struct Pass {
    std::string name;
    Run run;
  };

  Status run_one(const Pass& pass, InstrumentationUnit& unit);

  std::vector<Pass> passes_;
  std::size_t next_ = 0;  ///< in `passes_`
  std::function<Status(const InstrumentationUnit&)> verifier_;
  PassObserver observer_;
  std::vector<PassTiming> timings_;
};

}  // namespace lynxpp::ptx
