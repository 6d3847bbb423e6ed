// State that the thread blocks of a checked launch share. Such a launch runs on one host thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "device/cpu/simt/check/access_shadow.h"
#include "device/cpu/simt/check/finding.h"
#include "device/cpu/simt/check/happens_before.h"
#include "device/cpu/simt/compile/shared_layout.h"
#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/launch_shape.h"
#include "device/cpu/simt/execute/order/explored_run.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

/// An access and the thread that makes it, or that issues the operation which makes it.
struct CheckedAccess {
  const AccessSite* site = nullptr;  ///< null if too many sites are in use to remember this one
  bool is_async = false;             ///< made by an asynchronous operation
  bool writes = false;               ///< set if it is asynchronous
  const WarpContext* by = nullptr;   ///< the warp, if it is executing the instruction
  std::uint32_t block[3] = {};
  std::uint32_t thread[3] = {};
};

class LaunchCheck {
 public:
  /// Returns the function of an access and its callers. `by`: the warp that is making it, or null.
  using FindStack = std::function<DeviceStack(const AccessSite& site, const WarpContext* by)>;

  /// `sites`: the program's accesses. `explored` may be null. The arguments outlive this object.
  LaunchCheck(const SharedLayout& shared, const std::deque<AccessSite>& sites, const LaunchShape& shape,
              const GlobalMemory& memory, LaunchChecks& checks, ExploredRun* explored, FindStack find_stack)
      : shared_(shared),
        sites_(sites),
        shape_(shape),
        memory_(memory),
        checks_(checks),
        explored_(explored),
        find_stack_(std::move(find_stack)) {}

  const CheckSelection& selection() const { return checks_.selection; }
  const SharedLayout& shared() const { return shared_; }
  const std::deque<AccessSite>& sites() const { return sites_; }
  const LaunchShape& shape() const { return shape_; }
  const GlobalMemory& memory() const { return memory_; }
  /// Returns null unless the launch is run in several orders.
  ExploredRun* explored() { return explored_; }
  /// Returns null if the order is that of launches that are not explored.
  Schedule* schedule() { return explored_ != nullptr ? explored_->schedule : nullptr; }

  AccessShadow& global() { return global_; }
  AsyncOperations& operations() { return operations_; }
  const AsyncOperations& operations() const { return operations_; }
  SyncVariables& sync_variables() { return sync_variables_; }

  /// Text of a finding, produced only for its first occurrence.
  struct Description {
    std::string where;   ///< "shared array 'tile' + 128"
    std::string detail;  ///< see Finding
    std::optional<CheckedAccess> other;
    std::string other_where;
    bool may_be_unused = false;  ///< likewise
    bool is_by_library = false;  ///< likewise
  };
  template <typename Describe>
  void add(FindingKind kind, const CheckedAccess& access, const AccessSite* other, const Describe& describe) {
    Finding*& found = known_[{kind, access.site, other}];
    if (found == nullptr) found = &findings_.emplace_back(make_finding(kind, access, describe()));
    ++found->count;
  }
  /// Adds a race with an asynchronous operation, or an unfinished operation. The two orders of two accesses
  /// form one finding: an unfinished operation, if one order is.
  template <typename Describe>
  void add_async(FindingKind kind, const CheckedAccess& access, const AccessSite* other,
                 const Describe& describe) {
    const bool is_race = kind == FindingKind::race;
    const auto known =
        known_.find({is_race ? FindingKind::unfinished_operation : FindingKind::race, other, access.site});
    if (known == known_.end()) return add(kind, access, other, describe);
    Finding& found = *known->second;
    if (!is_race && found.kind == FindingKind::race) {
      const std::uint64_t count = found.count;
      found = make_finding(kind, access, describe());
      found.count = count;
    }
    ++found.count;
  }
  /// Adds a finding that is not a memory access.
  Finding& add_finding(FindingKind kind, FindingPlace place, std::string detail);

  /// Records a skipped illegal access. Returns false if there are too many and the launch must end.
  bool note_fault(Failure failure);
  const std::optional<Failure>& first_failure() const { return failure_; }
  void finish();

 private:
  Finding make_finding(FindingKind kind, const CheckedAccess& access, Description description) const;
  FindingPlace describe_access(const CheckedAccess& access, const std::string& where) const;

  const SharedLayout& shared_;
  const std::deque<AccessSite>& sites_;
  const LaunchShape& shape_;
  const GlobalMemory& memory_;
  LaunchChecks& checks_;
  ExploredRun* const explored_;
  const FindStack find_stack_;
  AccessShadow global_;
  AsyncOperations operations_;
  SyncVariables sync_variables_;  // in global memory
  std::deque<Finding> findings_;
  std::map<std::tuple<FindingKind, const AccessSite*, const AccessSite*>, Finding*> known_;
  std::map<std::pair<FindingKind, std::uint32_t>, Finding*> findings_by_line_;  // by PTX line
  std::optional<Failure> failure_;
  std::uint64_t faults_ = 0;
};

}  // namespace lynxpp::device::cpu
