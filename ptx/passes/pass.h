// Passes and the manager that runs them in order. A pass's header is one factory function; its class hides in the .cpp.
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
};

struct PassTiming {
  std::string pass;
  double milliseconds = 0;
  bool changed = false;
};

class PassManager {
 public:
  void add(std::unique_ptr<Pass> pass) { passes_.push_back(std::move(pass)); }
  /// Called after each pass that changed something; a failure stops the pipeline.
  void verify_with(std::function<Status(const InstrumentationUnit&)> verifier) {
    verifier_ = std::move(verifier);
  }

  /// Runs the passes in the order they were added. A failure's first diagnostic names the pass.
  Status run(InstrumentationUnit& unit);
  const std::vector<PassTiming>& timings() const { return timings_; }

 private:
  std::vector<std::unique_ptr<Pass>> passes_;
  std::function<Status(const InstrumentationUnit&)> verifier_;
  std::vector<PassTiming> timings_;
};

}  // namespace lynxpp::ptx
