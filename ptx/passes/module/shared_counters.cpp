#include "ptx/passes/module/shared_counters.h"

#include <algorithm>

#include "ptx/passes/module/entry.h"
#include "ptx/passes/probes/routine.h"

namespace lynxpp::ptx {
namespace {

constexpr std::int64_t header = BlockCounters::header_bytes;
/// What a thread clears or reads at once. Header and counters begin and end at multiples of it.
constexpr std::int64_t piece = 16;

class SharedCountersPass {
 public:
  Status run(InstrumentationUnit& unit) {
    if (unit.words.block.arrays.empty()) return success();
    const FunctionUnit& kernel = unit.reached.kernel();
    CodeBuilder code(unit.edits.names(*kernel.function));
    add_clearing(unit, code);
    unit.edits.insert_before(entry_position(*kernel.function), code.take());
    for (const Instruction& instruction : kernel.function->body->instructions) {
      if (instruction.traits.kind != OpcodeClass::exit) continue;
      add_flush(unit, instruction, code);
      unit.edits.insert_before(instruction.text.begin, code.take());
    }
    return success();
  }

 private:
  static VirtualRegister word(std::uint32_t index, CodeBuilder& code) {
    return HiddenWords().load(index, code);
  }

  static VirtualRegister low(VirtualRegister wide, CodeBuilder& code) {
    return code.b32("cvt.u32.u64", {wide});
  }

  /// Where an array's counters begin.
  static VirtualRegister begin_of(const InstrumentationUnit& unit, const BlockCounters::Array& array,
                                  CodeBuilder& code) {
    const VirtualRegister dynamic = code.b32("mov.u32", {Name{variable_name(unit.words.block.variable)}});
    return code.b32("add.u32", {dynamic, low(word(array.offset_word, code), code)});
  }

  static VirtualRegister product_of(const char* const (&names)[3], CodeBuilder& code) {
    VirtualRegister product = code.special(names[0]);
    for (const char* name : {names[1], names[2]})
      product = code.b32("mul.lo.u32", {product, code.special(name)});
    return product;
  }

  static VirtualRegister threads(CodeBuilder& code) {
    return product_of({"%ntid.x", "%ntid.y", "%ntid.z"}, code);
  }

  static VirtualRegister thread_in_block(CodeBuilder& code) {
    const VirtualRegister rows =
        code.b32("mad.lo.u32", {code.special("%tid.z"), code.special("%ntid.y"), code.special("%tid.y")});
    return code.b32("mad.lo.u32", {rows, code.special("%ntid.x"), code.special("%tid.x")});
  }

  /// Bytes of one array's counters, a multiple of 16.
  static CodeOperand bytes_of(const InstrumentationUnit& unit, CodeBuilder& code) {
    if (!unit.words.block.window.empty()) return unit.words.block.window_bytes;
    const VirtualRegister words = low(word(unit.words.block.extent_word, code), code);
    const VirtualRegister bytes = code.b32("mul.lo.u32", {words, unit.words.block.bits / 8});
    const VirtualRegister padded = code.b32("add.u32", {bytes, 15});
    return code.b32("and.b32", {padded, 0xfffffff0u});
  }

  static void add_clearing(const InstrumentationUnit& unit, CodeBuilder& code) {
    const VirtualRegister first = begin_of(unit, unit.words.block.arrays.front(), code);
    const VirtualRegister begin = code.b32("sub.u32", {first, header});
    const VirtualRegister bytes =
        code.b32("mad.lo.u32", {bytes_of(unit, code), unit.words.block.arrays.size(), header});
    const VirtualRegister end = code.b32("add.u32", {begin, bytes});
    const VirtualRegister at = code.b32("mad.lo.u32", {thread_in_block(code), piece, begin});
    const VirtualRegister step = code.b32("mul.lo.u32", {threads(code), piece});
    const Label next = code.fresh_label();
    const Label done = code.fresh_label();
    code.place(next);
    code.branch_if(CodePredicate(code.pred("setp.ge.u32", {at, end})), done);
    code.emit("st.shared.v4.b32", {CodeAddress{at, 0}, CodeList{CodeList::Kind::vector, {0, 0, 0, 0}}});
    code.emit("add.u32", {at, at, step});
    code.branch(next);
    code.place(done);
    code.emit("bar.sync", {0});
  }

  static void add_flush(const InstrumentationUnit& unit, const Instruction& exit, CodeBuilder& code) {
    const Label stays = code.fresh_label();
    if (const std::optional<CodePredicate> guard = predicate_of(exit.guard)) code.branch_if(!*guard, stays);
    const VirtualRegister first = begin_of(unit, unit.words.block.arrays.front(), code);
    const VirtualRegister mask = code.active_mask();
    const VirtualRegister here = code.b32("popc.b32", {mask});
    const VirtualRegister rank = code.b32("popc.b32", {code.lanes_below(mask)});
    // What this thread has counted is there before it is known to have exited.
    code.emit("membar.cta", {});
    const VirtualRegister left = code.b32("mov.b32", {0});
    const VirtualRegister leads = code.pred("setp.eq.u32", {rank, 0});
    code.emit_if(CodePredicate(leads), "atom.shared.add.u32", {left, CodeAddress{first, -header}, here});
    // Of the other lanes none has more than 0.
    const VirtualRegister reversed = code.b32("brev.b32", {mask});
    const VirtualRegister leader = code.b32("clz.b32", {reversed});
    const VirtualRegister before = code.b32("shfl.sync.idx.b32", {left, leader, 31, mask});
    const VirtualRegister all = code.b32("add.u32", {before, here});
    code.branch_if(CodePredicate(code.pred("setp.ne.u32", {all, threads(code)})), stays);
    code.emit("membar.cta", {});
    for (const BlockCounters::Array& array : unit.words.block.arrays)
      add_array(unit, array, rank, here, code);
    code.place(stays);
  }

  /// The lanes that are here take the counters in turns, as many as are in a piece.
  static void add_array(const InstrumentationUnit& unit, const BlockCounters::Array& array,
                        VirtualRegister rank, VirtualRegister lanes, CodeBuilder& code) {
    const bool in_pieces = unit.words.block.bits == 32;
    const std::uint32_t bytes = in_pieces ? piece : unit.words.block.bits / 8;
    const std::uint32_t counters = bytes * 8 / unit.words.block.bits;
    const std::uint32_t array_bytes = (array.is_wide ? 8 : 4) * counters;
    const bool has_window = !unit.words.block.window.empty();
    const VirtualRegister words = has_window ? code.b32("mov.u32", {unit.words.block.window_bytes / 4})
                                             : low(word(unit.words.block.extent_word, code), code);
    const VirtualRegister counter = code.b32("mad.lo.u32", {rank, bytes, begin_of(unit, array, code)});
    VirtualRegister elements = word(array.array_word, code);
    if (has_window)
      elements = code.b64("mad.wide.u32",
                          {begin_of_window(unit.words.block, code), array.is_wide ? 2 : 1, elements});
    const VirtualRegister element = code.b64("mad.wide.u32", {rank, array_bytes, elements});
    const VirtualRegister counter_step = code.b32("mul.lo.u32", {lanes, bytes});
    const VirtualRegister element_step = code.b64("mul.wide.u32", {lanes, array_bytes});
    const VirtualRegister at = code.b32("mul.lo.u32", {rank, counters});
    const VirtualRegister step = code.b32("mul.lo.u32", {lanes, counters});
    const Label next = code.fresh_label();
    const Label skip = code.fresh_label();
    const Label done = code.fresh_label();
    code.place(next);
    code.branch_if(CodePredicate(code.pred("setp.ge.u32", {at, words})), done);
    std::vector<VirtualRegister> counts;
    for (std::uint32_t i = 0; i < counters; ++i) counts.push_back(code.fresh(RegisterType::b32));
    if (in_pieces) {
      code.emit("ld.shared.v4.u32",
                {CodeList{CodeList::Kind::vector, {counts.begin(), counts.end()}}, CodeAddress{counter, 0}});
    } else {
      code.emit("ld.shared.u" + std::to_string(unit.words.block.bits), {counts[0], CodeAddress{counter, 0}});
    }
    VirtualRegister any = counts[0];
    for (std::uint32_t i = 1; i < counters; ++i) any = code.b32("or.b32", {any, counts[i]});
    code.branch_if(CodePredicate(code.pred("setp.eq.u32", {any, 0})), skip);
    // Where the last piece goes beyond the array, 0 is added to what separates it from the next.
    for (std::uint32_t i = 0; i < counters; ++i) add_count(array, counts[i], element, i, code);
    code.place(skip);
    code.emit("add.u32", {at, at, step});
    code.emit("add.u32", {counter, counter, counter_step});
    code.emit("add.u64", {element, element, element_step});
    code.branch(next);
    code.place(done);
  }

  static void add_count(const BlockCounters::Array& array, VirtualRegister count, VirtualRegister element,
                        std::uint32_t index, CodeBuilder& code) {
    if (array.is_wide) {
      const VirtualRegister wide = code.b64("cvt.u64.u32", {count});
      code.emit("red.global.add.u64", {CodeAddress{element, std::int64_t{8} * index}, wide});
    } else {
      code.emit("red.global.add.u32", {CodeAddress{element, std::int64_t{4} * index}, count});
    }
  }
};

}  // namespace

Status add_shared_counters(InstrumentationUnit& unit) { return SharedCountersPass().run(unit); }

VirtualRegister begin_of_window(const BlockCounters& counters, CodeBuilder& code) {
  const auto address_of = [&](std::string_view variable) {
    return code.b32("mov.u32", {Name{std::string(variable)}});
  };
  VirtualRegister begin = address_of(counters.window.front());
  for (std::size_t i = 1; i < counters.window.size(); ++i)
    begin = code.b32("min.u32", {begin, address_of(counters.window[i])});
  return code.b32("and.b32", {begin, 0xfffffff0u});
}

std::string obstacle_to_shared_counters(const InstrumentationUnit& unit) {
  for (const FunctionUnit& function : unit.reached.functions) {
    const bool is_kernel = &function == &unit.reached.kernel();
    for (const BasicBlock& block : function.graph().blocks) {
      const bool falls_off =
          block.leaves_function &&
          (block.size() == 0 || !function.function->body->instructions[block.end - 1].traits.ends_block());
      if (is_kernel && falls_off) return "the kernel's code ends without a return";
    }
    for (const Instruction& instruction : function.function->body->instructions) {
      if (!is_kernel && instruction.traits.is_thread_exit) return "a function that it calls ends the thread";
      for (const Operand& operand : instruction.operands) {
        if (operand.name == "%dynamic_smem_size" || operand.name == "%total_smem_size")
          return "the kernel asks how much shared memory it has";
      }
    }
  }
  return unit.reached.calls_indirectly ? "it calls functions through pointers" : "";
}

}  // namespace lynxpp::ptx
