#include "device/cpu/simt/check/launch_check.h"

#include <algorithm>
#include <iterator>

#include "device/cpu/simt/execute/faults.h"

namespace lynxpp::device::cpu {
namespace {

/// Most illegal accesses per launch: a loop that never reads its end condition would run forever.
constexpr std::uint64_t most_faults = 1'000'000;

std::string_view name_of_async(std::string_view opcode) {
  if (opcode.starts_with("cp.reduce") || opcode.starts_with("red")) return "an asynchronous reduction";
  if (opcode.starts_with("st") || opcode.starts_with("tcgen05.st")) return "an asynchronous store";
  if (opcode.starts_with("tcgen05.ld")) return "an asynchronous load";
  return opcode.starts_with("cp") || opcode.starts_with("tcgen05.cp") ? "an asynchronous copy"
                                                                      : "an asynchronous operation";
}

FindingPlace describe_access(const CheckedAccess& access, const std::string& where) {
  FindingPlace place;
  std::copy(std::begin(access.block), std::end(access.block), place.block);
  std::copy(std::begin(access.thread), std::end(access.thread), place.thread);
  if (access.site == nullptr) {
    place.action = "an access to " + where;
    return place;
  }
  const AccessSite& site = *access.site;
  if (access.is_async) {
    const bool is_product = site.opcode.starts_with("wgmma") || site.opcode.starts_with("tcgen05.mma");
    place.action =
        is_product ? "an asynchronous matrix product with an operand in " + where
                   : std::string(name_of_async(site.opcode)) + (access.writes ? " to " : " from ") + where;
  } else if (site.bytes != 0 && !where.empty()) {
    place.action = name_of_access(site) + " " + where;
  } else {
    place.action = site.opcode;
  }
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
    case FindingKind::unfinished_operation: return "unfinished operation";
    case FindingKind::missing_proxy_fence: return "missing proxy fence";
    case FindingKind::uninitialized_read: return "uninitialized read";
    case FindingKind::divergent_barrier: return "divergent barrier";
    case FindingKind::endless_barrier: return "endless barrier";
    case FindingKind::skipped_barrier: return "skipped barrier";
    case FindingKind::wrong_members: return "wrong members";
    case FindingKind::copies_in_flight: return "copies in flight";
    case FindingKind::byte_count_mismatch: return "byte count mismatch";
    case FindingKind::barrier_in_use: return "barrier in use";
    case FindingKind::invalid_barrier: return "invalid barrier";
    case FindingKind::unreleased_memory: return "unreleased memory";
    case FindingKind::failing_order: return "failing order";
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
    case FindingKind::race:
    case FindingKind::unfinished_operation:
    case FindingKind::missing_proxy_fence: return "race";
    case FindingKind::uninitialized_read: return "init";
    case FindingKind::divergent_barrier:
    case FindingKind::endless_barrier:
    case FindingKind::skipped_barrier:
    case FindingKind::wrong_members:
    case FindingKind::copies_in_flight:
    case FindingKind::byte_count_mismatch:
    case FindingKind::barrier_in_use:
    case FindingKind::invalid_barrier:
    case FindingKind::unreleased_memory:
    case FindingKind::failing_order: return "sync";
  }
  return "";
}

Finding LaunchCheck::make_finding(FindingKind kind, const CheckedAccess& access, Description description) {
  Finding made;
  made.kind = kind;
  made.place = describe_access(access, description.where);
  if (description.other) made.other = describe_access(*description.other, description.other_where);
  made.detail = std::move(description.detail);
  made.is_in_shared = description.is_in_shared;
  made.is_by_library = description.is_by_library;
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
