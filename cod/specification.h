// C-on-Demand: compiles a specification (.cod text) for the splice pass and the report.
//
//   parse + analyse  ▶ Specification (targets, filters, storage, per-thread state; keeps the AST)
//   lower_device     ▶ one PTX routine per handler (LLVM O2, NVPTX)
//   compile_host     ▶ ON_REPORT as native code, through LLVM ORC
//
// No ANTLR or LLVM type leaves cod/*.cpp. All objects are immutable after creation and thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cod/device_code.h"
#include "cod/handler.h"
#include "cod/host_report.h"
#include "cod/site_counter.h"
#include "cod/storage.h"
#include "cod/trace_stream.h"
#include "support/result.h"

namespace lynxpp::cod {

class Specification {
 public:
  virtual ~Specification() = default;

  virtual const std::string& name() const = 0;     ///< file name without folder and ".cod"
  virtual const std::string& summary() const = 0;  ///< the first comment line of the file
  virtual const std::string& source() const = 0;
  virtual const std::vector<Handler>& handlers() const = 0;
  /// The sparsest sampling among the handlers; all have the same sampling of launches.
  virtual Sampling sampling() const = 0;
  /// Sampling of the handlers for a kernel (mangled; empty: any), in order, without initialisers.
  virtual std::vector<HandlerSampling> samplings(const std::string& kernel) const = 0;
  virtual const std::vector<GlobalArray>& arrays() const = 0;
  virtual const std::vector<StateVariable>& state() const = 0;
  virtual const std::vector<Word>& words() const = 0;
  virtual const std::vector<ModuleVariable>& variables() const = 0;
  virtual const std::vector<SiteCounter>& counters() const = 0;
  virtual const std::vector<Tally>& tallies() const = 0;
  virtual const std::vector<CheckedAccess>& checked_accesses() const = 0;
  /// Traces that can be streamed: one-dimensional, with at least least_streamed_entries entries, and not read
  /// by device code.
  virtual const std::vector<TraceStream>& streams() const = 0;
  /// True if it queries the program's arrays: LaunchView::located_arrays.
  virtual bool lists_arrays() const = 0;
  /// True if a table that it emits has a column of addresses, judged by the column's name.
  virtual bool emits_addresses() const = 0;
  /// True if ON_REPORT calls isRunning(): it also describes launches that are not over. Its arrays must be in
  /// memory that the host reads meanwhile.
  virtual bool asks_if_running() const = 0;
  /// True if ON_REPORT calls boxBytes() or boxLines(): it needs LaunchView::tensor_copies.
  virtual bool asks_for_boxes() const = 0;
  /// True if a filter or query uses transfer labels.
  virtual bool uses_transfer_labels() const = 0;
  /// Returns the results, except ratios and those named by opcodes, if launches of one variant with one grid
  /// can share arrays: handlers only add to arrays, and ON_REPORT, run once on the sums with
  /// LaunchView::launches, emits the sums of the launches' results. Otherwise nullopt.
  virtual const std::optional<std::vector<AddedResult>>& added_results() const = 0;

  virtual Result<DeviceCode> lower_device(const DeviceTarget& target) const = 0;

  /// Compiles ON_REPORT; its native code is generated at the first run. Without an ON_REPORT, the report
  /// emits every array under its own name.
  virtual Result<std::shared_ptr<const HostReport>> compile_host() const = 0;
};

/// `name` is the file's path for diagnostics. Fails with all errors found, each with a location. Warnings of
/// a successful compilation are appended to `warnings` unless it is null.
Result<std::shared_ptr<const Specification>> compile(std::string source, const std::string& name,
                                                     Diagnostics* warnings = nullptr);

}  // namespace lynxpp::cod
