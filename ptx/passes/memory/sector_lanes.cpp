#include "ptx/passes/memory/sector_lanes.h"

#include "ptx/analysis/values/cohorts.h"
#include "ptx/ir/memory_access.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t most_open = 12;

VirtualRegister upper_half(VirtualRegister wide, CodeBuilder& code) {
  const VirtualRegister shifted = code.b64("shr.u64", {wide, 32});
  return code.b32("cvt.u32.u64", {shifted});
}

/// Emits the sector's number, modulo 2^32.
void add_sector(VirtualRegister sector, const CodeOperand& address, CodeBuilder& code) {
  const VirtualRegister shifted = code.b64("shr.u64", {address, 5});
  code.emit("cvt.u32.u64", {sector, shifted});
}

VirtualRegister holds_for_all(VirtualRegister predicate, VirtualRegister mask, CodeBuilder& code) {
  return code.pred("vote.sync.all.pred", {predicate, mask});
}

}  // namespace

SectorLanes::SectorLanes(InstrumentationUnit& unit, const FunctionUnit& function)
    : unit_(unit), function_(function), body_(*function.function->body), analyses_(*function.analyses) {}

VirtualRegister SectorLanes::first() {
  if (!first_) first_ = unit_.edits.names(*function_.function).fresh(RegisterType::pred);
  return *first_;
}

bool SectorLanes::is_near(std::uint32_t instruction) const {
  const MemoryAccesses accesses = memory_accesses(body_.instructions[instruction]);
  return analyses_.lane_patterns().is_near(instruction, *accesses.access[0].address);
}

void SectorLanes::add_access(std::uint32_t instruction, const CodeOperand& address, Code increments,
                             CodeBuilder& code) {
  if (!open_.empty() && open_.back().instruction == instruction)
    return open_.back().increments.append(std::move(increments));
  if (open_.size() == most_open) add_comparisons(code);
  Access& access = open_.emplace_back(Access{instruction, std::move(increments)});
  if (is_near(instruction)) {
    access.sector = code.fresh(RegisterType::b32);
    add_sector(*access.sector, address, code);
  } else {
    access.address = code.b64("mov.b64", {address});
  }
}

void SectorLanes::add_before(const Instruction& instruction, CodeBuilder& code) {
  if (may_join_lanes(instruction)) add_comparisons(code);
}

void SectorLanes::add_after(std::uint32_t instruction, CodeBuilder& code) {
  if (instruction == last_) add_comparisons(code);
}

void SectorLanes::add_comparisons(CodeBuilder& code) {
  if (open_.empty()) return;
  Lanes lanes = find_lanes(code);
  for (const Access& access : open_) {
    add_comparison(access, lanes, code);
    code.append(access.increments);
    // A mask is stale where lanes may have joined.
    if (access.increments.has_label()) lanes = find_lanes(code);
  }
  open_.clear();
}

void SectorLanes::add_comparison(const Access& access, Lanes& lanes, CodeBuilder& code) {
  const bool is_near = access.sector.has_value();
  const VirtualRegister sector = is_near ? *access.sector : code.fresh(RegisterType::b32);
  if (!is_near) {
    high_of(*access.address, lanes, code);
    add_sector(sector, *access.address, code);
  }
  const Label known = code.fresh_label();
  const VirtualRegister lower = code.b32("shfl.sync.idx.b32", {sector, lanes.next, 31, lanes.mask});
  code.emit("setp.ne.or.u32", {first(), sector, lower, lanes.lowest});
  VirtualRegister ascends = code.pred("setp.ge.u32", {sector, lower});
  if (!is_near) {
    const VirtualRegister high = upper_half(*access.address, code);
    ascends = code.pred("setp.eq.and.u32", {high, *lanes.high, ascends});
  }
  code.branch_if(CodePredicate(holds_for_all(ascends, lanes.mask, code)), known);
  if (!is_near) add_far_match(*access.address, lanes, known, code);
  add_any_order(sector, lanes, known, code);
  code.place(known);
}

/// Handles lanes whose upper address halves differ.
void SectorLanes::add_far_match(VirtualRegister address, const Lanes& lanes, Label known, CodeBuilder& code) {
  const Label near = code.fresh_label();
  const VirtualRegister high = upper_half(address, code);
  const VirtualRegister is_near = code.pred("setp.eq.u32", {high, *lanes.high});
  code.branch_if(CodePredicate(holds_for_all(is_near, lanes.mask, code)), near);
  const VirtualRegister sector = code.b64("shr.u64", {address, 5});
  const VirtualRegister same = code.b32("match.any.sync.b64", {sector, lanes.mask});
  code.elect_leader_into(first(), same);
  code.branch(known);
  code.place(near);
}

/// Represents sectors within 32 of the lowest one as bits of a word, one per lane: a reduction takes as long
/// as match.any for one value, and 64-bit match.any takes twice as long
/// (docs/measurements/sector-and-bank-rules.md).
void SectorLanes::add_any_order(VirtualRegister sector, const Lanes& lanes, Label known, CodeBuilder& code) {
  if (unit_.variant.target.sm >= 80) {
    const Label far = code.fresh_label();
    const VirtualRegister least = code.b32("redux.sync.min.u32", {sector, lanes.mask});
    const VirtualRegister distance = code.b32("sub.u32", {sector, least});
    const VirtualRegister fits = code.pred("setp.lt.u32", {distance, 32});
    code.branch_if(!CodePredicate(holds_for_all(fits, lanes.mask, code)), far);
    const VirtualRegister one = code.b32("mov.b32", {1});
    const VirtualRegister bit = code.b32("shl.b32", {one, distance});
    const VirtualRegister bits = code.b32("redux.sync.or.b32", {bit, lanes.mask});
    const VirtualRegister sectors = code.b32("popc.b32", {bits});
    const VirtualRegister position = code.b32("popc.b32", {code.lanes_below(lanes.mask)});
    code.emit("setp.lt.u32", {first(), position, sectors});
    code.branch(known);
    code.place(far);
  }
  const VirtualRegister same = code.b32("match.any.sync.b32", {sector, lanes.mask});
  code.elect_leader_into(first(), same);
}

// ---------------------------------------------------------------- ascending lanes

VirtualRegister SectorLanes::first_of_steps(CodeOperand address, std::int64_t step, CodeBuilder& code) {
  const VirtualRegister below = code.lanes_below(code.active_mask());
  const VirtualRegister is_lowest = code.pred("setp.eq.u32", {below, 0});
  const VirtualRegister next = code.b32("bfind.u32", {below});
  const VirtualRegister lanes = code.b32("sub.u32", {code.special("%laneid"), next});
  const VirtualRegister distance = code.b32("mul.lo.u32", {lanes, step});
  const VirtualRegister low = code.b32("cvt.u32.u64", {address});
  const VirtualRegister in_sector = code.b32("and.b32", {low, 31});
  return code.pred("setp.lt.or.u32", {in_sector, distance, is_lowest});
}

SectorLanes::Lanes SectorLanes::find_lanes(CodeBuilder& code) {
  const VirtualRegister mask = code.active_mask();
  const VirtualRegister lower = code.lanes_below(mask);
  const VirtualRegister lowest = code.pred("setp.eq.u32", {lower, 0});
  const VirtualRegister next = code.b32("bfind.u32", {lower});
  const VirtualRegister lane = code.special("%laneid");
  return {mask, lowest, code.b32("selp.b32", {lane, next, lowest})};
}

/// If all lanes have the same upper address half, the lower halves distinguish addresses.
VirtualRegister SectorLanes::high_of(VirtualRegister address, Lanes& lanes, CodeBuilder& code) {
  if (!lanes.high) {
    const VirtualRegister high = upper_half(address, code);
    const VirtualRegister highest = code.b32("bfind.u32", {lanes.mask});
    lanes.high = code.b32("shfl.sync.idx.b32", {high, highest, 31, lanes.mask});
  }
  return *lanes.high;
}

/// Computes the distance to the next lower address, limited to the sector size.
void SectorLanes::add_threshold_where_ascending(VirtualRegister address, VirtualRegister threshold,
                                                Label known, CodeBuilder& code) {
  Lanes lanes = find_lanes(code);
  const VirtualRegister common_high = high_of(address, lanes, code);
  const VirtualRegister low = code.b32("cvt.u32.u64", {address});
  const VirtualRegister lower = code.b32("shfl.sync.idx.b32", {low, lanes.next, 31, lanes.mask});
  code.emit("sub.u32", {threshold, low, lower});
  code.emit("min.u32", {threshold, threshold, 32});
  code.emit("selp.b32", {threshold, 32, threshold, lanes.lowest});
  const VirtualRegister ascends = code.pred("setp.ge.u32", {low, lower});
  const VirtualRegister high = upper_half(address, code);
  const VirtualRegister is_known = code.pred("setp.eq.and.u32", {high, common_high, ascends});
  code.branch_if(CodePredicate(holds_for_all(is_known, lanes.mask, code)), known);
}

}  // namespace lynxpp::ptx
