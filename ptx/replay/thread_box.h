// Thread-dependent values as linear forms over a box of threads, and how to cut a box until a question about
// them has a uniform answer.
//
// A box is a set of threads of one launch: an interval in each of tid.x, tid.y, tid.z, ctaid.x, ctaid.y and
// ctaid.z. A form gives each thread of the box an integer. Nonlinear results (of a comparison, a remainder)
// are linear, or constant, on parts of the box: Cut says where to divide it.
//
// The lowest bits of tid.x can be dimensions of their own, each 0 or 1; dimension tid_x is the rest. Values
// that select and move these bits are then linear forms, as in Triton's layouts (Zhou et al., "Linear
// layouts", 2025): with 256 threads, (tid.x & 252) * 4 is the sum of 2^(i+2) * bit i for i from 2 to 7, which
// no cut has to find.
//
// Example: among 1000 blocks of 256 threads, 256*ctaid.x + tid.x < 255900 holds in 999 entire blocks and in
// 156 threads of the last one; two cuts determine that.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace lynxpp::ptx {

/// The first dimensions of a box, in this order.
enum class ThreadDimension : std::uint8_t { tid_x, tid_y, tid_z, ctaid_x, ctaid_y, ctaid_z };
/// They are followed by bits of tid.x, the lowest first.
inline constexpr std::size_t first_bit_dimension = 6;
inline constexpr std::size_t most_thread_bits = 10;  ///< a block has at most 1024 threads
inline constexpr std::size_t thread_dimensions = first_bit_dimension + most_thread_bits;

/// Returns a number whose lowest `width` bits are 1.
constexpr std::uint64_t bits_below(unsigned width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

struct ThreadBox {
  std::array<std::uint32_t, thread_dimensions> first{};
  std::array<std::uint32_t, thread_dimensions> last{};  ///< inclusive; first <= last

  std::uint64_t extent(std::size_t dimension) const {
    return std::uint64_t{last[dimension]} - first[dimension] + 1;
  }
  std::uint64_t threads() const;
  bool operator==(const ThreadBox&) const = default;
};

/// constant + Σ coefficient × dimension; the dimensions are relative to the grid, not to the box.
struct ThreadForm {
  std::int64_t constant = 0;
  std::array<std::int64_t, thread_dimensions> coefficients{};

  bool is_constant() const { return coefficients == std::array<std::int64_t, thread_dimensions>{}; }
  bool operator==(const ThreadForm&) const = default;
};

ThreadForm number(std::int64_t constant);
ThreadForm thread_index(ThreadDimension dimension);
/// Returns %tid.x if its lowest `bits` are dimensions of their own.
ThreadForm thread_index_in_bits(std::size_t bits);
// nullopt if a coefficient or the constant does not fit 64 bits.
std::optional<ThreadForm> add(const ThreadForm& left, const ThreadForm& right);
std::optional<ThreadForm> subtract(const ThreadForm& left, const ThreadForm& right);
std::optional<ThreadForm> multiply(const ThreadForm& form, std::int64_t factor);

__extension__ using WideNumber = __int128;
struct NumberRange {
  WideNumber least = 0;
  WideNumber greatest = 0;
};
/// Returns the least and the greatest value of a form in a box; both occur.
NumberRange range_of(const ThreadForm& form, const ThreadBox& box);

/// Divides a box in two nonempty parts: below `position` of a dimension, and the rest.
struct Cut {
  std::size_t dimension = 0;
  std::uint32_t position = 0;
};
std::array<ThreadBox, 2> divide(const ThreadBox& box, Cut cut);

/// An answer that holds for all threads of a box, or a cut that makes progress towards one. Repeated cutting
/// terminates, at the latest with single threads.
template <typename T>
struct Answer {
  std::optional<T> value;
  Cut cut;  ///< set if there is no value
};

/// Determines whether form < bound.
Answer<bool> is_less(const ThreadForm& form, WideNumber bound, const ThreadBox& box);

/// form = quotient × divisor + remainder with 0 <= remainder < divisor.
struct Division {
  ThreadForm quotient;
  ThreadForm remainder;
};
/// Precondition: divisor > 0.
Answer<Division> divide(const ThreadForm& form, std::int64_t divisor, const ThreadBox& box);

/// Returns a cut that, repeated, makes the form constant on the parts. Precondition: it is not constant on
/// the box.
Cut cut_towards_constant(const ThreadForm& form, const ThreadBox& box);
/// Returns the form with the terms that are constant in the box folded into its constant.
ThreadForm simplify(const ThreadForm& form, const ThreadBox& box);

}  // namespace lynxpp::ptx
