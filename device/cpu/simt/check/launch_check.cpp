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

/// Returns "a store of 4 bytes to WHERE", or the opcode of an operation that accesses no memory.
std::string action_of(const CheckedAccess& access, const std::string& where) {
  const AccessSite& site = *access.site;
  if (access.is_async) {
    const bool is_product = site.opcode.starts_with("wgmma") || site.opcode.starts_with("tcgen05.mma");
    if (is_product) return "an asynchronous matrix product with an operand in " + where;
    return std::string(name_of_async(site.opcode)) + (access.writes ? " to " : " from ") + where;
  }
  if (site.bytes != 0 && !where.empty()) return name_of_access(site) + " " + where;
  return std::string(site.opcode);
}

}  // namespace

FindingPlace LaunchCheck::describe_access(const CheckedAccess& access, const std::string& where) const {
  FindingPlace place;
  std::copy(std::begin(access.block), std::end(access.block), place.block);
  std::copy(std::begin(access.thread), std::end(access.thread), place.thread);
  if (access.site == nullptr) {
    place.action = "an access to " + where;
    return place;
  }
  const AccessSite& site = *access.site;
  place.action = action_of(access, where);
  place.function = site.function;
  place.opcode = site.opcode;
  place.line = site.line;
  place.source_file = site.source_file;
  place.source_line = site.source_line;
  place.stack = find_stack_(site, access.by);
  return place;
}

Finding LaunchCheck::make_finding(FindingKind kind, const CheckedAccess& access,
                                  Description description) const {
  Finding made;
  made.kind = kind;
  made.place = describe_access(access, description.where);
  if (description.other) made.other = describe_access(*description.other, description.other_where);
  made.detail = std::move(description.detail);
  made.may_be_unused = description.may_be_unused;
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
