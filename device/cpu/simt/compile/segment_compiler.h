// Compiles the hot segments of a program to code of their own.
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

/// How segments are executed; LYNXPP_CPU_TIER selects it.
enum class CodeTier {
  automatic,  ///< forms, then regions as soon as compiling them pays off
  regions,    ///< forms, then a region at every segment that has run once
  blocks,     ///< forms, then own code for segments that have run often
  forms,
  segments,
};
/// Returns the chosen tier, or that of the environment, which is read once; unknown names mean automatic.
CodeTier code_tier();
/// For tests: sets the tier of programs compiled from now on; nullopt restores the environment's choice.
/// `runs`: runs before a segment is promoted, if the tier promotes; 0 means the default.
void choose_code_tier(std::optional<CodeTier> tier, std::uint32_t runs = 0);

/// Runs of a segment by one worker after which its steps have cost about as much as compiling it.
inline constexpr std::uint32_t runs_before_own_code = 20'000;
/// Cost of compiling in steps: per function and per instruction.
inline constexpr std::uint64_t steps_for_a_function = 300'000;
inline constexpr std::uint64_t steps_for_an_instruction = 20'000;
/// Returns the runs of a segment between two promotion checks; nullopt if segments are never promoted.
std::optional<std::uint32_t> runs_before_promotion(CodeTier tier);
/// Returns the number of segments of the process that were promoted to code of their own.
std::uint64_t segments_with_own_code();

class SegmentCompiler {
 public:
  /// Owned by the program; the other arguments must outlive the program's launches.
  SegmentCompiler(Program& program, const ptx::Module& module, const ModuleSymbols& symbols,
                  const std::string& name)
      : program_(program), module_(module), symbols_(symbols), name_(name) {}

  /// Gives every segment of the function steps or code of its own. Fails if an instruction is not supported.
  Status compile(std::uint32_t function);
  /// Called each time the steps of a segment have run promoted_after() times. Compiles code for it: a region
  /// (codegen_regions.cpp) if the tier has them and the program is not counted, timed or checked. Does
  /// nothing if it does not pay off yet or another worker is compiling. If compiling fails, the steps stay in
  /// use.
  void promote(std::uint32_t function, std::uint32_t segment);
  /// Runs of a segment by one worker between two calls of promote(); nullopt if it is never promoted.
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
  std::uint64_t steps_spent_ = 0;  ///< cost of everything compiled so far, in steps
};

}  // namespace lynxpp::device::cpu
