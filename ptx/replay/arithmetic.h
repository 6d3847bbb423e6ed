// What operations make of linear forms on a box: a form, a cut that brings one closer, or nothing that can be
// followed.
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
  Cut cut;  ///< where to divide the box before the operation is tried again

  static ReplayedNumber of(const ThreadForm& form) { return {Kind::known, form, {}}; }
  static ReplayedNumber of(const std::optional<ThreadForm>& form) {
    return form ? of(*form) : ReplayedNumber{};
  }
  static ReplayedNumber after(Cut cut) { return {Kind::cut, {}, cut}; }
  bool is_known() const { return kind == Kind::known; }
};

/// A register's number, of which a form is known modulo 2^bits, read as a signed or an unsigned number.
/// Precondition: bits is 1, 8, 16, 32 or 64. Unsigned numbers of 64 bits are known below 2^63.
ReplayedNumber read_number(const ThreadForm& form, unsigned bits, bool is_signed, const ThreadBox& box);

/// The result of an operation on forms, modulo 2^result_bits. Precondition: it is none of memory or control.
ReplayedNumber evaluate(const ReplayOperation& operation, const std::array<ThreadForm, 3>& sources,
                        const ThreadBox& box);

}  // namespace lynxpp::ptx
