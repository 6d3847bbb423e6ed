// Marks the bytes of global memory that the kernel accesses, a bit for each, in two maps of the same size:
// one of bytes that it reads, one of bytes that it writes. Addresses are taken modulo 8 times the size, so
// that bytes far apart may share a bit.
//
//   ld.global.v2.f32 {%f1, %f2}, [%rd4];   ▶   byte = %rd4 / 32 * 4 & mask;  bits = 0xff << %rd4 % 32;
//                                              ld.global.b32 known, [map+byte];
//                                              @(known misses bits) red.global.or.b32 [map+byte], bits;
//                                              ld.global.v2.f32 {%f1, %f2}, [%rd4];
// Asynchronous, bulk and generic accesses are left out.
#include <algorithm>
#include <utility>

#include "ptx/ir/memory_access.h"
#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t bits_of_word = 32;

/// Returns false, and builds nothing of use, without an address.
bool mark(Additions& to, const MemoryAccess& access) {
  const std::optional<VirtualRegister> low = to.low_address(*access.address);
  if (!low) return false;
  CodeBuilder& code = to.code();
  const std::uint32_t ones =
      access.bytes >= bits_of_word ? ~std::uint32_t{0} : (std::uint32_t{1} << access.bytes) - 1;
  const VirtualRegister shift = code.b32("and.b32", {*low, bits_of_word - 1});
  const VirtualRegister bits = code.b32("shl.b32", {code.b32("mov.b32", {ones}), shift});
  const VirtualRegister mask = to.word(HiddenSlot::Kind::map_mask);
  const VirtualRegister inside = code.b32("and.b32", {code.b32("shr.u32", {*low, 3}), mask});
  for (const bool is_written : {false, true}) {
    if (!(is_written ? access.writes : access.reads)) continue;
    // The mask is the size of a map less 4.
    const VirtualRegister offset =
        is_written ? code.b32("add.u32", {code.b32("add.u32", {inside, mask}), 4}) : inside;
    const VirtualRegister address =
        code.b64("add.u64", {to.long_word(HiddenSlot::Kind::results), code.b64("cvt.u64.u32", {offset})});
    const VirtualRegister known = code.b32("mov.b32", {bits});
    code.emit_if(to.guard(), "ld.global.b32", {known, CodeAddress{address, 0}});
    const VirtualRegister missing = code.pred("setp.ne.u32", {code.b32("and.b32", {known, bits}), bits});
    code.emit_if(CodePredicate(missing), "red.global.or.b32", {CodeAddress{address, 0}, bits});
  }
  return true;
}

}  // namespace

void mark_bytes(Additions& to, std::vector<PerturbedSite>& sites) {
  for (std::uint32_t i = 0; i < to.body().instructions.size(); ++i) {
    const MemoryAccesses accesses = memory_accesses(to.at(i));
    const auto is_global = [](const MemoryAccess& each) { return each.space == StateSpace::global; };
    if (std::ranges::none_of(accesses, is_global)) continue;
    to.begin(i);
    Outcome outcome;
    for (const MemoryAccess& each : accesses) {
      if (!is_global(each) || !outcome.is_perturbed) continue;
      const bool is_plain =
          each.follows_from_lanes() && !each.selects_lanes() && each.bytes != 0 && each.bytes <= bits_of_word;
      if (!is_plain || !mark(to, each)) outcome = left_out("its bytes do not follow from an address");
    }
    outcome.is_perturbed ? to.insert() : to.discard();
    sites.push_back(describe(to.module(), to.at(i), std::move(outcome)));
  }
}

}  // namespace lynxpp::ptx
