// A kernel and everything it can reach, split into segments and compiled.
//
// A segment is a basic block, or a part of one between barriers. It runs without interruption for the active
// lanes of a warp; its control flow (branch, call, barrier, …) is data that the scheduler (scheduler.h)
// interprets.
//
// A *meeting* is a `.sync` operation of a warp, at which its members wait for each other, even if they have
// diverged. A segment with meetings has a second form, split before and after each of them, for a warp that
// has diverged; converged lanes have nothing to wait for and run the unsplit segment.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/simt/compile/code_kind.h"
#include "device/cpu/simt/compile/frame_layout.h"
#include "device/cpu/simt/compile/module_symbols.h"
#include "device/cpu/simt/compile/register_file.h"
#include "device/cpu/simt/compile/segment_code.h"
#include "device/cpu/simt/compile/shared_layout.h"
#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/operations/operation.h"
#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/ir/module.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

inline constexpr std::uint32_t no_segment = 0xffffffff;

enum class Control { next, branch, indexed_branch, call, ret, exit, trap, barrier, meeting };

enum class BarrierKind { sync, arrive, cluster_arrive, cluster_wait, reduce_popc, reduce_and, reduce_or };

/// Functions that the cpu device implements.
enum class Builtin {
  none,
  vprintf,
  malloc,
  free,
  assertfail,
  launch_parameters,  ///< (function, grid, block, shared bytes): the address of the parameters of a launch
  device_launch,      ///< (address of the parameters, stream)
  device_handle,      ///< (address of the handle, flags): creates a stream or event of device code
  device_malloc,      ///< cudaMalloc in device code: (address of the pointer, bytes)
  device_free,
  device_success,  ///< any other function of device code's own runtime that has no effect here
};

/// Location of a call's argument or result: in the frame's local memory, in a register, or a constant.
struct CallSlot {
  enum class Kind { local, reg, immediate } kind = Kind::local;
  std::uint32_t offset = 0;  ///< in the frame's local memory or register file
  std::uint32_t bytes = 0;
  std::uint64_t immediate = 0;
  bool predicate = false;  ///< reg: a 32-bit mask instead of 32 values
};

struct CallSite {
  bool indirect = false;
  std::uint32_t callee = no_function;  ///< index in Program::functions
  Builtin builtin = Builtin::none;
  std::vector<CallSlot> arguments;
  std::vector<CallSlot> results;
};

struct Segment {
  std::uint32_t block = 0;
  bool starts_block = false;
  std::uint32_t begin = 0;  ///< instructions [begin, end) of the body
  std::uint32_t end = 0;
  std::uint32_t line = 0;        ///< PTX line of the last instruction
  std::string_view source_file;  ///< source location of the last instruction; empty without line information
  std::uint32_t source_line = 0;
  Control control = Control::next;
  bool may_spin = false;              ///< contains an atomic or uncached load: may wait for other threads
  std::uint32_t target = no_segment;  ///< branch taken
  std::uint32_t next = no_segment;    ///< textual successor; no_segment: the function returns
  std::uint32_t reconvergence = no_segment;  ///< first segment of the immediate post-dominator
  std::vector<std::uint32_t> targets;        ///< indexed_branch
  CallSite call;
  BarrierKind barrier = BarrierKind::sync;
  std::optional<std::uint32_t> resumed_from;  ///< the bar.red whose result the segment reads first
  std::uint32_t split_form = no_segment;      ///< first segment of its second form
  bool always_split = false;                  ///< guards may exclude lanes from its meetings
  bool continues = false;                     ///< was split from the next segment
  bool waits = false;                         ///< one wgmma.wait_group, which runs again until it is ready
  bool reads_clock = false;                   ///< timed code only: its first instruction reads a clock
  bool is_meeting = false;                    ///< one `.sync` operation, executed for all lanes that met
};

struct CompiledFunction {
  std::string name;
  std::uint32_t module_function = 0;  ///< index in ptx::Module::functions
  const ptx::Function* function = nullptr;
  ptx::ControlFlowGraph graph;
  std::vector<Segment> segments;
  std::unique_ptr<SegmentCode[]> code;  ///< of each segment, once compiled
  std::vector<CallSlot> parameters;
  std::vector<CallSlot> results;
  std::shared_ptr<RegisterFile> registers;
  std::shared_ptr<const FrameLayout> frame;
  std::uint32_t segment_base = 0;      ///< index of its segment 0 in the launch's counters
  std::uint32_t site_base = 0;         ///< index of its instruction 0
  std::optional<Diagnostics> failure;  ///< the reason why it cannot run
  bool direct = true;                  ///< called by name, not only through its address
};

class SegmentCompiler;  // segment_compiler.h

struct Program {
  std::vector<CompiledFunction> functions;  ///< [0] is the kernel
  SharedLayout shared;
  /// Bytes per thread over the deepest call chain; if its depth is unknown, one frame of each function.
  std::uint64_t local_bytes = 0;
  bool has_unbounded_stack = false;   ///< the launch adds the stack limit
  std::uint64_t parameter_bytes = 0;  ///< of the kernel
  ModuleSymbols::Storage constants;   ///< the module's
  std::uint32_t segment_count = 0;    ///< of all functions
  std::uint32_t site_count = 0;       ///< instructions of all functions
  bool counting = false;
  bool timed = false;
  bool checked = false;
  std::deque<AccessSite> accesses;            ///< compiled code holds their addresses
  std::deque<Operation> operations;           ///< likewise
  std::shared_ptr<SegmentCompiler> compiler;  ///< keeps the segments' machine code alive

  /// `module_function`: index in ptx::Module::functions. Returns null if the function is not in the program.
  const CompiledFunction* find(std::uint32_t module_function) const;
};

/// Plans the segments and layouts of `kernel` without generating code. Bodies are parsed as needed. `name` is
/// the file name in diagnostics. In timed code, segments are split before each read of a clock; in checked
/// code, shared arrays are separated by gaps; in explored code, segments are split before each atomic,
/// volatile or ordered access.
Result<Program> plan_program(ptx::Module& module, std::uint32_t kernel, const std::string& name,
                             CodeKind kind = {});

/// Compiles a program that was planned for this kind of code, or for one that agrees in `timed` and
/// `checked`. Fails if the kernel reaches an unsupported instruction, naming its PTX line. Module, symbols
/// and name must outlive the program's launches, which compile hot segments.
Result<std::shared_ptr<const Program>> compile_program(Program planned, const ptx::Module& module,
                                                       const ModuleSymbols& symbols, CodeKind kind,
                                                       const std::string& name);

/// Returns the operand that holds the members of a meeting; nullopt for other instructions.
std::optional<std::size_t> members_operand(const ptx::Instruction& instruction);

/// Gives segments with meetings their second form.
void plan_meetings(CompiledFunction& function);

/// Finds "vprintf" and the other builtins.
Builtin find_builtin(std::string_view name);

/// Returns a location in the PTX text of a module.
SourceLocation ptx_location(std::string_view name, std::uint32_t line);

}  // namespace lynxpp::device::cpu
