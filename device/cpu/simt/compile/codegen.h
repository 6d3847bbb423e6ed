// Translates PTX instructions to LLVM IR over vectors of 32 lanes. Internal to device/cpu; the only header
// here that exposes LLVM.
//
// Inside a segment, a register is a vector <32 x iN> (a predicate <32 x i1>); between segments it is in the
// warp's register file. Inactive lanes compute unused values: write-back merges by the active mask, and
// everything with a side effect (memory, atomics, division) goes through helpers that visit only the active
// lanes.
#pragma once

#include <llvm/ADT/SparseBitVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/FunctionComparator.h>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/cpu/simt/compile/form_library.h"
#include "device/cpu/simt/compile/program.h"
#include "device/cpu/simt/lanes/lane_functions.h"
#include "device/cpu/simt/operations/operation.h"
#include "ptx/ir/array_element.h"

namespace lynxpp::device::cpu {

/// An opcode and the modifiers that emitters have handled: "ld.global.v4.f32" ▶ root "ld", modifiers
/// {"global", "v4", "f32"}.
struct DecodedOpcode {
  explicit DecodedOpcode(const ptx::Instruction& instruction);
  /// Tests for a modifier and marks it as known. The functions below do the same.
  bool has(std::string_view modifier) const;
  /// Returns the first modifier among `candidates` (each followed by a space in the list); empty if there is
  /// none.
  std::string_view first_of(std::initializer_list<std::string_view> candidates) const;
  /// Returns the first modifier for which `matches` is true; empty if none exists.
  template <typename Matches>
  std::string_view first_that(const Matches& matches) const {
    for (std::size_t i = 0; i < modifiers.size(); ++i) {
      if (!matches(modifiers[i])) continue;
      handled_[i] = true;
      return modifiers[i];
    }
    return {};
  }
  /// Returns a modifier that no emitter has handled and that may change the instruction's effect; empty if
  /// none exists.
  std::string_view unknown_modifier() const;
  ptx::DataType type(std::size_t index = 0) const {
    return index < types.size() ? types[index] : ptx::DataType::none;
  }

  ptx::Op op;
  std::string_view root;
  std::vector<std::string_view> modifiers;
  std::vector<ptx::DataType> types;  ///< type modifiers in order

 private:
  mutable std::vector<bool> handled_;  // by modifier
};

/// Returns the bits of a register operand of this type; 1 for pred, 0 for none.
unsigned bits_of(ptx::DataType type);
bool is_signed(ptx::DataType type);
/// True for f32 and f64, which are computed as vectors.
bool is_vector_float(ptx::DataType type);

/// The object that an identifier names, if it is not a register.
struct Symbol {
  enum class Kind { none, global, shared, local, kernel_parameter, function } kind = Kind::none;
  std::uint64_t value = 0;  ///< address in its space
};

class FunctionCodegen {
 public:
  using Value = llvm::Value;

  FunctionCodegen(llvm::Module& module, const ptx::Module& ptx, const ModuleSymbols& symbols,
                  Program& program, CompiledFunction& function, const std::string& name);

  /// Emits one LLVM function per segment, named by segment_name().
  Status emit();
  static std::string segment_name(const CompiledFunction& function, std::size_t segment);

  /// Emits the steps of each segment. Functions for forms that the library lacks are left in the module; the
  /// caller completes the steps that need them after compilation.
  Status emit_forms(FormLibrary& library);
  struct MissingForm {
    FormLibrary::Definition definition;
    std::vector<std::pair<SegmentCode*, std::size_t>> steps;
  };
  const std::deque<MissingForm>& missing_forms() const { return missing_; }

  /// Emits the function of one segment that has steps.
  Status emit_again(std::uint32_t segment);
  /// Same for a region: the segment and those that a converged warp runs after it.
  Status emit_region(std::uint32_t start);

 private:
  using RegisterSet = llvm::SparseBitVector<>;  ///< register ids
  /// State of a segment whose instructions have been emitted; write-back follows once liveness is known.
  struct SegmentState {
    llvm::Function* function = nullptr;
    llvm::BasicBlock* end = nullptr;
    std::map<std::uint32_t, Value*> values;  ///< by register id
    RegisterSet written;
    RegisterSet read_first;  ///< read before any write
    RegisterSet live_out;
    Value* result = nullptr;
  };
  using Emitter = void (FunctionCodegen::*)();
  static const std::pair<ptx::Op, Emitter> emitter_table[];
  static const std::map<ptx::Op, Emitter>& emitters();

  // --- segments and instructions (codegen.cpp)
  void begin_segment(SegmentState& state, std::size_t index);
  void begin_function(const std::string& name, bool takes_operands);
  void emit_segment(SegmentState& state, const Segment& segment);
  void emit_instruction(const ptx::Instruction& instruction);
  bool begin_instruction(const ptx::Instruction& instruction);  ///< returns false if the guard is unknown
  std::uint32_t site() const;  ///< site of the current instruction in the launch's counters
  void emit_guard_count();
  void note_call_registers(const CallSite& call);
  void solve_liveness();
  void write_back(SegmentState& state);
  void unsupported(std::string detail = {});
  void emit_control();   ///< bra, ret, exit, trap: left to the scheduler
  void emit_nothing();   ///< hints
  void emit_indirect();  ///< call, brx.idx: passes the target to the scheduler
  void emit_barrier();
  void emit_barrier_result(const ptx::Instruction& instruction);
  void emit_arrival(const ptx::Instruction& instruction);

  // --- forms (codegen_forms.cpp)
  struct EmittedForm {
    llvm::Function* function = nullptr;
    FormFunction run = nullptr;      ///< if the library has the form
    MissingForm* missing = nullptr;  ///< otherwise
  };
  struct StepList {
    SegmentCode& code;
    FormLibrary& library;
    std::vector<std::size_t> operands = {};  ///< index of each step's first operand
  };
  void emit_steps(const Segment& segment, StepList& steps);
  void begin_form();
  const EmittedForm* finish_form(StepList& steps, bool is_last);
  void add_step(StepList& steps, const EmittedForm& form, const std::vector<std::uint64_t>& operands);
  void emit_step(const ptx::Instruction& instruction, StepList& steps, bool is_last);
  const EmittedForm& find_form(FormLibrary& library);
  bool is_form() const { return operands_ != nullptr; }
  /// Returns a value that may differ between instructions that share a form.
  Value* varying(std::uint64_t value, unsigned bits);
  Value* varying_splat(std::uint64_t value, unsigned bits);
  Value* varying_pointer(const void* pointer);
  Value* register_place(const RegisterSlot& slot);
  void note_read(const RegisterSlot& slot);
  void note_written(const RegisterSlot& slot);
  Value* load_register(const RegisterSlot& slot);
  void store_register(const RegisterSlot& slot, Value* value);

  // --- instructions that repeat others (codegen_repeats.cpp)
  /// A value that a step takes, and its source.
  struct Varying {
    enum class From { instruction, place_of_register, site } from = From::instruction;
    std::uint64_t value = 0;  ///< a register id, a site index or the value itself

    bool operator==(const Varying&) const = default;
  };
  /// The effects of emitting an instruction. Registers and sites are numbered within the instruction.
  struct Emission {
    struct Site {
      AddressKind kind = AddressKind::host;
      ptx::StateSpace space = ptx::StateSpace::generic;
      unsigned bytes = 0;
      unsigned element_bytes = 0;

      bool operator==(const Site&) const = default;
    };
    const EmittedForm* form = nullptr;  ///< null if the instruction has no effect
    bool is_guarded = false;
    std::vector<Varying> operands;
    std::vector<std::pair<std::uint32_t, bool>> touched;  ///< registers in order; true if written
    std::vector<Site> sites;

    bool operator==(const Emission&) const = default;
  };
  std::uint64_t value_of(const Varying& varying) const;
  void describe(const RegisterSlot& slot);
  void describe(const ptx::Operand& operand);
  bool describe(const ptx::Instruction& instruction);
  const Emission* emission_of(bool is_last) const;
  Emission emission(const EmittedForm* form, std::size_t first_site) const;
  void repeat(const ptx::Instruction& instruction, const Emission& emission, StepList& steps, bool is_last);

  // --- regions (codegen_regions.cpp)
  struct Region;
  void survey_region();
  Value* region_register(const RegisterSlot& slot);
  llvm::BasicBlock* region_edge(std::uint32_t from, std::uint32_t to, llvm::BasicBlock* exit);
  void emit_in_region(std::uint32_t index);
  void emit_region_control(const Segment& segment, std::uint32_t index, llvm::BasicBlock* exit);
  void emit_region_exit(std::uint32_t segment, Value* taken);
  void emit_region_choice(const std::string& name, llvm::Function* lanes);

  // --- operands (operands.cpp)
  Value* read(const ptx::Operand& operand, ptx::DataType type);
  Value* read(std::size_t operand, ptx::DataType type);
  Value* read_bits(const ptx::Operand& operand, unsigned bits);  ///< an untyped pattern
  Value* read_float(std::size_t operand, ptx::DataType type);    ///< as <32 x float> or <32 x double>
  Value* read_predicate(const ptx::Operand& operand);
  Value* read_register(const RegisterSlot& slot);
  Value* read_predicate_register(const RegisterSlot& slot, bool negated);
  Value* read_time(std::string_view name, unsigned bits);
  Value* read_axis(std::string_view name, unsigned bits);
  Value* read_special(std::string_view name, unsigned bits);
  void write(const ptx::Operand& operand, ptx::DataType type, Value* value);
  void write(std::size_t operand, ptx::DataType type, Value* value);
  void write_predicate(const ptx::Operand& operand, Value* value);
  void write_register(const RegisterSlot& slot, Value* value);
  Symbol resolve(std::string_view name);
  Value* symbol_value(const Symbol& symbol, std::int64_t offset);
  const ptx::Operand& operand(std::size_t index);
  std::optional<RegisterSlot> find_register(std::string_view name);

  // --- building blocks (operands.cpp)
  llvm::FixedVectorType* vector_type(unsigned bits) const;
  llvm::FixedVectorType* float_type(ptx::DataType type) const;
  Value* splat(unsigned bits, std::uint64_t value);
  Value* splat(Value* scalar);
  Value* resize(Value* value, unsigned bits, bool sign);
  Value* context_pointer(std::size_t offset);
  Value* context_load(std::size_t offset, unsigned bits);
  Value* active();                   ///< i32: the segment's lanes whose guard holds
  Value* active_vector();            ///< <32 x i1>
  Value* mask_of(Value* predicate);  ///< i32 of <32 x i1>
  Value* predicate_of(Value* mask);  ///< <32 x i1> of i32
  Value* buffer(unsigned index, unsigned bytes);
  Value* spill(unsigned index, Value* value);  ///< stores a vector into buffer(index)
  Value* call_helper(const void* function, llvm::Type* result, std::initializer_list<Value*> arguments);
  Value* call_lane(const std::string& key, std::initializer_list<Value*> operands);
  Value* constant32(std::uint32_t value) { return builder_.getInt32(value); }
  Value* flush_denormals(Value* value, ptx::DataType type);
  Value* canonical_nan(Value* value, ptx::DataType type);
  Value* clamp_to_unit(Value* value, ptx::DataType type);
  Value* as_float(Value* bits, ptx::DataType type);
  Value* as_bits(Value* value);

  // --- integer (codegen_integer.cpp)
  void emit_add_sub();
  Value* add_with_carry(Value* a, Value* b, Value* carry, Value*& carried);
  void emit_multiply();
  Value* multiply(ptx::DataType type, bool& wide);
  void emit_mul24();
  void emit_divide();
  void emit_integer_min_max(ptx::DataType type);
  void emit_integer_pair();
  void emit_absolute();
  void emit_negate();
  void emit_sad();
  void emit_logic();
  void emit_lop3();
  void emit_shift();
  void emit_funnel_shift();
  void emit_bit_count();
  void emit_lane_operation();  ///< operations with the key root.type
  void emit_permute();
  void emit_dot_product();
  void emit_move();
  void emit_unpack();
  void emit_select();
  void emit_slct();
  void emit_compare();
  void emit_set();
  Value* comparison(ptx::DataType type, bool high_half);
  Value* combine(Value* compared, const ptx::Operand& other);

  // --- floating point and conversions (codegen_float.cpp)
  bool emit_narrow_float(ptx::DataType type);  ///< f16, bf16 and their pairs, by lane operations
  Value* read_term(std::size_t index, ptx::DataType type);
  void emit_float_add_multiply(ptx::DataType type);
  void emit_fma();
  void emit_float_divide(ptx::DataType type);
  void emit_float_min_max(ptx::DataType type);
  void emit_xorsign(ptx::DataType type, bool minimum);
  Value* float_min_max(Value* a, Value* b, ptx::DataType type, bool minimum);
  void emit_root();  ///< sqrt, rcp, rsqrt
  void emit_transcendental();
  void emit_copysign();
  void emit_testp();
  void emit_convert();
  void convert_integer(ptx::DataType to, ptx::DataType from);
  void convert_to_integer(ptx::DataType to, ptx::DataType from);
  void convert_from_integer(ptx::DataType to, ptx::DataType from);
  void convert_float(ptx::DataType to, ptx::DataType from);
  void convert_narrow(ptx::DataType to, ptx::DataType from);
  Value* round_to_integral(Value* value, std::string_view mode);
  void finish_float(ptx::DataType type, Value* value);  ///< .ftz, NaN, .sat, then writes operand 0
  std::string rounding() const;

  // --- memory and the warp (codegen_memory.cpp)
  struct Access {
    AddressKind kind = AddressKind::host;
    Value* addresses = nullptr;  ///< <32 x i64>
    Value* uniform = nullptr;    ///< pointer that is uniform; addresses is then null
    Value* base = nullptr;       ///< register such that addresses = base + `offset`; may be null
    std::int64_t offset = 0;
  };
  Access address_of(const ptx::Operand& operand, ptx::StateSpace space, unsigned bytes);
  Access parameter_access(std::uint64_t offset, unsigned bytes);
  Access register_access(const RegisterSlot& slot, std::int64_t offset, ptx::StateSpace space,
                         AddressKind kind);
  Access symbol_access(const ptx::Operand& operand, AddressKind kind, unsigned bytes);
  llvm::Value* element_offset(const ptx::ArrayElement& element);
  /// Returns a pointer to a new AccessSite. In checked code, also emits the check of the access. `values`:
  /// for a store, the argument of find_store()'s function.
  Value* checked_site(const Access& access, Value* addresses, unsigned bytes, Value* values = nullptr,
                      unsigned element_bytes = 0);
  AccessSite& add_site(AddressKind kind, ptx::StateSpace space, unsigned bytes, std::size_t address);
  void clear_result(Value* result, unsigned bytes);
  void check_meeting();
  void count_access_of(const Access& access, Value* addresses, Value* lanes, ptx::StateSpace space,
                       unsigned bytes);
  void emit_load();
  std::vector<Value*> call_load(const Access& access, LoadFunction load, unsigned bits, unsigned count);
  void emit_store();
  void call_store(const Access& access, StoreFunction store, const std::vector<Value*>& stored);
  void emit_wide_access();
  void emit_uniform_load(Value* pointer, const ptx::Operand& destination, ptx::DataType type, unsigned count);
  void emit_atomic();
  Value* call_atomic(const Access& access, const AtomicOperation& operation, Value* b, Value* c);
  void emit_convert_address();
  Value* in_cluster_window(Value* address);
  void emit_is_space();
  void emit_fence();
  Value* participants();                                      ///< i32: the lanes that exchange values
  Value* exchanged(std::size_t operand, ptx::DataType type);  ///< that operand of every participant
  Value* exchanged_predicate(std::size_t operand);            ///< likewise, i32
  void emit_vote();
  void emit_shuffle();
  void emit_match();
  void emit_reduce();
  void emit_float_reduce(std::string_view op);
  void emit_active_mask();
  void emit_elect();
  void emit_breakpoint();
  static unsigned vector_count(const DecodedOpcode& opcode);

  // --- accesses without a call (codegen_access.cpp)
  /// The addresses of a warp relative to those of the first lane of each half.
  struct LanePattern {
    std::array<Value*, 2> first{};
    std::optional<std::int64_t> step = {};  ///< known step of a row
    Value* holds = nullptr;                 ///< i1: the lanes form that row
    Value* differences = nullptr;           ///< address differences, if they are not known to form a row
    std::map<unsigned, Value*> steps;
  };
  /// Accesses of the same size in a segment that share a base register.
  struct AccessGroup {
    unsigned access_bytes = 0;
    std::int64_t least = 0;   ///< smallest displacement
    std::uint64_t bytes = 0;  ///< per lane, from there to the end of the last access
    LanePattern* pattern = nullptr;
    std::array<Value*, 2> place{};     ///< host pointers of each half's first lane at `least`
    std::array<Value*, 2> distance{};  ///< distance of `place` from the start of the accessible range
    Value* room = nullptr;             ///< bytes of the accessible range
    Value* is_aligned = nullptr;
    std::map<unsigned, Value*> conditions;  ///< may_access(), by step
  };
  struct HalfWarps {
    AccessGroup* group = nullptr;
    std::array<Value*, 2> place{};  ///< host pointers of each half's first lane
    Value* is_full = nullptr;       ///< true if all lanes are active
  };
  using LoadEmitter = std::function<std::vector<Value*>(const Access&)>;
  bool is_inline_access(const Access& access) const;
  LanePattern& pattern_of(Value* addresses);
  Value* has_steps(LanePattern& pattern, unsigned bytes);
  std::pair<std::int64_t, std::uint64_t> extent_of(const Access& access, unsigned bytes) const;
  void locate_group(AccessGroup& group, const Access& access);
  AccessGroup& group_of(const Access& access, unsigned bytes);
  Value* may_access(AccessGroup& group, unsigned step);
  HalfWarps half_warps(const Access& access, unsigned bytes);
  Value* join_halves(Value* low, Value* high);
  Value* append(Value* row, Value* part);
  std::vector<Value*> load_rows(const HalfWarps& halves, unsigned bits, unsigned count);
  std::vector<Value*> load_elements(const HalfWarps& halves, unsigned bits, unsigned count);
  void fetch_ahead(const HalfWarps& halves);
  std::vector<Value*> emit_inline_load(const Access& access, unsigned bits, unsigned count,
                                       const LoadEmitter& otherwise);
  void emit_inline_store(const Access& access, const std::vector<Value*>& values,
                         const std::function<void(const Access&)>& otherwise);
  bool is_inline_atomic(const Access& access, std::string_view op, ptx::DataType type) const;
  Value* update(std::string_view op, bool is_signed, Value* old, Value* operand);
  Value* are_in_shared(Value* addresses, unsigned bytes);
  Value* emit_inline_atomic(const Access& access, std::string_view op, ptx::DataType type, Value* operand,
                            const std::function<Value*()>& otherwise);

  // --- addresses computed without looking at all lanes (codegen_rows.cpp)
  /// Lane i of half a warp has the value `first` + i × `step`, in the width of the vector's elements.
  struct LaneRow {
    std::array<Value*, 2> first{};  ///< of each half
    std::int64_t step = 0;
    Value* holds = nullptr;  ///< i1: true if the lanes form the row
  };
  std::optional<LaneRow> row_of(Value* value);
  std::optional<LaneRow> row_of_constants(Value* value);
  LaneRow row_of_index(unsigned axis);
  std::optional<LaneRow> row_of_sum(const llvm::Instruction& sum);
  std::optional<LaneRow> row_of_product(const llvm::Instruction& product);
  std::optional<LaneRow> row_of_cast(const llvm::CastInst& cast);
  Value* written_value(const Value* load) const;
  Value* computed_here(Value* value);
  void note_index(const Value* index, unsigned axis);
  void note_register(const Value* load, std::uint32_t id);

  // --- operations in C++ (codegen_operations.cpp)
  struct OperationSources {
    std::vector<SourceSlot> slots;
    std::vector<Value*> values;  ///< <32 x i64>; null for an unresolved address
    std::vector<const ptx::Operand*> operands;
  };
  void emit_operation();
  std::optional<RegisterSlot> selected_register(const ptx::Operand& operand, std::string_view& selector);
  void add_object(const ptx::Operand& operand, OperationSources& sources);
  void add_source(const ptx::Operand& operand, OperationSources& sources);
  void count_sides(const std::vector<const ptx::Operand*>& operands, Operation& operation);
  void resolve_addresses_of(Operation& operation, OperationSources& sources);
  void write_result(const ptx::Operand& destination, Value* place, unsigned& at);

  llvm::Module& module_;
  const ptx::Module& ptx_;
  const ModuleSymbols& symbols_;
  Program& program_;
  CompiledFunction& function_;
  const std::string& name_;
  llvm::IRBuilder<> builder_;
  std::optional<ParameterLayout> parameters_;  // kernels only
  std::vector<SegmentState> states_;
  std::unordered_multimap<std::uint64_t, EmittedForm> emitted_;  // by hash; no two are identical
  llvm::GlobalNumberState globals_;
  std::deque<MissingForm> missing_;

  // State of the current segment and instruction.
  SegmentState* state_ = nullptr;
  Value* warp_ = nullptr;
  Value* mask_ = nullptr;
  Value* mask_vector_ = nullptr;
  Value* guard_ = nullptr;     // <32 x i1> or null
  Value* file_ = nullptr;      // the warp's registers
  Value* operands_ = nullptr;  // operands of a form; null otherwise
  std::vector<Varying> varying_values_;
  std::string description_;                              // of an instruction, without its registers' names
  std::vector<RegisterSlot> named_;                      // registers of the description, each once
  std::vector<std::pair<std::uint32_t, bool>> touched_;  // registers by id, in order; true if written
  std::unordered_map<std::string, Emission> emissions_;  // by description
  std::optional<std::pair<std::uint32_t, std::uint32_t>> again_;  // next access site and operation to reuse
  std::array<llvm::AllocaInst*, 6> buffers_{};
  Region* region_ = nullptr;          // region that is being emitted
  std::map<Value*, Value*> any_nan_;  // floats by the bits in which NaN is canonical
  std::uint32_t segment_end_ = 0;     // of the current segment
  std::map<Value*, std::optional<LaneRow>> rows_;
  std::map<Value*, LanePattern> patterns_;                                   // likewise
  std::map<std::tuple<Value*, AddressKind, unsigned>, AccessGroup> groups_;  // last group of each base
  std::size_t helper_calls_ = 0;
  bool meets_ = false;                // true if the segment is a meeting
  bool modifiers_are_known_ = false;  // true if the operation has handled all modifiers
  const ptx::Instruction* instruction_ = nullptr;
  std::optional<DecodedOpcode> opcode_;
  std::uint32_t scope_ = 0;
  Diagnostics diagnostics_;
};

}  // namespace lynxpp::device::cpu
