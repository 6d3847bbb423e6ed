// Numbers that differ between threads as linear forms over a box of threads, and how a box is cut until a
// question about them has one answer.
//
// A box is a set of threads of one launch: an interval of each of tid.x, tid.y, tid.z, ctaid.x, ctaid.y and
// ctaid.z. A form gives each thread of the box a whole number. What is not linear (a comparison, a remainder)
// is linear, or constant, on parts of the box: Cut says where to divide it.
//
// Example: of 1000 blocks of 256 threads those with 256*ctaid.x + tid.x < 255900 are 999 whole blocks and 156
// threads of the last one; two cuts find that out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace lynxpp::ptx {

inline constexpr std::size_t thread_dimensions = 6;

/// The dimensions of a box, in this order.
enum class ThreadDimension : std::uint8_t { tid_x, tid_y, tid_z, ctaid_x, ctaid_y, ctaid_z };

struct ThreadBox {
  std::array<std::uint32_t, thread_dimensions> first{};
  std::array<std::uint32_t, thread_dimensions> last{};  ///< inclusive; first <= last

  std::uint64_t extent(std::size_t dimension) const {
    return std::uint64_t{last[dimension]} - first[dimension] + 1;
  }
  std::uint64_t threads() const;
  bool operator==(const ThreadBox&) const = default;
};

/// constant + Σ coefficient × dimension; the dimensions count from 0 in the grid, not in the box.
struct ThreadForm {
  std::int64_t constant = 0;
  std::array<std::int64_t, thread_dimensions> coefficients{};

  bool is_constant() const { return coefficients == std::array<std::int64_t, thread_dimensions>{}; }
  bool operator==(const ThreadForm&) const = default;
};

ThreadForm number(std::int64_t constant);
ThreadForm thread_index(ThreadDimension dimension);
// nullopt: a number of the form does not fit 64 bits.
std::optional<ThreadForm> add(const ThreadForm& left, const ThreadForm& right);
std::optional<ThreadForm> subtract(const ThreadForm& left, const ThreadForm& right);
std::optional<ThreadForm> multiply(const ThreadForm& form, std::int64_t factor);

__extension__ using WideNumber = __int128;
struct NumberRange {
  WideNumber least = 0;
  WideNumber greatest = 0;
};
/// The least and the greatest number of a form in a box; both occur.
NumberRange range_of(const ThreadForm& form, const ThreadBox& box);

/// Divides a box in two: below `position` of a dimension, and the rest. Neither is empty.
struct Cut {
  std::size_t dimension = 0;
  std::uint32_t position = 0;
};
std::array<ThreadBox, 2> divide(const ThreadBox& box, Cut cut);

/// The answer for all threads of a box, or where to cut it to come closer to one. Cutting again and again
/// ends: at the latest with a single thread.
template <typename T>
struct Answer {
  std::optional<T> value;
  Cut cut;  ///< without a value
};

/// Whether form < bound.
Answer<bool> is_less(const ThreadForm& form, WideNumber bound, const ThreadBox& box);

/// form = quotient × divisor + remainder with 0 <= remainder < divisor.
struct Division {
  ThreadForm quotient;
  ThreadForm remainder;
};
/// Precondition: divisor > 0.
Answer<Division> divide(const ThreadForm& form, std::int64_t divisor, const ThreadBox& box);

/// Where the box is to be cut for the form to be constant on its parts at last. Precondition: it is not
/// constant on the box.
Cut cut_towards_constant(const ThreadForm& form, const ThreadBox& box);
/// The form with what is constant in the box added to its constant.
ThreadForm simplify(const ThreadForm& form, const ThreadBox& box);

}  // namespace lynxpp::ptx
