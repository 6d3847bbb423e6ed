#include "ptx/passes/pass.h"

#include <chrono>

namespace lynxpp::ptx {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Prefixes the failure with the pass's name and with `what`, which distinguishes a failed pass from invalid
/// output.
Failure named(Failure problem, std::string_view pass, std::string_view what) {
  const std::string prefix = "pass '" + std::string(pass) + "'" + std::string(what) + ": ";
  if (problem.diagnostics.empty()) return failure(prefix + "failed");
  problem.diagnostics.front().message = prefix + problem.diagnostics.front().message;
  return problem;
}

}  // namespace

Status PassManager::run_through(std::string_view last, InstrumentationUnit& unit) {
  while (next_ != passes_.size()) {
    const Pass& pass = passes_[next_++];
    if (observer_.before) observer_.before(pass.name, unit);
    if (Status done = run_one(pass, unit); !done) return done;
    if (observer_.after) observer_.after(pass.name, unit);
    if (pass.name == last) break;
  }
  return success();
}

Status PassManager::run_one(const Pass& pass, InstrumentationUnit& unit) {
  PassTiming timing{pass.name};
  const std::size_t edits = unit.edits.edits().size();
  Clock::time_point begin = Clock::now();
  Status done = pass.run(unit);
  timing.milliseconds = milliseconds_since(begin);
  if (!done) return named(std::move(done.error()), pass.name, "");
  timing.edits = unit.edits.edits().size() - edits;
  if (timing.edits != 0 && verifier_) {
    begin = Clock::now();
    if (Status verified = verifier_(unit); !verified)
      return named(std::move(verified.error()), pass.name, " produced code that is not well-formed");
    timing.verify_milliseconds = milliseconds_since(begin);
  }
  timings_.push_back(std::move(timing));
  return success();
}

}  // namespace lynxpp::ptx
