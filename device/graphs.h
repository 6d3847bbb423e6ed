// Launches of CUDA graphs in which kernel nodes run variants.
//
// The program's executable graph is not modified. A second executable graph, whose kernel nodes launch
// variants, is instantiated from a copy of the graph from which the program instantiated its own. Each launch
// of the program runs one of the two. CUDA serializes the launches of one executable graph, on whichever
// streams; ProgramGraph serializes launches of the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/device.h"
#include "support/result.h"

namespace lynxpp::device {

/// A copy of the graph that the program instantiated, with all later updates of the executable graph applied.
/// Its handles are valid during the call that receives them and must not be kept.
struct GraphCopy {
  void* graph = nullptr;        ///< CUgraph, owned by this copy
  std::uint64_t flags = 0;      ///< of the program's instantiation
  std::vector<void*> kernels;   ///< kernel nodes, including those of child graphs
  std::vector<void*> disabled;  ///< disabled nodes
};

/// A kernel node that launches a variant.
struct VariantNode {
  std::size_t kernel = 0;  ///< index in GraphCopy::kernels
  std::shared_ptr<Variant> variant;
  Launch launch;                         ///< result of launch_of(), with more shared memory if required
  std::span<const ParameterSlot> slots;  ///< the launch's own parameters
  /// Returns the values of the hidden parameter if the buffers of all nodes start at `address`.
  std::function<std::vector<std::uint64_t>(std::uint64_t address)> probe;
};

/// Bytes that are written to the buffers before a launch.
struct BufferWrite {
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};

/// State for one executable graph of the program. Calls are serialized. From `in`, only the stream is used.
class ProgramGraph {
 public:
  virtual ~ProgramGraph() = default;

  /// Returns the launch of one of the copy's kernels. Its pointers are valid until the node changes;
  /// instantiate() changes nodes. Fails if the kernel belongs to another context or the driver does not
  /// report it.
  virtual Result<Launch> launch_of(const GraphCopy& copy, std::size_t kernel) = 0;

  /// Reserves `bytes` of device memory for the buffers of the next instantiate(). Fails if none is available.
  virtual Status reserve_buffers(std::size_t bytes) = 0;
  /// Instantiates the executable graph with variants. It replaces the previous one, whose variants stay
  /// loaded until its launches are over. The copy is restored afterwards. Fails if no such graph can be
  /// instantiated.
  /// Precondition: reserve_buffers() succeeded.
  virtual Status instantiate(const GraphCopy& copy, std::span<const VariantNode> nodes) = 0;

  /// Reserves host memory for the results of the next launch(). Fails if none is available.
  virtual Status reserve_results() = 0;
  /// Zeroes the buffers, applies `writes`, and launches the variants' graph, ordered after all earlier
  /// launches. If it fails, nothing was launched.
  /// Precondition: reserve_results() succeeded.
  virtual Status launch(std::span<const BufferWrite> writes, const Launch& in) = 0;
  /// Copies the buffers to the host after that launch.
  virtual Result<std::unique_ptr<Readback>> read_back(const Launch& in) = 0;

  /// A kernel of the graph, or other nodes.
  struct Part {
    std::optional<std::size_t> kernel = {};  ///< index in GraphCopy::kernels; nullopt: other nodes
  };
  /// Takes the graph apart, for launches of its enabled nodes one after another. The parts are valid until
  /// the next call. Fails if the graph can only be launched as it is.
  virtual Result<std::span<const Part>> take_apart(const GraphCopy& copy);
  /// Launches the other nodes of a part. If it fails, nothing was launched.
  virtual Status launch_others(std::size_t part, const Launch& in);

  /// Makes the stream wait for earlier launches. Call it before launching the program's own executable graph.
  virtual void order(const Launch& in) = 0;
  /// Records a launch. Call it after launching either executable graph.
  virtual void launched(const Launch& in) = 0;
};

}  // namespace lynxpp::device
