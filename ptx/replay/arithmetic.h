// Evaluates operations on linear forms over a box: the result is a form, a cut of the box that makes
// progress, or unknown.
#pragma once

#include <array>
#include <cstdint>

#include "ptx/replay/program.h"
#include "ptx/replay/thread_box.h"

namespace lynxpp::ptx {

struct ReplayedNumber {
  enum class Kind : std::uint8_t { unknown, known, cut };
  Kind kind = Kind::unknown;
  ThreadForm form;
  Cut cut;  ///< where to divide the box before retrying the operation

  static ReplayedNumber of(const ThreadForm& form) { return {Kind::known, form, {}}; }
  static ReplayedNumber of(const std::optional<ThreadForm>& form) {
    return form ? of(*form) : ReplayedNumber{};
  }
  static ReplayedNumber after(Cut cut) { return {Kind::cut, {}, cut}; }
  bool is_known() const { return kind == Kind::known; }
};

/// Reads a register, known as a form modulo 2^bits, as a signed or an unsigned integer. Precondition: bits is
/// 1, 8, 16, 32 or 64. Unsigned 64-bit values are known below 2^63.
ReplayedNumber read_number(const ThreadForm& form, unsigned bits, bool is_signed, const ThreadBox& box);

/// Returns the result of an operation on forms, modulo 2^result_bits. Precondition: the operation is neither
/// a memory access nor control flow.
ReplayedNumber evaluate(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                        const ThreadBox& box);

}  // namespace lynxpp::ptx
