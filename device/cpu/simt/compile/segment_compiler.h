// Compiles segments of a program that run often, as a whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "device/cpu/simt/compile/jit.h"
#include "device/cpu/simt/compile/program.h"
#include "ptx/ir/module.h"

namespace lynxpp::device::cpu {

/// What executes segments: LYNXPP_CPU_TIER.
enum class CodeTier {
  automatic,  ///< forms, then regions from segments on, as far as what forms have taken pays for the compiler
  regions,    ///< forms, then regions from every segment on that has run once
  blocks,     ///< forms, then code of their own for segments that have run often
  forms,
  segments,
};
/// Read once from the environment; other words than the names of the others mean automatic.
CodeTier code_tier();
/// For tests: of programs compiled from now on, whatever the environment says; nothing: as that says. `runs`:
/// before a segment is promoted, where the tier does so; 0: as many as ever.
void choose_code_tier(std::optional<CodeTier> tier, std::uint32_t runs = 0);

/// Of a segment, by one worker: what its steps took longer by then is about what the compiler takes.
inline constexpr std::uint32_t runs_before_own_code = 20'000;
/// Of steps: they take about as long as the compiler, for whatever it gets and for each instruction.
inline constexpr std::uint64_t steps_for_a_function = 300'000;
inline constexpr std::uint64_t steps_for_an_instruction = 20'000;
/// Of a segment, before each look at whether it is to be promoted; nothing where segments never are.
std::optional<std::uint32_t> runs_before_promotion(CodeTier tier);
/// Of the process: how many have got code of their own since they ran so often.
std::uint64_t segments_with_own_code();

class SegmentCompiler {
 public:
  /// The program owns it; the others outlive its launches.
  SegmentCompiler(Program& program, const ptx::Module& module, const ModuleSymbols& symbols,
                  const std::string& name)
      : program_(program), module_(module), symbols_(symbols), name_(name) {}

  /// Gives every segment of the function code: steps, or code of its own. Failure: an instruction is not
  /// supported.
  Status compile(std::uint32_t function);
  /// Its steps have run promoted_after() times since the last call. Gives it code of its own, unless that
  /// does not pay yet or a worker is at such work already; a region (codegen_regions.cpp) where the tier has
  /// them and nothing counts, times or checks the program. Where it fails, the steps stay.
  void promote(std::uint32_t function, std::uint32_t segment);
  /// Runs of a segment by one worker between two calls of promote; nothing: it never is.
  std::optional<std::uint32_t> promoted_after() const { return promoted_after_; }

 private:
  Status compile_forms(CompiledFunction& function);
  Status compile_segments(CompiledFunction& function);
  Status compile_segment(CompiledFunction& function, std::uint32_t segment);
  bool begins_region(const Segment& segment) const;
  bool pays(const CompiledFunction& function, std::uint32_t segment);
  Result<std::shared_ptr<Jit>> jit();

  Program& program_;
  const ptx::Module& module_;
  const ModuleSymbols& symbols_;
  const std::string& name_;
  const CodeTier tier_ = code_tier();
  const std::optional<std::uint32_t> promoted_after_ = runs_before_promotion(tier_);
  std::shared_ptr<Jit> jit_;
  std::atomic<std::uint64_t> steps_run_{0};
  std::mutex promoting_;
  std::uint64_t steps_spent_ = 0;  ///< what was compiled, in steps
};

}  // namespace lynxpp::device::cpu
