#include "ptx/passes/pass.h"

#include <chrono>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Prefixes the failure's message.
Failure prefixed(Failure problem, const std::string& prefix) {
  if (problem.diagnostics.empty()) return failure(prefix + "failed");
  problem.diagnostics.front().message = prefix + problem.diagnostics.front().message;
  return problem;
}

Failure malformed(Failure problem, const std::string& pass) {
  problem = prefixed(std::move(problem), "pass '" + pass + "' produced code that is not well-formed: ");
  problem.diagnostics.front().hint = "print it with 'lynxpp ptx instrument --print-after " + pass + "'";
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
  return next_ == passes_.size() ? verify(unit) : success();
}

Status PassManager::run_one(const Pass& pass, InstrumentationUnit& unit) {
  PassTiming timing{pass.name};
  const std::size_t edits = unit.edits.edits().size();
  const Clock::time_point begin = Clock::now();
  Status done = pass.run(unit);
  timing.milliseconds = milliseconds_since(begin);
  if (!done) return prefixed(std::move(done.error()), "pass '" + pass.name + "': ");
  timing.edits = unit.edits.edits().size() - edits;
  LYNXPP_CHECK(pass.leaves != EditState::unchanged || timing.edits == 0, "a pass that plans has added edits");
  timings_.push_back(std::move(timing));
  return success();
}

Status PassManager::verify(const InstrumentationUnit& unit) {
  if (!verifier_ || passes_.empty()) return success();
  const Clock::time_point begin = Clock::now();
  Status verified = verifier_(unit, unit.edits, passes_.back().leaves);
  verify_milliseconds_ = milliseconds_since(begin);
  if (verified) return success();
  std::size_t edits = 0;
  for (std::size_t i = 0; i + 1 < passes_.size(); ++i) {
    edits += timings_[i].edits;
    if (timings_[i].edits == 0) continue;
    if (Status left = verifier_(unit, unit.edits.first(edits), passes_[i].leaves); !left)
      return malformed(std::move(left.error()), passes_[i].name);
  }
  return malformed(std::move(verified.error()), passes_.back().name);
}

}  // namespace lynxpp::ptx
