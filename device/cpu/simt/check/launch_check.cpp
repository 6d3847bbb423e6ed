#include "device/cpu/simt/check/launch_check.h"

#include <algorithm>
#include <iterator>

#include "device/cpu/simt/execute/faults.h"

namespace lynxpp::device::cpu {
namespace {

/// Most illegal accesses per launch: a loop that never reads its end condition would run forever.
constexpr std::uint64_t most_faults = 1'000'000;

FindingPlace describe_access(const CheckedAccess& access, const std::string& where) {
  FindingPlace place;
  std::copy(std::begin(access.block), std::end(access.block), place.block);
  std::copy(std::begin(access.thread), std::end(access.thread), place.thread);
  if (access.site == nullptr) {
    place.action = "an access to " + where;
    return place;
  }
  const AccessSite& site = *access.site;
  place.action = site.bytes != 0 ? name_of_access(site) + " " + where : std::string(site.opcode);
  place.function = site.function;
  place.opcode = site.opcode;
  place.line = site.line;
  place.source_file = site.source_file;
  place.source_line = site.source_line;
  return place;
}

}  // namespace

std::string_view name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds: return "out of bounds";
    case FindingKind::use_after_free: return "use after free";
    case FindingKind::misaligned: return "misaligned";
    case FindingKind::wrong_space: return "wrong space";
    case FindingKind::invalid_tensor: return "invalid tensor";
    case FindingKind::race: return "race";
    case FindingKind::uninitialized_read: return "uninitialized read";
    case FindingKind::divergent_barrier: return "divergent barrier";
    case FindingKind::endless_barrier: return "endless barrier";
    case FindingKind::skipped_barrier: return "skipped barrier";
    case FindingKind::wrong_members: return "wrong members";
  }
  return "";
}

std::string_view check_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds:
    case FindingKind::use_after_free:
    case FindingKind::misaligned:
    case FindingKind::wrong_space:
    case FindingKind::invalid_tensor: return "memory";
    case FindingKind::race: return "race";
    case FindingKind::uninitialized_read: return "init";
    case FindingKind::divergent_barrier:
    case FindingKind::endless_barrier:
    case FindingKind::skipped_barrier:
    case FindingKind::wrong_members: return "sync";
  }
  return "";
}

Finding& LaunchCheck::enter(FindingKind kind, const CheckedAccess& access, Description description) {
  Finding& made = findings_.emplace_back();
  made.kind = kind;
  made.place = describe_access(access, description.where);
  if (description.other) made.other = describe_access(*description.other, description.other_where);
  made.detail = std::move(description.detail);
  return made;
}

Finding& LaunchCheck::add_finding(FindingKind kind, FindingPlace place, std::string detail) {
  Finding*& found = findings_by_line_[{kind, place.line}];
  if (found == nullptr) {
    found = &findings_.emplace_back();
    found->kind = kind;
    found->place = std::move(place);
    found->detail = std::move(detail);
  }
  ++found->count;
  return *found;
}

bool LaunchCheck::note_fault(Failure failure) {
  if (!failure_) failure_ = std::move(failure);
  return ++faults_ < most_faults;
}

void LaunchCheck::finish() {
  checks_.findings.insert(checks_.findings.end(), std::make_move_iterator(findings_.begin()),
                          std::make_move_iterator(findings_.end()));
  findings_.clear();
  known_.clear();
  findings_by_line_.clear();
}

}  // namespace lynxpp::device::cpu
