// Memory that graph nodes allocate and free (cudaGraphAddMemAllocNode, cudaMallocAsync in a capture). Its
// address is the same in all launches of the graph. In a launch, the program may use it from the node that
// allocates it until a node or a call frees it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lynxpp::device::cpu {

struct GraphMemory {
  std::shared_ptr<void> storage;
  std::size_t bytes = 0;
  cudaMemPool_t pool = nullptr;  ///< null for the default pool of graphs
  int device = 0;

  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(storage.get()); }
  GraphMemory() = default;
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
};

/// Creates memory for a node of the current device. Returns null if no memory is available.
std::shared_ptr<const GraphMemory> make_graph_memory(std::size_t bytes, cudaMemPool_t pool);
/// Returns the graph memory that starts at the address, or null.
std::shared_ptr<const GraphMemory> find_graph_memory(const void* pointer);
/// True if the bytes are within memory of a graph, whether or not a launch has allocated it.
bool is_graph_memory(const void* pointer, std::size_t bytes);

/// Executes an allocating node of a launch, or a freeing node. Errors: cudaErrorMemoryAllocation;
/// cudaErrorInvalidValue if the memory is not allocated.
cudaError_t allocate_graph_memory(const std::shared_ptr<const GraphMemory>& memory, cudaStream_t stream);
cudaError_t free_graph_memory(const GraphMemory& memory, cudaStream_t stream);

/// Adds such a node to the graph that the stream is being captured into.
cudaError_t capture_allocation(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
/// Errors: cudaErrorInvalidValue if the memory does not belong to a graph.
cudaError_t capture_free(const void* pointer, cudaStream_t stream);

/// Device memory held by graphs: current and maximum.
struct GraphMemoryUse {
  std::uint64_t used = 0;
  std::uint64_t most_used = 0;
  std::uint64_t reserved = 0;
  std::uint64_t most_reserved = 0;
};
GraphMemoryUse graph_memory_use(int device);
/// Resets the maximum to the current value.
void reset_most_graph_memory(int device, bool of_used);

}  // namespace lynxpp::device::cpu
