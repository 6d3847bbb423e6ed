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

/// Invariants of the edits after a pass, which the verifier checks (engine/verify.h).
enum class EditState {
  unchanged,  ///< the pass plans: it has added no edit
  readable,   ///< the text with the edits parses, and its registers and labels are declared
  complete    ///< in addition, all other names are: a pass may use a parameter that a later one declares
};

struct PassTiming {
  std::string pass;
  double milliseconds = 0;
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
  using Verifier = std::function<Status(const InstrumentationUnit&, const EditList&, EditState)>;

  void add(std::string_view name, EditState leaves, Run run) {
    passes_.push_back({std::string(name), leaves, std::move(run)});
  }
  /// Sets a verifier, which checks the edits after the last pass. If it fails, it checks what each pass has
  /// left, and the diagnostic names the first pass after which it fails and how to print its output.
  void verify_with(Verifier verifier) { verifier_ = std::move(verifier); }
  void observe_with(PassObserver observer) { observer_ = std::move(observer); }

  /// Runs the remaining passes in the order of add(). The first diagnostic of a failure names the pass.
  Status run(InstrumentationUnit& unit) { return run_through({}, unit); }
  /// Runs the remaining passes up to and including `last`.
  Status run_through(std::string_view last, InstrumentationUnit& unit);
  const std::vector<PassTiming>& timings() const { return timings_; }
  double verify_milliseconds() const { return verify_milliseconds_; }

 private:
  struct Pass {
    std::string name;
    EditState leaves;
    Run run;
  };

  Status run_one(const Pass& pass, InstrumentationUnit& unit);
  Status verify(const InstrumentationUnit& unit);

  std::vector<Pass> passes_;
  std::size_t next_ = 0;  ///< in `passes_`
  Verifier verifier_;
  PassObserver observer_;
  std::vector<PassTiming> timings_;  ///< of the first next_ passes
  double verify_milliseconds_ = 0;
};

}  // namespace lynxpp::ptx
