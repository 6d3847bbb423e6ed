// Instructions on tensor memory (tcgen05), and what the host computes from the ISA's tables and figures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/simt/check/finding.h"
#include "kernel_fixture.h"
#include "warpgroup_fixture.h"

namespace lynxpp::device::cpu::test {

/// The words of tensor memory, [column][lane].
using TensorImage = std::vector<std::array<std::uint32_t, 128>>;

/// Returns words that differ from each other.
TensorImage numbered_image(unsigned columns);

/// Code between filling and reading tensor memory, for 128 threads per block.
struct TensorProgram {
  /// `%t`: the thread; `%row`: its register of 32 lanes; `%taddr`: the allocation; `%lanes`: the first lane
  /// of its warp in an address; `%da`, `%db`, `%idesc`: the operands; `%p`: true; `%first`: thread 0;
  /// `%v0` … `%v127`; `%bar`: an mbarrier object for one arrival; `%scratch`: 64 KB of global memory.
  std::string code;
  unsigned columns = 32;  ///< columns that are filled and read
  unsigned allocated = 512;
  unsigned blocks = 1;
  std::uint32_t idesc = 0;
  std::uint64_t a = 0, b = 0;            ///< descriptors, relative to the image
  std::vector<std::byte> image[2] = {};  ///< shared memory, by block
  TensorImage tensor[2] = {};            ///< by block
  std::vector<std::uint32_t> scratch = std::vector<std::uint32_t>(16384);

  std::string removed = {};  ///< text that the kernel does not have
  std::string added = {};    ///< replaces it

  std::string kernel() const;
  /// Replaces tensor[] and scratch by what the kernel leaves. Returns the failure, or an empty string.
  std::string run(LaunchChecks* checks = nullptr);

 private:
  std::string whole_kernel() const;
};

/// Loads a module for sm_100a. Writes it to the folder LYNXPP_TEST_PTX, if that is set.
std::shared_ptr<LoadedModule> load_for_blackwell(const std::string& body);

/// Code that commits the products of thread 0 and makes all threads wait for the first phase.
std::string commit_and_wait();

/// Code for a cluster of two blocks: thread 0 of the first block executes the instruction and commits to both
/// blocks, whose threads wait for the first phase.
std::string in_first_block(const std::string& instruction);

/// A matrix descriptor of tcgen05.
std::uint64_t tensor_core_descriptor(const OperandLayout& layout, const PlacedMatrix& placed);

/// A product. Types are "f16", "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "s8" or "u8".
struct TensorProduct {
  std::string kind, d, a, b;
  unsigned m = 128, n = 32;
  OperandLayout layout_a = {}, layout_b = {};
  bool a_in_tensor = false;
  bool is_stationary = false;
  unsigned blocks = 1;
  bool adds = true;
  bool negates_a = false, negates_b = false;
  bool saturates = false;
  unsigned scale_shift = 0;                  ///< scale-input-d, if not 0
  std::vector<std::uint32_t> disabled = {};  ///< disable-output-lane
  unsigned first_lane = 0;                   ///< of A and D: 0 or 16
  std::string scales = {};                   ///< "block_scale.…"
  unsigned scale_block = 0;
  unsigned scale_number = 0;      ///< SFA_ID and SFB_ID
  bool has_small_scales = false;  ///< ue4m3
  bool is_sparse = false;
  unsigned selector = 0;         ///< of the metadata's column
  std::uint64_t zero_mask = 0;   ///< zero-column mask descriptor, if not 0
  std::vector<bool> zeros = {};  ///< with a mask: columns of B that count as zeros

  unsigned k() const;
  unsigned stored() const { return is_sparse ? k() / 2 : k(); }  ///< elements of a row of A in memory
  std::string opcode() const;
  std::uint32_t idesc() const;
};
/// Runs the product of random matrices and compares every word of tensor memory.
void check_tensor_product(const TensorProduct& form, unsigned seed = 1);

}  // namespace lynxpp::device::cpu::test
