#include "device/cpu/simt/compile/segment_compiler.h"

#include <llvm/IR/LLVMContext.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "device/cpu/simt/compile/codegen.h"
#include "device/cpu/simt/compile/form_library.h"
#include "device/cpu/simt/compile/region.h"
#include "support/log.h"
#include "support/setting.h"

namespace lynxpp::device::cpu {

namespace {

/// A promotion check costs about as much as ten steps.
constexpr std::uint32_t runs_between_looks = 64;
/// Most LLVM instructions per function. LLVM's scheduler is quadratic: a basic block with 9,000 took 3.7 s.
constexpr unsigned most_compiled = 3000;
constexpr std::uint32_t never_compiled = ~std::uint32_t{0};

std::atomic<std::uint64_t> promoted{0};
std::atomic<int> chosen_tier{-1};
std::atomic<std::uint32_t> chosen_runs{0};

}  // namespace

std::uint64_t segments_with_own_code() { return promoted.load(); }

CodeTier code_tier() {
  if (const int tier = chosen_tier.load(); tier >= 0) return static_cast<CodeTier>(tier);
  static const CodeTier tier = [] {
    const char* const value = setting("LYNXPP_CPU_TIER");
    const std::string_view name = value != nullptr ? value : "";
    if (name == "forms") return CodeTier::forms;
    if (name == "blocks") return CodeTier::blocks;
    if (name == "regions") return CodeTier::regions;
    return name == "segments" ? CodeTier::segments : CodeTier::automatic;
  }();
  return tier;
}

void choose_code_tier(std::optional<CodeTier> tier, std::uint32_t runs) {
  chosen_tier.store(tier ? static_cast<int>(*tier) : -1);
  chosen_runs.store(tier ? runs : 0);
}

std::optional<std::uint32_t> runs_before_promotion(CodeTier tier) {
  if (tier == CodeTier::forms || tier == CodeTier::segments) return std::nullopt;
  if (const std::uint32_t runs = chosen_runs.load(); runs != 0) return runs;
  if (tier == CodeTier::automatic) return runs_between_looks;
  return tier == CodeTier::regions ? 1 : runs_before_own_code;
}

Result<std::shared_ptr<Jit>> SegmentCompiler::jit() {
  if (jit_ != nullptr) return jit_;
  // A segment that has run often is likely to keep running.
  Result<std::shared_ptr<Jit>> made =
      Jit::create(tier_ == CodeTier::segments ? Jit::Aim::quick : Jit::Aim::fast);
  if (made) jit_ = *made;
  return made;
}

Status SegmentCompiler::compile(std::uint32_t function) {
  CompiledFunction& compiled = program_.functions[function];
  return tier_ == CodeTier::segments ? compile_segments(compiled) : compile_forms(compiled);
}

Status SegmentCompiler::compile_forms(CompiledFunction& function) {
  FormLibrary& library = FormLibrary::shared();
  llvm::LLVMContext context;
  const auto code = std::make_unique<llvm::Module>("forms", context);
  if (Status prepared = library.prepare(*code); !prepared) return prepared;
  FunctionCodegen codegen(*code, module_, symbols_, program_, function, name_);
  if (Status emitted = codegen.emit_forms(library); !emitted) return emitted;
  std::vector<FormLibrary::Definition> definitions;
  for (const FunctionCodegen::MissingForm& form : codegen.missing_forms())
    definitions.push_back(form.definition);
  if (Status added = library.add(*code, definitions); !added) return added;
  for (const FunctionCodegen::MissingForm& form : codegen.missing_forms()) {
    const FormFunction run = library.find(form.definition.form);
    for (const auto& [segment, step] : form.steps) segment->steps[step].run = run;
  }
  return success();
}

/// The code has a module of its own: a function that fails to compile leaves nothing in others.
Status SegmentCompiler::compile_segments(CompiledFunction& function) {
  const Result<std::shared_ptr<Jit>> made = jit();
  if (!made) return made.error();
  auto context = std::make_unique<llvm::LLVMContext>();
  auto code = std::make_unique<llvm::Module>(function.name, *context);
  (*made)->prepare(*code);
  FunctionCodegen codegen(*code, module_, symbols_, program_, function, name_);
  if (Status emitted = codegen.emit(); !emitted) return emitted;
  if (Status added = (*made)->add(std::move(code), std::move(context)); !added) return added;
  function.code = std::make_unique<SegmentCode[]>(function.segments.size());
  for (std::size_t i = 0; i < function.segments.size(); ++i) {
    const Result<void*> address = (*made)->lookup(FunctionCodegen::segment_name(function, i));
    if (!address) return address.error();
    function.code[i].compiled = reinterpret_cast<SegmentFunction>(*address);
  }
  return success();
}

/// A meeting does not begin a region: the scheduler executes it for each group of participants and then
/// continues each group separately.
bool SegmentCompiler::begins_region(const Segment& segment) const {
  return tier_ != CodeTier::blocks && !segment.is_meeting && !program_.counting && !program_.timed &&
         !program_.checked;
}

/// True if the steps run so far outweigh the cost of everything compiled so far and of this segment.
bool SegmentCompiler::pays(const CompiledFunction& function, std::uint32_t segment) {
  if (tier_ != CodeTier::automatic) return true;
  SegmentCode& code = function.code[segment];
  const Segment& of = function.segments[segment];
  if (code.instructions == 0)
    code.instructions = begins_region(of) ? region_instructions(function, segment) : of.end - of.begin;
  if (code.instructions > most_region_instructions) return false;
  const std::uint64_t cost =
      steps_spent_ + steps_for_a_function + code.instructions * steps_for_an_instruction;
  if (steps_run_.load(std::memory_order_relaxed) < cost) return false;
  steps_spent_ = cost;
  return true;
}

Status SegmentCompiler::compile_segment(CompiledFunction& function, std::uint32_t segment) {
  const Result<std::shared_ptr<Jit>> made = jit();
  if (!made) return made.error();
  auto context = std::make_unique<llvm::LLVMContext>();
  auto code = std::make_unique<llvm::Module>(function.name, *context);
  (*made)->prepare(*code);
  FunctionCodegen codegen(*code, module_, symbols_, program_, function, name_);
  const bool is_region = begins_region(function.segments[segment]);
  const Status emitted = is_region ? codegen.emit_region(segment) : codegen.emit_again(segment);
  if (!emitted) return emitted;
  if (is_region) (*made)->optimize(*code);
  if (tier_ == CodeTier::automatic && code->getInstructionCount() > most_compiled) {
    function.code[segment].instructions = never_compiled;
    return success();
  }
  if (Status added = (*made)->add(std::move(code), std::move(context)); !added) return added;
  const Result<void*> address = (*made)->lookup(FunctionCodegen::segment_name(function, segment));
  if (!address) return address.error();
  promoted.fetch_add(1);
  function.code[segment].compiled.store(reinterpret_cast<SegmentFunction>(*address),
                                        std::memory_order_release);
  return success();
}

void SegmentCompiler::promote(std::uint32_t function, std::uint32_t segment) {
  CompiledFunction& compiled = program_.functions[function];
  steps_run_.fetch_add(*promoted_after_ * compiled.code[segment].steps.size(), std::memory_order_relaxed);
  const std::unique_lock lock(promoting_, std::try_to_lock);
  if (!lock || compiled.code[segment].compiled.load(std::memory_order_relaxed) != nullptr) return;
  if (!pays(compiled, segment)) return;
  const auto begin = std::chrono::steady_clock::now();
  const Status done = compile_segment(compiled, segment);
  if (!done) log().warn("cpu device: {}", done.error().diagnostics.front().message);
  if (compiled.code[segment].compiled.load(std::memory_order_relaxed) == nullptr) return;
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  log().debug("cpu device: compiled hot segment {} of {} in {:.1f} ms", segment, compiled.name,
              spent.count());
}

}  // namespace lynxpp::device::cpu
