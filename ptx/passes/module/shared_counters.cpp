#include "ptx/passes/module/shared_counters.h"

#include <algorithm>

#include "ptx/passes/module/entry.h"
#include "ptx/passes/module/parameter_slots.h"
#include "ptx/passes/probes/routine.h"

namespace lynxpp::ptx {
namespace {

constexpr std::int64_t header = BlockCounters::header_bytes;
/// Bytes that a thread clears or reads at once. The header and the counters are aligned to it.
constexpr std::int64_t piece = 16;

class SharedCountersPass {
 public:
  SharedCountersPass(const Function& kernel, const BlockCounters& counters, EditList& edits)
      : kernel_(kernel), counters_(counters), edits_(edits), code_(edits.names(kernel)) {}

  void run() {
    add_clearing();
    edits_.insert_before(entry_position(kernel_), code_.take());
    for (const Instruction& instruction : kernel_.body->instructions) {
      if (instruction.traits.kind != OpcodeClass::exit) continue;
      add_flush(instruction);
      edits_.insert_before(instruction.text.begin, code_.take());
    }
  }

 private:
  VirtualRegister slot(std::uint32_t index) { return ParameterSlots().load(index, code_); }
  VirtualRegister low_slot(std::uint32_t index) { return code_.b32("cvt.u32.u64", {slot(index)}); }

  /// Returns the address of an array's counters.
  VirtualRegister begin_of(const BlockCounters::Array& array) {
    const VirtualRegister dynamic = code_.b32("mov.u32", {Name{variable_name(counters_.variable)}});
    return code_.b32("add.u32", {dynamic, low_slot(array.offset_slot)});
  }

  VirtualRegister threads() {
    const VirtualRegister row = code_.special("%ntid.x");
    const VirtualRegister plane = code_.b32("mul.lo.u32", {row, code_.special("%ntid.y")});
    return code_.b32("mul.lo.u32", {plane, code_.special("%ntid.z")});
  }

  VirtualRegister thread_in_block() {
    const VirtualRegister rows =
        code_.b32("mad.lo.u32", {code_.special("%tid.z"), code_.special("%ntid.y"), code_.special("%tid.y")});
    return code_.b32("mad.lo.u32", {rows, code_.special("%ntid.x"), code_.special("%tid.x")});
  }

  /// Returns the size of one array's counters, a multiple of 16.
  VirtualRegister bytes_of_array() {
    const VirtualRegister bytes =
        code_.b32("mul.lo.u32", {low_slot(counters_.extent_slot), counters_.bits / 8});
    const VirtualRegister padded = code_.b32("add.u32", {bytes, 15});
    return code_.b32("and.b32", {padded, 0xfffffff0u});
  }

  void add_clearing() {
    const VirtualRegister first = begin_of(counters_.arrays.front());
    const VirtualRegister begin = code_.b32("sub.u32", {first, header});
    const VirtualRegister bytes =
        code_.b32("mad.lo.u32", {bytes_of_array(), counters_.arrays.size(), header});
    const VirtualRegister end = code_.b32("add.u32", {begin, bytes});
    const VirtualRegister at = code_.b32("mad.lo.u32", {thread_in_block(), piece, begin});
    const VirtualRegister step = code_.b32("mul.lo.u32", {threads(), piece});
    const Label next = code_.fresh_label();
    const Label done = code_.fresh_label();
    code_.place(next);
    code_.branch_if(CodePredicate(code_.pred("setp.ge.u32", {at, end})), done);
    code_.emit("st.shared.v4.b32", {CodeAddress{at, 0}, CodeList{CodeList::Kind::vector, {0, 0, 0, 0}}});
    code_.emit("add.u32", {at, at, step});
    code_.branch(next);
    code_.place(done);
    code_.emit("bar.sync", {0});
  }

  void add_flush(const Instruction& exit) {
    const Label stays = code_.fresh_label();
    if (const std::optional<CodePredicate> guard = predicate_of(exit.guard)) code_.branch_if(!*guard, stays);
    const VirtualRegister first = begin_of(counters_.arrays.front());
    const VirtualRegister mask = code_.active_mask();
    const VirtualRegister here = code_.b32("popc.b32", {mask});
    const VirtualRegister rank = code_.b32("popc.b32", {code_.lanes_below(mask)});
    // Orders this thread's counts before its exit becomes visible.
    code_.emit("membar.cta", {});
    const VirtualRegister left = code_.b32("mov.b32", {0});
    const VirtualRegister leads = code_.pred("setp.eq.u32", {rank, 0});
    code_.emit_if(CodePredicate(leads), "atom.shared.add.u32", {left, CodeAddress{first, -header}, here});
    // The other lanes hold 0.
    const VirtualRegister reversed = code_.b32("brev.b32", {mask});
    const VirtualRegister leader = code_.b32("clz.b32", {reversed});
    const VirtualRegister before = code_.b32("shfl.sync.idx.b32", {left, leader, 31, mask});
    const VirtualRegister all = code_.b32("add.u32", {before, here});
    code_.branch_if(CodePredicate(code_.pred("setp.ne.u32", {all, threads()})), stays);
    code_.emit("membar.cta", {});
    for (const BlockCounters::Array& array : counters_.arrays) add_array(array, rank, here);
    code_.place(stays);
  }

  /// Distributes the counters over the active lanes, one piece per turn.
  void add_array(const BlockCounters::Array& array, VirtualRegister rank, VirtualRegister lanes) {
    const bool in_pieces = counters_.bits == 32;
    const std::uint32_t bytes = in_pieces ? piece : counters_.bits / 8;
    const std::uint32_t together = bytes * 8 / counters_.bits;
    const std::uint32_t array_bytes = (array.is_wide ? 8 : 4) * together;
    const VirtualRegister words = low_slot(counters_.extent_slot);
    const VirtualRegister counter = code_.b32("mad.lo.u32", {rank, bytes, begin_of(array)});
    const VirtualRegister element = code_.b64("mad.wide.u32", {rank, array_bytes, slot(array.array_slot)});
    const VirtualRegister counter_step = code_.b32("mul.lo.u32", {lanes, bytes});
    const VirtualRegister element_step = code_.b64("mul.wide.u32", {lanes, array_bytes});
    const VirtualRegister at = code_.b32("mul.lo.u32", {rank, together});
    const VirtualRegister step = code_.b32("mul.lo.u32", {lanes, together});
    const Label next = code_.fresh_label();
    const Label skip = code_.fresh_label();
    const Label done = code_.fresh_label();
    code_.place(next);
    code_.branch_if(CodePredicate(code_.pred("setp.ge.u32", {at, words})), done);
    std::vector<VirtualRegister> counts;
    for (std::uint32_t i = 0; i < together; ++i) counts.push_back(code_.fresh(RegisterType::b32));
    if (in_pieces) {
      code_.emit("ld.shared.v4.u32",
                 {CodeList{CodeList::Kind::vector, {counts.begin(), counts.end()}}, CodeAddress{counter, 0}});
    } else {
      code_.emit("ld.shared.u" + std::to_string(counters_.bits), {counts[0], CodeAddress{counter, 0}});
    }
    VirtualRegister any = counts[0];
    for (std::uint32_t i = 1; i < together; ++i) any = code_.b32("or.b32", {any, counts[i]});
    code_.branch_if(CodePredicate(code_.pred("setp.eq.u32", {any, 0})), skip);
    // If the last piece extends past the array, 0 is added to the padding before the next array.
    for (std::uint32_t i = 0; i < together; ++i) {
      const VirtualRegister count = array.is_wide ? code_.b64("cvt.u64.u32", {counts[i]}) : counts[i];
      code_.emit(array.is_wide ? "red.global.add.u64" : "red.global.add.u32",
                 {CodeAddress{element, std::int64_t{array.is_wide ? 8 : 4} * i}, count});
    }
    code_.place(skip);
    code_.emit("add.u32", {at, at, step});
    code_.emit("add.u32", {counter, counter, counter_step});
    code_.emit("add.u64", {element, element, element_step});
    code_.branch(next);
    code_.place(done);
  }

  const Function& kernel_;
  const BlockCounters& counters_;
  EditList& edits_;
  CodeBuilder code_;
};

}  // namespace

void add_shared_counters(const FunctionUnit& kernel, const BlockCounters& counters, EditList& edits) {
  if (!counters.arrays.empty()) SharedCountersPass(*kernel.function, counters, edits).run();
}

std::string obstacle_to_shared_counters(const ReachedFunctions& reached) {
  const FunctionUnit& kernel = reached.kernel();
  const auto falls_off = [&](const BasicBlock& block) { return kernel.falls_off_after(block); };
  if (std::ranges::any_of(kernel.graph().blocks, falls_off)) return "the kernel's code ends without a return";
  for (const FunctionUnit& function : reached.functions) {
    for (const Instruction& instruction : function.function->body->instructions) {
      if (&function != &kernel && instruction.traits.is_thread_exit())
        return "a function that it calls exits the thread";
      for (const Operand& operand : instruction.operands) {
        if (operand.name == "%dynamic_smem_size" || operand.name == "%total_smem_size")
          return "the kernel reads the size of its shared memory";
      }
    }
  }
  return reached.calls_indirectly ? "it calls functions through pointers" : "";
}

}  // namespace lynxpp::ptx
