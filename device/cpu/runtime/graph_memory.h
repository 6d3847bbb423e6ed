// Memory that nodes of graphs allocate and free (cudaGraphAddMemAllocNode, cudaMallocAsync in a capture). It
// has one address for all launches of its graph, and is the program's from the node of a launch that
// allocates it to the one that frees it, or to a call that does.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lynxpp::device::cpu {

struct GraphMemory {
  std::shared_ptr<void> storage;
  std::size_t bytes = 0;
  cudaMemPool_t pool = nullptr;  ///< null: that of the device's graphs
  int device = 0;

  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(storage.get()); }
  GraphMemory() = default;
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
};

/// For a node of the current device. Null: there is no memory.
std::shared_ptr<const GraphMemory> make_graph_memory(std::size_t bytes, cudaMemPool_t pool);
/// That which begins at the address; null when it is no graph's.
std::shared_ptr<const GraphMemory> find_graph_memory(const void* pointer);

/// What a launch does at a node that allocates (`frees_before`: also what an earlier launch has allocated and
/// nobody has freed), and at one that frees. Errors: cudaErrorMemoryAllocation; cudaErrorInvalidValue where
/// it is not allocated.
cudaError_t allocate_graph_memory(const std::shared_ptr<const GraphMemory>& memory, cudaStream_t stream);
cudaError_t free_graph_memory(const GraphMemory& memory, cudaStream_t stream);

/// Puts such a node into the graph that captures the stream.
cudaError_t capture_allocation(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
/// Errors: cudaErrorInvalidValue for memory that is no graph's.
cudaError_t capture_free(const void* pointer, cudaStream_t stream);

/// Bytes of the device that graphs have, and the most so far.
struct GraphMemoryUse {
  std::uint64_t used = 0;
  std::uint64_t most_used = 0;
  std::uint64_t reserved = 0;
  std::uint64_t most_reserved = 0;
};
GraphMemoryUse graph_memory_use(int device);
/// From now on the most is what it is now.
void reset_most_graph_memory(int device, bool of_used);

}  // namespace lynxpp::device::cpu
