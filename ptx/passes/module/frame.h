// Passes the parameter slots and the per-thread state to device functions, through a frame in the kernel's
// local memory.
#pragma once

#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Emits the frame code of one function. Does nothing in a unit that needs no frame.
class Frame {
 public:
  Frame(InstrumentationUnit& unit, const FunctionUnit& function)
      : unit_(unit),
        registers_(unit.thread_registers(*function.function)),
        is_kernel_(function.function->is_entry),
        exists_(unit.needs_frame()) {}

  /// Declares the kernel's variables.
  void add_declarations(CodeBuilder& code) const;
  /// At the function's entry: the kernel initializes the frame, a device function loads its state from it.
  void add_entry(CodeBuilder& code) const;
  /// Stores the state registers to the frame, before control passes to the callee or back to the caller.
  void add_store(CodeBuilder& code) const;
  /// Loads the state registers from the frame.
  void add_load(CodeBuilder& code) const;

  /// True if `instruction` calls a function that expects the frame.
  bool is_passed_by(const Instruction& instruction) const;

 private:
  /// For example "ld.local.b64", where state `index` is in the frame.
  std::string opcode_of(const char* access, std::uint32_t index) const;
  CodeAddress address_of(std::uint32_t index) const;

  const InstrumentationUnit& unit_;
  const ThreadRegisters& registers_;
  bool is_kernel_;
  bool exists_;
};

}  // namespace lynxpp::ptx
