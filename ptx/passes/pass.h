// Passes and the manager that runs them in order. A pass's header is one factory function; its class hides in
// the .cpp. Which passes there are, and in which order, stands in the table of pipeline.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

class Pass {
 public:
  virtual ~Pass() = default;
  virtual std::string_view name() const = 0;
  /// Adds edits to the unit; the module itself never changes. The answer says whether it added any.
  virtual Result<bool> run(InstrumentationUnit& unit) = 0;
  /// What of unit.analyses still holds after a run that changed something. A pass that changes bodies has to
  /// say so.
  virtual Preserved preserves() const { return Preserved::all; }
};

struct PassTiming {
  std::string pass;
  double milliseconds = 0;  ///< without verification
  double verify_milliseconds = 0;
  std::size_t edits = 0;  ///< how many it added
  bool changed = false;
};

/// Looks at the unit between passes, for printing.
struct PassObserver {
  using Function = std::function<void(std::string_view pass, const InstrumentationUnit&)>;
  Function before, after;  ///< null: nobody looks
};

class PassManager {
 public:
  void add(std::unique_ptr<Pass> pass) { passes_.push_back(std::move(pass)); }
  /// Called after each pass that changed something; a failure stops the pipeline.
  void verify_with(std::function<Status(const InstrumentationUnit&)> verifier) {
    verifier_ = std::move(verifier);
  }
  void observe_with(PassObserver observer) { observer_ = std::move(observer); }

  /// Runs the passes in the order they were added. A failure's first diagnostic names the pass.
  Status run(InstrumentationUnit& unit);
  const std::vector<PassTiming>& timings() const { return timings_; }

 private:
  Status run_one(Pass& pass, InstrumentationUnit& unit);

  std::vector<std::unique_ptr<Pass>> passes_;
  std::function<Status(const InstrumentationUnit&)> verifier_;
  PassObserver observer_;
  std::vector<PassTiming> timings_;
};

}  // namespace lynxpp::ptx
