// A handler ▶ the LLVM function `lynxpp_handler` of a module of its own. Shared by device_codegen.cpp and
// device_atomics.cpp.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "cod/function_generator.h"

namespace lynxpp::cod {

class DeviceGenerator final : public FunctionGenerator {
 public:
  DeviceGenerator(llvm::Module& module, const Program& program, int sm)
      : FunctionGenerator(module, program), sm_(sm) {}

  void generate(const HandlerBody& body);
  int minimum_sm() const { return minimum_sm_; }
  int minimum_ptx() const { return minimum_ptx_; }

 private:
  enum class Effect { none, volatile_read, memory, convergent };

  llvm::Value* array_base(const Symbol& array) override;
  llvm::Value* extent_value(Extent extent) override;
  bool surely_in_range(const Expression& index, const Dimension& dimension) override;
  void out_of_range(const Expression& element) override;
  void division_by_zero(llvm::Value*, const Expression&) override {}
  llvm::AllocaInst* state_slot(const Symbol& state, bool assigned) override;
  llvm::Value* call_api(const Expression& call) override;

  /// Inline PTX. Operands are $1…, or $0… when `result` is void.
  llvm::Value* assembly(const std::string& text, llvm::Type* result, std::vector<llvm::Value*> operands,
                        Effect effect);
  llvm::Value* special_register(unsigned intrinsic);
  llvm::Value* word(Word::Kind kind, std::uint32_t index, Extent extent);
  llvm::Value* site_value(SiteValue value);
  void write_states();
  void require(int sm, int ptx);

  llvm::Value* thread_call(Api api);
  llvm::Value* warp_call(const Expression& call);
  llvm::Value* block_threads();    ///< i32
  llvm::Value* block_thread_id();  ///< i32
  llvm::Value* warps_per_block();  ///< i64
  llvm::Value* blocks();           ///< i64
  llvm::Value* block_id();         ///< i64
  llvm::Value* wide(llvm::Value* value);

  llvm::Value* active_mask_here();
  llvm::Value* active_mask_at_entry();
  llvm::Value* is_lowest_of(llvm::Value* mask);  ///< i1

  // device_atomics.cpp
  llvm::Value* atomic_call(const Expression& call);
  void aggregated_add(const Element& element, llvm::Value* addend, bool uniform_addend);
  llvm::Value* sum_over(llvm::Value* mask, llvm::Value* addend);
  llvm::Value* sum_by_redux(llvm::Value* mask, llvm::Value* addend);
  llvm::Value* sum_by_shuffles(llvm::Value* mask, llvm::Value* addend);
  llvm::Value* shuffled(llvm::Value* value, llvm::Value* lane, llvm::Value* mask);
  void reduce_to_memory(const char* operation, const Element& element, llvm::Value* value);
  bool is_uniform(const Expression& expression) const;

  int sm_;
  int minimum_sm_ = 0;
  int minimum_ptx_ = 0;
  llvm::Value* entry_mask_ = nullptr;
  std::map<std::size_t, llvm::Value*> words_;
  std::map<SiteValue, llvm::Value*> sites_;
  struct State {
    llvm::AllocaInst* slot = nullptr;
    bool assigned = false;
  };
  std::map<const Symbol*, State> states_;
};

}  // namespace lynxpp::cod
