// How the hidden words and the per-thread state reach device functions: through a frame in the local memory
// of the kernel.
#pragma once

#include <string>

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// Text for one function. Does nothing in a unit that needs no frame.
class Frame {
 public:
  Frame(const InstrumentationUnit& unit, bool is_kernel)
      : unit_(unit), is_kernel_(is_kernel), exists_(unit.needs_frame()) {}

  void append_declarations(std::string& text) const;
  /// At the function's entry: the kernel lays the frame out, a device function takes its state from it.
  void append_entry(std::string& text) const;
  /// State registers ▶ frame, before control goes to the callee or back to the caller.
  void append_store(std::string& text) const { append_transfer(text, true); }
  /// Frame ▶ state registers.
  void append_load(std::string& text) const { append_transfer(text, false); }

  /// Whether `instruction` calls a function that expects the frame.
  bool is_passed_by(const Instruction& instruction) const;

 private:
  void append_transfer(std::string& text, bool store) const;

  const InstrumentationUnit& unit_;
  bool is_kernel_;
  bool exists_;
};

}  // namespace lynxpp::ptx
