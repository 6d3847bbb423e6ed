#include "ptx/perturb/additions.h"

#include <algorithm>
#include <utility>

#include "ptx/ir/array_element.h"
#include "ptx/passes/module/entry.h"
#include "ptx/passes/module/parameter_slots.h"
#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t quarters = 4;
constexpr std::uint32_t quarter_bytes = 1024;

}  // namespace

Additions::Additions(InstrumentationUnit& unit, Form form)
    : unit_(unit),
      form_(form),
      roots_(*unit.reached.kernel().analyses),
      carry_(*unit.reached.kernel().function, unit.reached.kernel().graph()),
      code_(unit.edits.names(*unit.reached.kernel().function)),
      entry_(unit.edits.names(*unit.reached.kernel().function)) {}

std::uint32_t Additions::slot(HiddenSlot::Kind kind, std::uint32_t index) {
  const auto [known, is_new] = slots_.try_emplace({kind, index}, 0);
  if (is_new) known->second = unit_.hidden.add({kind, 0, index});
  return known->second;
}

VirtualRegister Additions::word(HiddenSlot::Kind kind, std::uint32_t index) {
  return code_.b32("ld.param.b32", {ParameterSlots().address(slot(kind, index))});
}

VirtualRegister Additions::long_word(HiddenSlot::Kind kind, std::uint32_t index) {
  return ParameterSlots().load(slot(kind, index), code_);
}

VirtualRegister Additions::zero_offset() {
  if (!zero_) zero_ = entry_.b32("ld.param.b32", {ParameterSlots().address(slot(HiddenSlot::Kind::zero, 0))});
  return *zero_;
}

VirtualRegister Additions::lane_offset(std::uint32_t bytes) {
  if (is_again()) return zero_offset();
  const auto [known, is_new] = lane_offsets_.try_emplace(bytes);
  if (is_new) {
    const VirtualRegister quarter = entry_.b32("and.b32", {entry_.special("%ctaid.x"), quarters - 1});
    const VirtualRegister block = entry_.b32("mul.lo.u32", {quarter, quarter_bytes});
    known->second = entry_.b32("mad.lo.u32", {lane(), bytes, block});
  }
  return known->second;
}

VirtualRegister Additions::thread_offset(std::uint32_t bytes, std::uint32_t size) {
  if (is_again()) return zero_offset();
  const auto [known, is_new] = thread_offsets_.try_emplace({bytes, size});
  if (is_new) {
    const VirtualRegister offset = entry_.b32("mul.lo.u32", {thread_of_grid(), bytes});
    known->second = entry_.b32("and.b32", {offset, size - 1});
  }
  return known->second;
}

VirtualRegister Additions::thread_of_grid() {
  if (thread_) return *thread_;
  const auto row = [&](const char* outer, const char* extent, const char* inner) {
    return std::tuple(entry_.special(outer), entry_.special(extent), entry_.special(inner));
  };
  const auto [z, y_extent, y] = row("%tid.z", "%ntid.y", "%tid.y");
  const VirtualRegister rows = entry_.b32("mad.lo.u32", {z, y_extent, y});
  const VirtualRegister x_extent = entry_.special("%ntid.x");
  const VirtualRegister thread = entry_.b32("mad.lo.u32", {rows, x_extent, entry_.special("%tid.x")});
  const VirtualRegister threads =
      entry_.b32("mul.lo.u32", {entry_.b32("mul.lo.u32", {x_extent, y_extent}), entry_.special("%ntid.z")});
  thread_ = entry_.b32("mad.lo.u32", {entry_.special("%ctaid.x"), threads, thread});
  return *thread_;
}

VirtualRegister Additions::accumulator(RegisterType type, std::uint32_t index) {
  const auto [known, is_new] = accumulators_.try_emplace({type, index});
  if (!is_new) return known->second;
  // Different ones for each lane and accumulator: the assembler would merge equal ones, and compute those of
  // a warp on the uniform pipe.
  constexpr std::uint32_t apart = 0x9e3779b9;
  CodeAddress word = ParameterSlots().address(slot(HiddenSlot::Kind::scratch, 0));
  const VirtualRegister salt = entry_.b32("add.u32", {lane(), apart * (index + 1)});
  const VirtualRegister low = entry_.b32("xor.b32", {entry_.b32("ld.param.b32", {word}), salt});
  if (type == RegisterType::b64) {
    word.offset += 4;
    const VirtualRegister high = entry_.b32("ld.param.b32", {std::move(word)});
    known->second = entry_.b64("mov.b64", {CodeList{CodeList::Kind::vector, {low, high}}});
  } else {
    known->second = low;
  }
  return known->second;
}

VirtualRegister Additions::unknown(std::uint32_t value) {
  if (value == 0) return zero_offset();
  const auto [known, is_new] = unknown_.try_emplace({RegisterType::b32, value});
  if (is_new) known->second = entry_.b32("or.b32", {zero_offset(), value});
  return known->second;
}

VirtualRegister Additions::unknown_upper(std::uint32_t high) {
  const auto [known, is_new] = unknown_.try_emplace({RegisterType::b64, high});
  if (is_new)
    known->second = entry_.b64("mov.b64", {CodeList{CodeList::Kind::vector, {zero_offset(), unknown(high)}}});
  return known->second;
}

VirtualRegister Additions::aligned_zero() {
  if (!aligned_zero_) aligned_zero_ = entry_.b32("shl.b32", {zero_offset(), 4});
  return *aligned_zero_;
}

const OperandOrder& Additions::order() {
  if (order_ == nullptr) order_ = std::make_unique<OperandOrder>(analyses());
  return *order_;
}

VirtualRegister Additions::lane() {
  if (!lane_) lane_ = entry_.special("%laneid");
  return *lane_;
}

VirtualRegister Additions::added_shared_memory(std::uint32_t bytes) {
  if (shared_) return *shared_;
  constexpr std::uint32_t alignment = 16;  // a variable of the variant is aligned to 8 bytes
  const auto index = static_cast<std::uint32_t>(unit_.spliced.variables.size());
  unit_.spliced.variables.push_back({StateSpace::shared, bytes + alignment / 2, {}, false});
  const VirtualRegister variable = entry_.b32("mov.u32", {Name{variable_name(index)}});
  const VirtualRegister end = entry_.b32("add.u32", {variable, alignment - 1});
  shared_ = entry_.b32("and.b32", {end, ~(alignment - 1)});
  return *shared_;
}

std::optional<CodeRegister> Additions::base_of(const Operand& address) {
  if (address.elements.empty() || array_element(address)) return std::nullopt;
  const Operand& base = address.elements[0];
  if (base.kind != OperandKind::identifier) return std::nullopt;
  const auto shared = unit_.variant.shared_variables.find(base.name);
  if (shared == unit_.variant.shared_variables.end() || type_of(base) != DataType::none)
    return CodeRegister(Name{std::string(base.name)});  // its text includes the offset
  return CodeRegister(shared_address(shared->second));
}

std::optional<VirtualRegister> Additions::low_address(const Operand& address) {
  const std::optional<CodeRegister> base = base_of(address);
  if (!base) return std::nullopt;
  const DataType type = type_of(address.elements[0]);
  VirtualRegister low;
  if (size_of(type) == 4) {
    low = code_.b32("mov.b32", {*base});
  } else if (type != DataType::none || std::holds_alternative<VirtualRegister>(*base)) {
    low = code_.b32("cvt.u32.u64", {*base});
  } else {
    low = code_.b32("cvt.u32.u64", {code_.b64("mov.b64", {*base})});  // a variable
  }
  return address.offset == 0 ? low : code_.b32("add.u32", {low, address.offset});
}

VirtualRegister Additions::address_of(const Variable& variable) {
  const auto shared = unit_.variant.shared_variables.find(variable.name);
  return shared == unit_.variant.shared_variables.end()
             ? code_.b64("mov.b64", {Name{std::string(variable.name)}})
             : shared_address(shared->second);
}

VirtualRegister Additions::shared_address(std::uint32_t position) {
  const VirtualRegister address = code_.fresh(RegisterType::b64);
  load_shared_address(position, address, code_);
  return address;
}

DataType Additions::type_of(const Operand& operand) const {
  if (operand.kind != OperandKind::identifier) return DataType::none;
  const RegisterDeclaration* const declared =
      body().find_register(operand.name, body().statements[site().statement].scope);
  return declared == nullptr ? DataType::none : declared->type;
}

bool Additions::is_read(const Operand& operand) {
  if (operand.kind != OperandKind::identifier) return operand.kind != OperandKind::sink;
  const RegisterId reg = analyses().registers().find(operand.name, site_);
  for (std::uint32_t i = 0; i < body().instructions.size(); ++i) {
    const auto reads = analyses().registers().reads(i);
    if (std::ranges::find(reads, reg) != reads.end()) return true;
  }
  return false;
}

std::optional<std::vector<VirtualRegister>> Additions::results(std::uint32_t bytes, std::uint32_t count) {
  const std::optional<RegisterType> type =
      bytes == 1 || bytes == 2 ? RegisterType::b32 : register_of_bytes(bytes);
  if (!type) return std::nullopt;
  std::vector<VirtualRegister> made(count);
  for (VirtualRegister& each : made) each = code_.fresh(*type);
  return made;
}

std::vector<VirtualRegister> Additions::words_of(const std::vector<VirtualRegister>& values) {
  std::vector<VirtualRegister> words;
  const auto split = [&](VirtualRegister value, RegisterType type, const char* opcode) {
    const VirtualRegister low = code_.fresh(type);
    const VirtualRegister high = code_.fresh(type);
    code_.emit(opcode, {CodeList{CodeList::Kind::vector, {low, high}}, value});
    return std::pair(low, high);
  };
  const auto add_halves = [&](VirtualRegister value) {
    const auto [low, high] = split(value, RegisterType::b32, "mov.b64");
    words.insert(words.end(), {low, high});
  };
  for (const VirtualRegister value : values) {
    switch (value.type) {
      case RegisterType::b16: words.push_back(code_.b32("cvt.u32.u16", {value})); break;
      case RegisterType::b32: words.push_back(value); break;
      case RegisterType::b64: add_halves(value); break;
      case RegisterType::b128: {
        const auto [low, high] = split(value, RegisterType::b64, "mov.b128");
        add_halves(low);
        add_halves(high);
        break;
      }
      case RegisterType::pred: LYNXPP_CHECK(false, "a predicate cannot be kept");
    }
  }
  return words;
}

VirtualRegister Additions::mixed(const std::vector<VirtualRegister>& values) {
  const std::vector<VirtualRegister> words = words_of(values);
  LYNXPP_CHECK(!words.empty(), "there is nothing to combine");
  VirtualRegister all = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) all = code_.b32("xor.b32", {all, words[i]});
  return all;
}

void Additions::keep(const std::vector<VirtualRegister>& values) {
  if (values.empty()) return;
  const VirtualRegister sink = accumulator(RegisterType::b32, 0);
  for (const VirtualRegister word : words_of(values)) code_.emit_if(guard(), "xor.b32", {sink, sink, word});
}

void Additions::insert() {
  Code code = code_.take();
  if (code.has_label())
    code = carry_.preserve_before(site_, std::move(code), unit_.edits.names(*kernel().function));
  inserted_.emplace_back(site().text.begin, std::move(code));
  for (auto& [range, operand] : replaced_) unit_.edits.replace(range, std::move(operand));
  replaced_.clear();
}

/// Adds the comparison before each exit, and at the end of the body.
void Additions::add_sink() {
  if (accumulators_.empty()) return;
  const std::uint32_t scratch = slot(HiddenSlot::Kind::scratch, 0);
  add_at_exits([&](const std::optional<CodePredicate>& /*guard*/) {
    std::optional<VirtualRegister> all;
    const auto combine = [&](VirtualRegister value) {
      all = all ? code_.b32("xor.b32", {*all, value}) : value;
    };
    for (const auto& [key, reg] : accumulators_) {
      if (reg.type == RegisterType::b32) {
        combine(reg);
        continue;
      }
      const VirtualRegister low = code_.fresh(RegisterType::b32);
      const VirtualRegister high = code_.fresh(RegisterType::b32);
      code_.emit("mov.b64", {CodeList{CodeList::Kind::vector, {low, high}}, reg});
      combine(low);
      combine(high);
    }
    const VirtualRegister address = ParameterSlots().load(scratch, code_);
    CodeAddress upper = ParameterSlots().address(scratch);
    upper.offset += 4;
    const VirtualRegister chance =
        code_.pred("setp.eq.u32", {*all, code_.b32("ld.param.b32", {std::move(upper)})});
    code_.emit_if(CodePredicate(chance), "st.global.b32", {CodeAddress{address, 0}, *all});
    return code_.take();
  });
}

void Additions::add_results() {
  if (results_.empty()) return;
  const std::uint32_t results = slot(HiddenSlot::Kind::results, 0);
  add_at_exits([&](const std::optional<CodePredicate>& guard) {
    const Label done = code_.fresh_label();
    if (selected_) code_.branch_if(CodePredicate(code_.pred("setp.eq.u64", {*selected_, 0})), done);
    const VirtualRegister address = ParameterSlots().load(results, code_);
    for (const ResultWord& each : results_) {
      VirtualRegister value = each.value;
      if (each.is_begin)
        value = code_.b64("sub.u64", {code_.b64("mov.u64", {SpecialRegister{"%clock64"}}), value});
      code_.emit_if(guard, "red.global.add.u64", {CodeAddress{address, 8 * each.word}, value});
    }
    if (selected_) code_.place(done);
    return code_.take();
  });
}

void Additions::add_at_exits(const std::function<Code(const std::optional<CodePredicate>&)>& code) {
  for (const Instruction& instruction : body().instructions) {
    if (instruction.traits.kind == OpcodeClass::exit && instruction.op() != Op::trap)
      inserted_.emplace_back(instruction.text.begin, code(predicate_of(instruction.guard)));
  }
  const ControlFlowGraph& graph = kernel().graph();
  if (std::ranges::any_of(graph.blocks,
                          [&](const BasicBlock& each) { return kernel().falls_off_after(each); }))
    inserted_.emplace_back(kernel().function->body_text.end - 1, code({}));
}

void Additions::finish() {
  add_sink();
  add_results();
  unit_.edits.insert_before(entry_position(*kernel().function), entry_.take());
  for (auto& [position, code] : inserted_) unit_.edits.insert_before(position, std::move(code));
  inserted_.clear();
}

CodeOperand vector_of(const std::vector<VirtualRegister>& registers) {
  if (registers.size() == 1) return registers.front();
  return CodeList{CodeList::Kind::vector, {registers.begin(), registers.end()}};
}

}  // namespace lynxpp::ptx
