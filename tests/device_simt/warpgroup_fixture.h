// Products of a warpgroup (wgmma): operands in shared memory and registers as the ISA lays them out, and the
// product that the host computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/cpu/simt/check/finding.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {

inline constexpr unsigned warpgroup_rows = 64;

/// Layout of an operand in shared memory. `pieces`: 16-byte pieces in a row of the swizzle pattern.
struct OperandLayout {
  unsigned pieces = 1;    ///< 1 (no swizzle), 2, 4 or 8
  bool mn_major = false;  ///< transposed
  unsigned k_begin = 0;   ///< first piece in the pattern's row, K-major only
  unsigned padding = 0;   ///< patterns that stay unused between those of the matrix
  unsigned shift = 0;     ///< 128-byte rows between a multiple of 1024 and the pattern: the base offset
  bool pairs = false;     ///< tcgen05: atoms of 32 bytes; with 8 pieces and MN-major only
};

/// The location of a matrix in the image: the fields of a descriptor, in bytes.
struct PlacedMatrix {
  std::size_t begin = 0, leading = 0, stride = 0;
};
using ElementFunction = std::function<std::uint32_t(unsigned mn, unsigned k)>;
/// Appends a matrix with elements of `bits` to an image of shared memory.
PlacedMatrix place_matrix(std::vector<std::byte>& image, const OperandLayout& layout, unsigned bits,
                          unsigned mn_size, unsigned k_size, const ElementFunction& element);

struct WarpgroupCase {
  std::string d, a, b;
  unsigned n = 8;
  bool a_in_registers = false;
  OperandLayout layout_a = {}, layout_b = {};
  int scale_a = 1, scale_b = 1;
  bool adds = true;  ///< scale-d
  bool saturates = false;
  bool is_sparse = false;
  unsigned selector = 0;

  unsigned k() const;
  unsigned stored() const { return is_sparse ? k() / 2 : k(); }
  unsigned registers_of_d() const { return d == "f16" ? n / 4 : n / 2; }
  std::string opcode() const;
};

unsigned bits_of_element(const std::string& type);
double value_of_element(const std::string& type, std::uint32_t bits);
/// Returns the value of a finite float with a sign, an exponent and a mantissa.
double value_of_float(std::uint32_t bits, int exponent_bits, int mantissa_bits);
/// Returns the bits of a result of type `type`: "f32", "f16" or an integer.
std::uint32_t encode_result(const std::string& type, bool saturates, double value);
/// Returns a finite element whose products with others are far from overflow.
std::uint32_t random_element(const std::string& type, std::uint32_t random);

/// Matrices by element, as bits. For a sparse A, `positions` holds the k of each stored element.
struct WarpgroupMatrices {
  std::vector<std::vector<std::uint32_t>> a, b, c;  // [row][stored k], [k][column], [row][column]
  std::vector<std::vector<unsigned>> positions;
};
WarpgroupMatrices random_matrices(const WarpgroupCase& form, unsigned seed);
std::uint32_t expected_element(const WarpgroupCase& form, const WarpgroupMatrices& in, unsigned row,
                               unsigned column);

/// Operands as the kernel takes them.
struct WarpgroupOperands {
  std::vector<std::byte> image;         ///< shared memory
  std::uint64_t a = 0, b = 0;           ///< descriptors, relative to the image
  std::vector<std::uint32_t> a_words;   ///< [register][thread]
  std::vector<std::uint32_t> c_words;   ///< likewise
  std::vector<std::uint32_t> metadata;  ///< [thread]
};
WarpgroupOperands lay_out(const WarpgroupCase& form, const WarpgroupMatrices& in);

// Parts of kernels for 128 threads.

/// Returns "{%d0, %d1, …}" for the name "%d".
std::string operand_list(const std::string& name, unsigned count);
/// Returns PTX that copies `%words` words from `%image` to `tile`, for the async proxy. `index` is a register
/// with the thread's number, which it changes; `%at`, `%value`, `%offset` and `%more` are overwritten.
std::string image_copy(const std::string& index);
/// Returns PTX that adds the address of `tile` to the descriptors `%da` and `%db`.
std::string descriptors_at_tile();
/// Returns a descriptor's field for a number of bytes.
inline std::uint64_t descriptor_field(std::size_t bytes) { return (bytes & 0x3ffff) >> 4; }

/// Returns a kernel of one warpgroup. `code` replaces the instruction: its operands are `{%d0, …}`, `%da` or
/// `{%a0, …}`, `%db`, `%meta` and `%scale`.
std::string warpgroup_kernel(const WarpgroupCase& form, const std::string& code = {});
/// Returns the words of D, [register][thread].
std::vector<std::uint32_t> run_warpgroup(const WarpgroupCase& form, const WarpgroupOperands& operands,
                                         const std::string& kernel, std::string* failure = nullptr,
                                         LaunchChecks* checks = nullptr);
std::uint32_t element_of_d(const WarpgroupCase& form, const std::vector<std::uint32_t>& words, unsigned row,
                           unsigned column);

/// Runs the product of random matrices and compares every element of D.
void check_product(const WarpgroupCase& form, unsigned seed = 1);

}  // namespace lynxpp::device::cpu::test
