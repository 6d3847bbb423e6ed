// Counts the lanes that execute the operations of each class, and those of the warps that issue them: the
// rest of the lanes are idle because of divergence. In registers of the lowest active lane; guards of
// instructions are ignored.
//
//   $L__BB0_2:   ▶   $L__BB0_2:
//                    activemask.b32 mask;  popc.b32 lanes, mask;  …
//                    @leads mad.wide.u32 executed, lanes, 3, executed;   // fp32 instructions of the block
//                    @leads add.u64 issued, issued, 96;
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t lanes_of_warp = 32;

struct Counters {
  VirtualRegister executed, issued;
};

/// Returns the number of instructions of each class in the block.
std::map<Operation, std::uint32_t> instructions_of(const Additions& to, const BasicBlock& block) {
  static const std::vector<std::pair<Operation, std::shared_ptr<OperationCode>>> classes = [] {
    std::vector<std::pair<Operation, std::shared_ptr<OperationCode>>> all;
    for (const OperationDescription& each : operation_table()) {
      const bool has_own_sites = each.operation != Operation::fetch && each.operation != Operation::reuse &&
                                 each.operation != Operation::arithmetic;
      if (is_class(each.operation) && has_own_sites)
        all.emplace_back(each.operation, code_of({each.operation, Form::again, {}}));
    }
    return all;
  }();
  std::map<Operation, std::uint32_t> counts;
  for (std::uint32_t i = block.begin; i < block.end; ++i) {
    ++counts[Operation::fetch];
    for (const auto& [operation, code] : classes) {
      if (code->selects(to.kernel(), to.at(i))) ++counts[operation];
    }
  }
  return counts;
}

}  // namespace

void count_lanes(Additions& to) {
  std::map<Operation, Counters> counters;
  for (const BasicBlock& block : to.kernel().graph().blocks) {
    if (block.begin == block.end) continue;
    to.begin(block.begin);
    const VirtualRegister mask = to.code().active_mask();
    const VirtualRegister lanes = to.code().b32("popc.b32", {mask});
    const CodePredicate leads(to.code().elect_leader(mask));
    for (const auto& [operation, count] : instructions_of(to, block)) {
      const auto [known, is_new] = counters.try_emplace(operation);
      Counters& of_class = known->second;
      if (is_new) of_class = {to.entry().b64("mov.u64", {0}), to.entry().b64("mov.u64", {0})};
      to.code().emit_if(leads, "mad.wide.u32", {of_class.executed, lanes, count, of_class.executed});
      to.code().emit_if(leads, "add.u64", {of_class.issued, of_class.issued, lanes_of_warp * count});
    }
    to.insert();
  }
  for (const auto& [operation, of_class] : counters) {
    const std::uint32_t word = 2 * static_cast<std::uint32_t>(operation);
    to.add_to_result(word, of_class.executed);
    to.add_to_result(word + 1, of_class.issued);
    if (operation == Operation::fetch) to.select_results(of_class.issued);
  }
}

}  // namespace lynxpp::ptx
