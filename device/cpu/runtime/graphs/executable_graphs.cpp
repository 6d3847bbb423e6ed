#include "device/cpu/runtime/graphs/executable_graphs.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/graphs/graph_memory.h"
#include "device/cpu/runtime/graphs/graphs.h"
#include "device/cpu/runtime/launch.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/streams.h"
#include "device/device.h"

namespace lynxpp::device::cpu {
namespace {

/// Launches a kernel node like any other launch. If lynxpp intercepts the driver API, it sees graph launches
/// there.
cudaError_t replay(const KernelCall& call, cudaStream_t stream) {
  Launch launch;
  std::copy(std::begin(call.grid), std::end(call.grid), launch.grid);
  std::copy(std::begin(call.block), std::end(call.block), launch.block);
  launch.shared_bytes = call.shared_bytes;
  launch.cooperative = call.cooperative;
  std::copy(std::begin(call.cluster), std::end(call.cluster), launch.cluster);
  launch.stream = stream;
  launch.parameters = const_cast<void**>(call.parameters.data());
  return launch_node(*call.kernel, launch, call.device,
                     DriverCall::active() ? Interception::none : Interception::allowed);
}

/// Frees memory that an earlier launch of the graph left allocated.
cudaError_t free_leftovers(const std::vector<GraphStep>& steps, cudaStream_t stream, bool frees_before) {
  for (const GraphStep& step : steps) {
    const bool allocates = step.work.type == cudaGraphNodeTypeMemAlloc && step.work.memory != nullptr;
    if (!allocates || !allocations().is_allocated(step.work.memory->storage.get())) continue;
    if (!frees_before) return cudaErrorInvalidValue;
    if (const cudaError_t error = free_graph_memory(*step.work.memory, stream); error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

/// Enqueues the nodes' work. While the stream is being captured, the work becomes part of that graph.
cudaError_t enqueue_steps(std::vector<GraphStep> steps, cudaStream_t stream, bool is_captured) {
  for (GraphStep& step : steps) {
    if (step.work.memory != nullptr && !is_captured) {
      const bool allocates = step.work.type == cudaGraphNodeTypeMemAlloc;
      const cudaError_t error = allocates ? allocate_graph_memory(step.work.memory, stream)
                                          : free_graph_memory(*step.work.memory, stream);
      if (error != cudaSuccess) return error;
      continue;
    }
    if (step.work.event != nullptr && !is_captured) {
      const cudaError_t error = step.work.type == cudaGraphNodeTypeEventRecord
                                    ? streams().record(*step.work.event, stream)
                                    : streams().wait_event(stream, *step.work.event);
      if (error != cudaSuccess) return error;
      continue;
    }
    const bool is_empty = !step.work.run && step.work.memory == nullptr && step.work.event == nullptr;
    if (is_empty || !step.is_enabled) continue;
    const bool is_launch = step.work.kernel != nullptr && !is_captured;
    const bool is_here = !is_launch || step.work.kernel->device == current_device();
    const cudaError_t error =
        is_launch ? replay(*step.work.kernel, is_here ? stream : streams().fixed_handle(stream))
                  : streams().enqueue(stream, std::move(step.work));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

/// Replaces the work of all steps. Returns false and does nothing if the shapes differ.
bool replace_work(std::span<GraphStep> into, std::vector<GraphStep>& from) {
  const bool is_same = std::equal(from.begin(), from.end(), into.begin(), into.end(),
                                  [](const auto& a, const auto& b) { return a.work.type == b.work.type; });
  for (std::size_t i = 0; is_same && i < from.size(); ++i) into[i].work = std::move(from[i].work);
  return is_same;
}

/// Returns null if the node is not part of the graph.
GraphStep* find_step(ExecutableGraph& executable, cudaGraphNode_t node) {
  const auto found = std::find_if(executable.steps.begin(), executable.steps.end(), [&](const auto& step) {
    return step.node == reinterpret_cast<const GraphNode*>(node);
  });
  return found != executable.steps.end() ? &*found : nullptr;
}

}  // namespace

ExecutableGraphs& executable_graphs() {
  static auto* const all = new ExecutableGraphs;
  return *all;
}

void ExecutableGraphs::destroy_all(int device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(executables_, [&](const auto& entry) { return entry.second->device == device; });
}

cudaError_t ExecutableGraphs::instantiate(cudaGraph_t handle, cudaGraphExec_t* made,
                                          unsigned long long flags) {
  std::optional<std::vector<GraphStep>> steps = graphs().steps_of(handle);
  if (!steps || made == nullptr) return cudaErrorInvalidValue;
  auto executable = std::make_shared<ExecutableGraph>();
  executable->steps = std::move(*steps);
  executable->device = current_device();
  executable->flags = flags;
  executable->frees_before = (flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0;
  const std::lock_guard lock(mutex_);
  *made = reinterpret_cast<cudaGraphExec_t>(executable.get());
  executables_[*made] = std::move(executable);
  return cudaSuccess;
}

bool ExecutableGraphs::destroy(cudaGraphExec_t handle) {
  const std::lock_guard lock(mutex_);
  return executables_.erase(handle) != 0;
}

std::shared_ptr<ExecutableGraph> ExecutableGraphs::find(cudaGraphExec_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = executables_.find(handle);
  return found != executables_.end() ? found->second : nullptr;
}

bool ExecutableGraphs::is_executable(cudaGraphExec_t handle) { return find(handle) != nullptr; }

cudaError_t ExecutableGraphs::flags_of(cudaGraphExec_t handle, unsigned long long* flags) {
  const auto executable = find(handle);
  if (executable == nullptr || flags == nullptr) return cudaErrorInvalidValue;
  *flags = executable->flags;
  return cudaSuccess;
}

cudaError_t ExecutableGraphs::launch(cudaGraphExec_t handle, cudaStream_t stream) {
  const auto executable = find(handle);
  if (executable == nullptr) return cudaErrorInvalidValue;
  std::vector<GraphStep> steps;
  {
    const std::lock_guard lock(mutex_);
    steps = executable->steps;
  }
  if (const cudaError_t error = streams().admit(stream); error != cudaSuccess) return error;
  if (streams().capturing(stream)) return enqueue_steps(std::move(steps), stream, true);
  const auto found = streams().find(stream);
  const std::lock_guard lock(executable->launching);
  if (executable->last != nullptr) streams().order_after(found, executable->last);
  if (const cudaError_t error = free_leftovers(steps, stream, executable->frees_before); error != cudaSuccess)
    return error;
  const cudaError_t error = enqueue_steps(std::move(steps), stream, false);
  executable->last = streams().last_of(*found);
  return error;
}

cudaError_t ExecutableGraphs::update(cudaGraphExec_t handle, cudaGraph_t from) {
  const auto executable = find(handle);
  std::optional<std::vector<GraphStep>> steps = graphs().steps_of(from);
  if (executable == nullptr || !steps) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  return replace_work(executable->steps, *steps) ? cudaSuccess : cudaErrorGraphExecUpdateFailure;
}

cudaError_t ExecutableGraphs::set_work(cudaGraphExec_t handle, cudaGraphNode_t node, Work work) {
  const auto executable = find(handle);
  if (executable == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  GraphStep* const step = find_step(*executable, node);
  if (step == nullptr || step->work.type != work.type) return cudaErrorInvalidValue;
  step->work = std::move(work);
  return cudaSuccess;
}

cudaError_t ExecutableGraphs::set_child(cudaGraphExec_t handle, cudaGraphNode_t node, cudaGraph_t from) {
  const auto executable = find(handle);
  std::optional<std::vector<GraphStep>> steps = graphs().steps_of(from);
  if (executable == nullptr || !steps) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  GraphStep* const step = find_step(*executable, node);
  if (step == nullptr || step->work.type != cudaGraphNodeTypeGraph) return cudaErrorInvalidValue;
  // The steps of the child graph follow its node's step.
  const std::span all(executable->steps);
  const auto first = static_cast<std::size_t>(step + 1 - all.data());
  if (steps->size() > all.size() - first) return cudaErrorGraphExecUpdateFailure;
  return replace_work(all.subspan(first, steps->size()), *steps) ? cudaSuccess
                                                                 : cudaErrorGraphExecUpdateFailure;
}

cudaError_t ExecutableGraphs::enable(cudaGraphExec_t handle, cudaGraphNode_t node, bool is_enabled) {
  const auto executable = find(handle);
  if (executable == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  GraphStep* const step = find_step(*executable, node);
  const bool can_be = step != nullptr && (step->work.type == cudaGraphNodeTypeKernel ||
                                          step->work.type == cudaGraphNodeTypeMemcpy ||
                                          step->work.type == cudaGraphNodeTypeMemset);
  if (!can_be) return cudaErrorInvalidValue;
  step->is_enabled = is_enabled;
  return cudaSuccess;
}

cudaError_t ExecutableGraphs::is_enabled(cudaGraphExec_t handle, cudaGraphNode_t node, bool* is_enabled) {
  const auto executable = find(handle);
  if (executable == nullptr || is_enabled == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  const GraphStep* const step = find_step(*executable, node);
  if (step == nullptr) return cudaErrorInvalidValue;
  *is_enabled = step->is_enabled;
  return cudaSuccess;
}

}  // namespace lynxpp::device::cpu
