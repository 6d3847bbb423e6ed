// Graphs of the program that are launched with variants in the place of kernels.
//
// The program's executable graph stays as it is. From a copy of the graph it was made from, a second
// executable graph is made in which kernel nodes launch variants; each launch of the program's may run the
// one or the other. Launches of one executable graph come one after the other, on whichever streams, which
// CUDA sees to for each of the two alone; between them this does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "support/result.h"

namespace lynxpp::device {

/// A copy of the graph that the program instantiated, with all later changes of the executable graph. Its
/// handles are valid during the call that receives them and must not be kept.
struct GraphCopy {
  void* graph = nullptr;        ///< CUgraph, nobody else's
  std::uint64_t flags = 0;      ///< it was instantiated with
  std::vector<void*> kernels;   ///< its kernel nodes, including those of child graphs
  std::vector<void*> disabled;  ///< nodes that do nothing
};

/// A kernel node that is to launch a variant.
struct VariantNode {
  std::size_t kernel = 0;  ///< index in GraphCopy::kernels
  std::shared_ptr<Variant> variant;
  Launch launch;                         ///< what kernel_of() gave, with more shared memory where wanted
  std::span<const ParameterSlot> slots;  ///< of the launch's own parameters
  /// The words of the hidden parameter, where all nodes' buffers begin at this address.
  std::function<std::vector<std::uint64_t>(std::uint64_t address)> probe;
};

/// Bytes that are written to the buffers before a launch.
struct BufferWrite {
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};

/// What belongs to one executable graph of the program's. Its calls come one after the other. `in` gives the
/// stream, and nothing else.
class ProgramGraph {
 public:
  virtual ~ProgramGraph() = default;

  /// Returns the launch of one of the copy's kernels. Its pointers are valid until the node is changed;
  /// instantiate() changes nodes. Fails if the kernel is in another context or the driver does not report it.
  virtual Result<Launch> launch_of(const GraphCopy& copy, std::size_t kernel) = 0;

  /// Takes `bytes` of memory for the buffers that instantiate() is to give. Failure: there is none now.
  virtual Status reserve_buffers(std::size_t bytes) = 0;
  /// Makes the executable graph with variants, in the place of the one before, which keeps its variants until
  /// its launches are over. The copy is afterwards what it was. Precondition: reserve_buffers() has
  /// succeeded. Failure: there is none.
  virtual Status instantiate(const GraphCopy& copy, std::span<const VariantNode> nodes) = 0;

  /// Takes host memory for the results of the next launch(). Failure: there is none now.
  virtual Status reserve_results() = 0;
  /// Zeroes the buffers, writes to them, and launches the variants' graph, all behind every launch before.
  /// Precondition: reserve_results() has succeeded. Failure: nothing was launched.
  virtual Status launch(std::span<const BufferWrite> writes, const Launch& in) = 0;
  /// Copies the buffers to the host behind that launch.
  virtual Result<std::unique_ptr<Readback>> read_back(const Launch& in) = 0;

  /// Before the program's own executable graph is launched: has the stream wait for the launches before.
  virtual void order(const Launch& in) = 0;
  /// Behind a launch of either.
  virtual void launched(const Launch& in) = 0;
};

}  // namespace lynxpp::device
