// A run as one small JSON document for tools: findings with stable ids, counts per source line, coverage,
// results of checks, and kernels that were not measured (docs/schema/digest.schema.json).
//
//   DigestSink sink;
//   replay(records, sink);
//   print(to_digest(sink, std::nullopt));
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/summary.h"

namespace lynxpp::report {

/// Collects the records of a run.
class DigestSink : public SummarySink {
 public:
  DigestSink() : SummarySink(kept_sites) {}
  void process(const ProcessRecord& record) override;

  /// The command of the first process; empty: unknown.
  const std::vector<std::string>& command() const { return command_; }

 private:
  std::vector<std::string> command_;
};

/// The outcome of `lynxpp check-run`.
struct CheckResults {
  std::string checks;                      ///< "memory,race,init,sync"
  bool has_run = false;                    ///< false: no kernel was checked
  std::vector<std::string> findings = {};  ///< lines of its output (docs/schema/check.schema.json)
};

/// Limit on the document's size in bytes, unless one entry of each list is larger.
inline constexpr std::size_t digest_bytes = 20'000;

/// Returns one JSON object and a newline. Leaves out the least important kernels, findings and lines that
/// exceed `digest_bytes`, and says how many. `checks`: nullopt if none were run. `exit_code`: of the program,
/// if known.
std::string to_digest(const DigestSink& sink, const std::optional<CheckResults>& checks = {},
                      std::optional<int> exit_code = {});

}  // namespace lynxpp::report
