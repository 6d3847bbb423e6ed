#include "device/cuda/cuda_graph.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/cuda/graph_parts.h"
#include "device/cuda/our_calls.h"
#include "device/cuda/readback.h"
#include "device/cuda/variant.h"

namespace lynxpp::device::cuda {
namespace {

using Variants = std::vector<std::shared_ptr<Variant>>;

/// Leaks the variants of a graph whose end cannot be observed.
void leak(Variants variants) {
  static std::mutex mutex;
  static auto* const kept = new Variants;
  const std::lock_guard lock(mutex);
  kept->insert(kept->end(), variants.begin(), variants.end());
}

/// An executable graph with variants and their buffers. Lives until the last launch's results are collected.
struct Instance {
  Instance(const Driver& the_driver, Pool& the_pool) : driver(the_driver), pool(the_pool) {}
  ~Instance() {
    const InContext ours(driver, pool.context());
    if (executable != nullptr) driver.cuGraphExecDestroy(executable);
    pool.release(allocated);
    if (enqueued != over) {
      leak(std::move(variants));
    } else if (memory.address != 0) {
      pool.release_device_memory(memory);
    }
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const Driver& driver;
  Pool& pool;
  CUgraphExec executable = nullptr;
  Variants variants;  ///< launched by the graph
  Pool::Block memory;
  CUevent allocated = nullptr;  ///< recorded after the allocation; null if it is complete
  std::size_t bytes = 0;
  std::uint64_t enqueued = 0;           ///< number of submissions that use the memory
  std::atomic<std::uint64_t> over = 0;  ///< number of those known to be over
};

/// Keeps its instance alive until the copy completes.
class GraphReadback final : public Readback {
 public:
  GraphReadback(std::unique_ptr<Readback> copy, std::shared_ptr<Instance> instance)
      : copy_(std::move(copy)), instance_(std::move(instance)), submissions_(instance_->enqueued) {}
  ~GraphReadback() override {
    // Earlier submissions are over as well.
    if (copy_->wait() && instance_->over < submissions_) instance_->over = submissions_;
    copy_.reset();
  }

  std::unique_ptr<CallGroup> call_group() override { return copy_->call_group(); }
  bool ready() override { return copy_->ready(); }
  Result<std::span<std::byte>> wait() override { return copy_->wait(); }
  /// The bound covers all kernels of the graph.
  std::optional<double> max_milliseconds() override { return copy_->max_milliseconds(); }

 private:
  std::unique_ptr<Readback> copy_;
  std::shared_ptr<Instance> instance_;
  const std::uint64_t submissions_;  // number of submissions before and including the launch
};

/// A copied node's original parameters, saved while the node temporarily launches a variant.
class Original {
 public:
  Original(const Driver& driver, CUgraphNode node) : driver_(driver), node_(node) {}

  Status replace(const VariantNode& by, const VariantChoice& choose, std::uint64_t address) {
    const Result<CudaVariant*> chosen = choose(static_cast<CudaVariant&>(*by.variant), by.launch);
    if (!chosen) return chosen.error();
    CudaVariant& variant = **chosen;
    CUresult result = driver_.cuGraphKernelNodeGetParams(node_, &given_);
    if (result != CUDA_SUCCESS) return driver_.error("cuGraphKernelNodeGetParams", result);
    if (Status admitted = variant.admit(by.launch); !admitted) return admitted;
    Launch launch = by.launch;
    launch.parameters = given_.kernelParams;
    launch.extra = given_.extra;
    // The driver frees its copy of the parameters when the node is changed.
    Result<std::vector<std::byte>> buffer = parameter_buffer(launch, by.slots);
    if (!buffer) return buffer.error();
    buffer_ = std::move(*buffer);
    for (const ParameterSlot& slot : by.slots) parameters_.push_back(buffer_.data() + slot.offset);
    std::vector<std::uint64_t> probe = by.probe(address);
    std::vector<void*> with_probe = parameters_;
    if (!probe.empty()) with_probe.push_back(probe.data());
    CUDA_KERNEL_NODE_PARAMS ours = given_;
    ours.func = variant.function();
    ours.kern = nullptr;
    ours.ctx = nullptr;
    ours.sharedMemBytes = launch.shared_bytes;
    ours.kernelParams = with_probe.data();
    ours.extra = nullptr;
    result = driver_.cuGraphKernelNodeSetParams(node_, &ours);
    is_replaced_ = result == CUDA_SUCCESS;
    return is_replaced_ ? success() : Status(driver_.error("cuGraphKernelNodeSetParams", result));
  }

  /// Restores the node. False: the driver failed and the node keeps the variant.
  bool restore() {
    if (!is_replaced_) return true;
    given_.kernelParams = parameters_.data();
    given_.extra = nullptr;
    return driver_.cuGraphKernelNodeSetParams(node_, &given_) == CUDA_SUCCESS;
  }

 private:
  const Driver& driver_;
  CUgraphNode node_;
  CUDA_KERNEL_NODE_PARAMS given_{};
  std::vector<std::byte> buffer_;
  std::vector<void*> parameters_;
  bool is_replaced_ = false;
};

class CudaGraph final : public ProgramGraph {
 public:
  CudaGraph(const Driver& driver, Pool& pool, VariantChoice choice)
      : driver_(driver), pool_(pool), choose_(std::move(choice)) {}
  ~CudaGraph() override {
    pool_.release(last_);
    pool_.release(begun_);
    pool_.release_pinned_memory(results_);
  }

  Result<Launch> launch_of(const GraphCopy& copy, std::size_t kernel) override {
    const CaptureRelaxed relaxed(driver_);
    auto* const handle = static_cast<CUgraphNode>(copy.kernels[kernel]);
    CUDA_KERNEL_NODE_PARAMS given{};
    const CUresult result = driver_.cuGraphKernelNodeGetParams(handle, &given);
    if (result != CUDA_SUCCESS) return driver_.error("cuGraphKernelNodeGetParams", result);
    if (given.ctx != nullptr && given.ctx != pool_.context())
      return failure("the kernel node belongs to another context than the graph's launch");
    CUlaunchAttributeValue value{};
    Launch launch;
    launch.cooperative = driver_.cuGraphKernelNodeGetAttribute(handle, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                                               &value) == CUDA_SUCCESS &&
                         value.cooperative != 0;
    launch.function = given.func != nullptr ? static_cast<void*>(given.func) : given.kern;
    const unsigned grid[] = {given.gridDimX, given.gridDimY, given.gridDimZ};
    const unsigned block[] = {given.blockDimX, given.blockDimY, given.blockDimZ};
    std::memcpy(launch.grid, grid, sizeof grid);
    std::memcpy(launch.block, block, sizeof block);
    launch.shared_bytes = given.sharedMemBytes;
    launch.parameters = given.kernelParams;
    launch.extra = given.extra;
    return launch;
  }

  Status reserve_buffers(std::size_t bytes) override {
    const CaptureRelaxed relaxed(driver_);
    const CUstream stream = pool_.own_stream();
    if (stream == nullptr) return failure("cannot create a stream");
    const Result<Pool::Block> memory = pool_.device_memory(bytes, stream);
    if (!memory) return memory.error();
    reserved_ = std::make_shared<Instance>(driver_, pool_);
    reserved_->memory = *memory;
    reserved_->bytes = bytes;
    reserved_->allocated = pool_.recorded_event(stream);
    if (reserved_->allocated != nullptr) return success();
    reserved_.reset();
    return failure("cannot record an event after allocating a graph's memory");
  }

  Status instantiate(const GraphCopy& copy, std::span<const VariantNode> nodes) override {
    const CaptureRelaxed relaxed(driver_);
    instance_.reset();
    const std::shared_ptr<Instance> made = std::exchange(reserved_, nullptr);
    if (is_copy_damaged_) return failure("cannot restore a kernel node of the graph's copy");
    std::vector<Original> originals;
    originals.reserve(nodes.size());
    Status status = success();
    for (const VariantNode& node : nodes) {
      originals.emplace_back(driver_, static_cast<CUgraphNode>(copy.kernels[node.kernel]));
      status = originals.back().replace(node, choose_, made->memory.address);
      if (!status) break;
      made->variants.push_back(node.variant);
    }
    if (status) status = instantiate(*made, copy);
    for (Original& original : originals) is_copy_damaged_ |= !original.restore();
    if (status) instance_ = made;
    return status;
  }

  Status reserve_results() override {
    if (instance_ == nullptr) return failure("the graph has no variants");
    const std::size_t bytes = instance_->bytes;
    if (results_.address != 0 && results_.size >= bytes) return success();
    pool_.release_pinned_memory(std::exchange(results_, {}));
    const CaptureRelaxed relaxed(driver_);
    const Result<Pool::Block> pinned = pool_.pinned_memory(bytes);
    if (!pinned) return pinned.error();
    results_ = *pinned;
    return success();
  }

  Status launch(std::span<const BufferWrite> writes, const Launch& in) override {
    const CaptureRelaxed relaxed(driver_);
    const CUstream stream = stream_of(in);
    if (Status ordered = wait_for_last(stream); !ordered) return ordered;
    if (Status allocated = wait_for_memory(stream); !allocated) return allocated;
    pool_.release(std::exchange(begun_, pool_.recorded_event(stream)));
    CUresult result = driver_.cuMemsetD8Async(instance_->memory.address, 0, instance_->bytes, stream);
    if (result != CUDA_SUCCESS) return driver_.error("cuMemsetD8Async", result);
    ++instance_->enqueued;
    for (const BufferWrite& write : writes) {
      // The source is pageable: the driver has copied it when the call returns.
      result = driver_.cuMemcpyHtoDAsync(instance_->memory.address + write.offset, write.bytes.data(),
                                         write.bytes.size(), stream);
      if (result != CUDA_SUCCESS) return driver_.error("cuMemcpyHtoDAsync", result);
    }
    result = driver_.cuGraphLaunch(instance_->executable, stream);
    return result == CUDA_SUCCESS ? success() : Status(driver_.error("cuGraphLaunch", result));
  }

  Result<std::unique_ptr<Readback>> read_back(const Launch& in) override {
    const CaptureRelaxed relaxed(driver_);
    const CUstream stream = stream_of(in);
    const Pool::Block pinned = std::exchange(results_, {});
    const CUresult result = driver_.cuMemcpyDtoHAsync(reinterpret_cast<void*>(pinned.address),
                                                      instance_->memory.address, instance_->bytes, stream);
    // Record the event even if the copy failed: the graph may be running.
    const CUevent done = pool_.recorded_event(stream);
    auto readback =
        std::make_unique<GraphReadback>(make_readback(driver_, pool_, {{}, pinned, instance_->bytes, done},
                                                      {.cleared_from = std::exchange(begun_, nullptr)}),
                                        instance_);
    if (result != CUDA_SUCCESS) return driver_.error("cuMemcpyDtoHAsync", result);
    if (done == nullptr) return failure("cannot record an event after the launch");
    return std::unique_ptr<Readback>(std::move(readback));
  }

  Result<std::span<const Part>> take_apart(const GraphCopy& copy) override {
    const CaptureRelaxed relaxed(driver_);
    parts_.reset();
    Result<std::unique_ptr<GraphParts>> made = GraphParts::of(driver_, copy);
    if (!made) return made.error();
    parts_ = std::move(*made);
    return std::span<const Part>(parts_->parts());
  }

  Status launch_others(std::size_t part, const Launch& in) override {
    const CaptureRelaxed relaxed(driver_);
    return parts_->launch_others(part, stream_of(in));
  }

  void order(const Launch& in) override {
    const CaptureRelaxed relaxed(driver_);
    static_cast<void>(wait_for_last(stream_of(in)));  // the program's launch proceeds in any case
  }

  void launched(const Launch& in) override {
    const CaptureRelaxed relaxed(driver_);
    if (last_ != nullptr && driver_.cuEventRecord(last_, stream_of(in)) == CUDA_SUCCESS) return;
    pool_.release(std::exchange(last_, pool_.recorded_event(stream_of(in))));
    is_last_known_ &= last_ != nullptr;
  }

 private:
  Status wait_for_last(CUstream stream) const {
    if (!is_last_known_) return failure("cannot observe the end of an earlier launch of the graph");
    if (last_ == nullptr) return success();
    const CUresult result = driver_.cuStreamWaitEvent(stream, last_, CU_EVENT_WAIT_DEFAULT);
    return result == CUDA_SUCCESS ? success() : Status(driver_.error("cuStreamWaitEvent", result));
  }

  /// Makes the first launch wait for the allocation; later launches wait for the first.
  Status wait_for_memory(CUstream stream) {
    if (instance_->allocated == nullptr) return success();
    const CUresult result = driver_.cuStreamWaitEvent(stream, instance_->allocated, CU_EVENT_WAIT_DEFAULT);
    if (result != CUDA_SUCCESS) return driver_.error("cuStreamWaitEvent", result);
    pool_.release(std::exchange(instance_->allocated, nullptr));
    return success();
  }

  Status instantiate(Instance& made, const GraphCopy& copy) {
    const auto flags = copy.flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    CUresult result =
        driver_.cuGraphInstantiateWithFlags(&made.executable, static_cast<CUgraph>(copy.graph), flags);
    if (result != CUDA_SUCCESS) return driver_.error("cuGraphInstantiateWithFlags", result);
    for (void* const node : copy.disabled) {
      result = driver_.cuGraphNodeSetEnabled(made.executable, static_cast<CUgraphNode>(node), 0);
      if (result != CUDA_SUCCESS) return driver_.error("cuGraphNodeSetEnabled", result);
    }
    return success();
  }

  const Driver& driver_;
  Pool& pool_;
  VariantChoice choose_;
  std::shared_ptr<Instance> instance_;
  std::shared_ptr<Instance> reserved_;  // has buffers only
  std::unique_ptr<GraphParts> parts_;   // of the last take_apart()
  Pool::Block results_;                 // for the next launch
  CUevent begun_ = nullptr;             // recorded before the launch whose readback is not made yet
  CUevent last_ = nullptr;              // recorded after the last known launch
  bool is_last_known_ = true;           // false if recording failed after a launch
  bool is_copy_damaged_ = false;
};

}  // namespace

Result<std::unique_ptr<ProgramGraph>> make_program_graph(const Driver& driver, Pool& pool,
                                                         VariantChoice choice) {
  if (!driver.has_graphs()) return failure("the driver is too old to change graphs");
  return std::unique_ptr<ProgramGraph>(std::make_unique<CudaGraph>(driver, pool, std::move(choice)));
}

}  // namespace lynxpp::device::cuda
