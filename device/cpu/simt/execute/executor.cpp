#include "device/cpu/simt/execute/executor.h"

#include <sched.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "device/cpu/simt/check/launch_check.h"
#include "device/cpu/simt/check/written_memory.h"
#include "device/cpu/simt/execute/counters/clock.h"
#include "device/cpu/simt/execute/counters/timed_launch.h"
#include "device/cpu/simt/execute/device_launches.h"
#include "device/cpu/simt/execute/launch_control.h"
#include "device/cpu/simt/execute/launch_state.h"
#include "device/cpu/simt/execute/memory/block_memory.h"
#include "device/cpu/simt/execute/memory/device_heap.h"
#include "device/cpu/simt/execute/memory/module_storage.h"
#include "device/cpu/simt/execute/occupancy.h"
#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/execute/order/explore.h"
#include "device/cpu/simt/execute/order/resident_blocks.h"
#include "device/cpu/simt/execute/order/worker_pool.h"
#include "ptx/ir/directives.h"
#include "ptx/parser/parser.h"
#include "support/log.h"
#include "support/setting.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::uint64_t largest_block = 1024;

/// Returns three extents after `directive`, padded with 1; nullopt if it is absent.
std::optional<Dim3> extents_after(const ptx::Module& module, const ptx::Function& kernel,
                                  std::string_view directive) {
  std::vector<std::uint32_t> extents = ptx::directive_values(module, kernel, directive);
  if (extents.empty()) return std::nullopt;
  extents.resize(3, 1);
  return Dim3{extents[0], extents[1], extents[2]};
}

/// Returns null if the launch is not cooperative or there is no memory. Kernels may access the workspace.
auto make_workspace(const LaunchShape& shape, GlobalMemory& memory) {
  const auto release = [&memory](GridWorkspace* workspace) { memory.free_for_kernel(workspace); };
  void* const place = shape.cooperative ? memory.allocate_for_kernel(sizeof(GridWorkspace)) : nullptr;
  return std::unique_ptr<GridWorkspace, decltype(release)>(
      place != nullptr ? new (place) GridWorkspace : nullptr, release);
}

class SimtModule final : public LoadedModule {
 public:
  SimtModule(ptx::Module module, ModuleStorage storage, std::string name, GlobalMemory& memory)
      : module_(std::move(module)), storage_(std::move(storage)), name_(std::move(name)), memory_(memory) {}

  std::vector<std::string> kernel_names() const override;
  Result<KernelInfo> kernel(const std::string& name) override { return info_of(name); }
  std::optional<VariableStorage> variable(const std::string& name) override;
  std::vector<std::pair<std::string_view, VariableStorage>> variables() override;
  Status compile(const std::string& kernel, CodeKind kind) override {
    const Compiled compiled = program(kernel, kind);
    return compiled ? success() : Status(compiled.error());
  }
  Status launch(const std::string& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
                LaunchCounters* counters, LaunchClock* clock, LaunchChecks* checks) override;

 private:
  using Compiled = Result<std::shared_ptr<const Program>>;
  Status launch_grid(const std::string& kernel, const LaunchShape& shape,
                     std::span<const std::byte> parameters, LaunchCounters* counters, LaunchClock* clock,
                     LaunchChecks* checks, DeviceLaunches& made);
  std::optional<DeviceLaunches::Kernel> kernel_of(std::uint64_t token);
  Result<std::uint32_t> find_kernel(const std::string& name) const;
  Result<KernelInfo> make_info(const std::string& name);
  const Result<KernelInfo>& info_of(const std::string& name);
  Compiled program(const std::string& kernel, CodeKind kind);
  template <typename Prepare>
  Status launch_explored(const std::string& kernel, const std::shared_ptr<const Program>& order_1,
                         const LaunchShape& shape, const Prepare& prepare, LaunchChecks& checks,
                         LaunchCounters* counters);
  Status check(const KernelInfo& info, const LaunchShape& shape) const;

  std::mutex mutex_;  // guards everything below except the contents of the storage
  ptx::Module module_;
  const ModuleStorage storage_;
  const std::string name_;
  GlobalMemory& memory_;
  std::map<std::string, Result<KernelInfo>> infos_;
  std::map<std::string, Program> plans_;  ///< kernels that have not been compiled
  std::map<std::string, std::map<CodeKind, Compiled>> programs_;
};

/// Sets the thread's floating-point environment to what kernels expect, regardless of the program's own
/// rounding and flush modes, and restores it at the end.
class DefaultArithmetic {
#ifdef __SSE__
 public:
  DefaultArithmetic() {
    if ((before_ & ~happened) != usual) _mm_setcsr(usual);
  }
  ~DefaultArithmetic() { _mm_setcsr(before_); }

 private:
  // Kernel code has no x87 instructions; setting both environments took 7% of a worker's time in short
  // launches.
  static constexpr unsigned usual = 0x1f80;   // all exceptions masked, round to nearest, no flushing
  static constexpr unsigned happened = 0x3f;  // status flags, which have no effect
  const unsigned before_ = _mm_getcsr();
#else
 public:
  DefaultArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultArithmetic() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
#endif
};

/// Returns the number of processors that this process may use; with a single one, thread blocks run in order.
std::uint32_t processors() {
  static const std::uint32_t count = [] {
    cpu_set_t processors;
    if (sched_getaffinity(0, sizeof(processors), &processors) == 0)
      return std::max(1u, static_cast<std::uint32_t>(CPU_COUNT(&processors)));
    return std::max(1u, std::thread::hardware_concurrency());
  }();
  return count;
}

/// `timed_blocks`: resident blocks of a multiprocessor, if the launch has a clock. `counters` may be null.
Status run(LaunchState& launch, std::uint32_t timed_blocks, LaunchCounters* counters) {
  const bool alone = launch.clock != nullptr || launch.check != nullptr;
  const auto workers =
      alone ? 1u : static_cast<unsigned>(std::min<std::uint64_t>(processors(), launch.clusters()));
  launch.resident_blocks *= (launch.multiprocessors + workers - 1) / workers;
  std::vector<WorkerCounts> counts;
  if (counters != nullptr) counts.assign(workers, WorkerCounts(*launch.program, counters->words.has_value()));
  std::vector<Status> results(workers, success());
  launch.queue.emplace(launch.clusters(), workers);
  run_on_workers(workers, [&](unsigned worker) {
    const DefaultArithmetic arithmetic;
    WorkerCounts* const own = counters != nullptr ? &counts[worker] : nullptr;
    results[worker] = launch.clock != nullptr ? run_timed(launch, *launch.clock, timed_blocks, own)
                                              : ResidentBlocks(launch, worker, own).run();
    if (!results[worker]) launch.failed.store(true, std::memory_order_relaxed);
  });
  for (const Status& result : results) {
    if (!result) return result;
  }
  const std::string& kernel = launch.program->functions[0].name;
  if (launches_abandoned()) return failure("kernel '" + kernel + "': the program ended while it was running");
  if (counters != nullptr) *counters = collect_counters(*launch.program, counts);
  return success();
}

/// A checked launch continues after illegal accesses; it fails at its end with the first one.
Status run_checked(LaunchState& launch, LaunchChecks& checks, LaunchCounters* counters) {
  const Program& program = *launch.program;
  LaunchCheck check(program.shared, program.accesses, launch.shape, *launch.memory, checks, launch.explored);
  launch.check = &check;
  Status ran = run(launch, 0, counters);
  check.finish();
  return check.first_failure() ? Status(*check.first_failure()) : ran;
}

std::vector<std::string> SimtModule::kernel_names() const {
  std::vector<std::string> names;
  for (const ptx::Function& function : module_.functions) {
    if (function.is_entry && !function.is_declaration()) names.push_back(function.name);
  }
  return names;
}

Result<std::uint32_t> SimtModule::find_kernel(const std::string& name) const {
  for (std::uint32_t i = 0; i < module_.functions.size(); ++i) {
    const ptx::Function& function = module_.functions[i];
    if (function.is_entry && !function.is_declaration() && function.name == name) return i;
  }
  return failure(name_ + ": no kernel '" + name + "'");
}

/// Returns a reference that is valid for the module's lifetime.
const Result<KernelInfo>& SimtModule::info_of(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto known = infos_.find(name);
  return known != infos_.end() ? known->second : infos_.emplace(name, make_info(name)).first->second;
}

/// Precondition: `mutex_` is held.
Result<KernelInfo> SimtModule::make_info(const std::string& name) {
  const Result<std::uint32_t> index = find_kernel(name);
  if (!index) return index.error();
  Result<Program> planned = plan_program(module_, *index, name_);
  if (!planned) return planned.error();
  const ptx::Function& function = module_.functions[*index];
  KernelInfo info;
  info.name = name;
  const ParameterLayout layout(function);
  for (const ptx::Variable& parameter : function.parameters) {
    info.parameters.push_back(
        {layout.offsets.at(parameter.name), static_cast<std::uint32_t>(parameter.size_bytes())});
    info.parameter_alignment = std::max(info.parameter_alignment, parameter.alignment);
  }
  info.parameter_bytes = static_cast<std::uint32_t>(layout.bytes);
  info.static_shared_bytes = planned->shared.static_bytes;
  info.local_bytes = static_cast<std::uint32_t>(planned->local_bytes);
  info.max_threads = ptx::most_threads(module_, function);
  info.cluster = extents_after(module_, function, ".reqnctapercluster");
  info.needs_cluster =
      ptx::directives_of(module_, function).find(".explicitcluster") != std::string_view::npos;
  if (const auto most = extents_after(module_, function, ".maxclusterrank")) info.max_cluster_rank = most->x;
  for (const ptx::RegisterDeclaration& declaration : function.body->registers) {
    info.registers += std::max(declaration.count, 1u);
  }
  plans_.emplace(name, std::move(*planned));
  return info;
}

std::optional<VariableStorage> SimtModule::variable(const std::string& name) {
  const auto found = storage_.symbols().variables.find(name);
  if (found == storage_.symbols().variables.end()) return std::nullopt;
  return VariableStorage{found->second.address, found->second.bytes};
}

std::vector<std::pair<std::string_view, VariableStorage>> SimtModule::variables() {
  std::vector<std::pair<std::string_view, VariableStorage>> all;
  for (const auto& [name, storage] : storage_.symbols().variables)
    all.emplace_back(name, VariableStorage{storage.address, storage.bytes});
  return all;
}

SimtModule::Compiled SimtModule::program(const std::string& kernel, CodeKind kind) {
  const std::lock_guard lock(mutex_);
  const auto programs = programs_.find(kernel);
  if (programs != programs_.end()) {
    if (const auto known = programs->second.find(kind); known != programs->second.end()) return known->second;
  }
  const Result<std::uint32_t> index = find_kernel(kernel);
  if (!index) return index.error();
  auto plan = plans_.extract(kernel);
  const bool serves = !plan.empty() && !kind.timed && !kind.checked;
  Result<Program> planned =
      serves ? Result<Program>(std::move(plan.mapped())) : plan_program(module_, *index, name_, kind);
  return programs_[kernel]
      .emplace(kind, planned ? compile_program(std::move(*planned), module_, storage_.symbols(), kind, name_)
                             : Compiled(planned.error()))
      .first->second;
}

/// Fails unless clusters divide the grid evenly and match the kernel's requirements.
Status check_cluster(const KernelInfo& info, const LaunchShape& shape) {
  if (!shape.cluster && !info.needs_cluster) return success();
  const std::string kernel = "kernel '" + info.name + "': ";
  if (!shape.cluster) return failure(kernel + "it must be launched in clusters");
  const Dim3& each = *shape.cluster;
  const Dim3& grid = shape.grid;
  const std::string text =
      std::to_string(each.x) + " x " + std::to_string(each.y) + " x " + std::to_string(each.z);
  const std::uint64_t blocks = std::uint64_t{each.x} * each.y * each.z;
  if (blocks == 0 || blocks > most_cluster_blocks || grid.x % each.x != 0 || grid.y % each.y != 0 ||
      grid.z % each.z != 0)
    return failure(kernel + "clusters of " + text + " blocks do not divide the grid or are too large");
  if (info.max_cluster_rank != 0 && blocks > info.max_cluster_rank)
    return failure(kernel + "clusters of " + text + " blocks exceed its .maxclusterrank");
  if (info.cluster && (info.cluster->x != each.x || info.cluster->y != each.y || info.cluster->z != each.z))
    return failure(kernel + "clusters of " + text + " blocks differ from its .reqnctapercluster");
  return success();
}

Status SimtModule::check(const KernelInfo& info, const LaunchShape& shape) const {
  const std::uint64_t threads = std::uint64_t{shape.block.x} * shape.block.y * shape.block.z;
  const bool empty = threads == 0 || shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0;
  const bool huge =
      shape.block.x > largest_block || shape.block.y > largest_block || shape.block.z > largest_block;
  if (empty || huge || threads > info.max_threads) {
    return failure("kernel '" + info.name + "': a block of " + std::to_string(shape.block.x) + " x " +
                   std::to_string(shape.block.y) + " x " + std::to_string(shape.block.z) +
                   " threads cannot be launched; the kernel takes 1 to " + std::to_string(info.max_threads));
  }
  return check_cluster(info, shape);
}

/// Returns the parameters at an address with the alignment that the kernel declares; copies them to `storage`
/// if necessary.
const std::byte* aligned_parameters(std::span<const std::byte> parameters, std::uint32_t alignment,
                                    AlignedBuffer& storage) {
  if (reinterpret_cast<std::uintptr_t>(parameters.data()) % alignment == 0) return parameters.data();
  std::byte* const copy = storage.reserve(parameters.size());
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, parameters.data(), parameters.size());
  return copy;
}

std::optional<DeviceLaunches::Kernel> SimtModule::kernel_of(std::uint64_t token) {
  const std::uint32_t function = ModuleSymbols::function_of_token(token);
  if (function >= module_.functions.size() || !module_.functions[function].is_entry) return std::nullopt;
  const std::string& name = module_.functions[function].name;
  const Result<KernelInfo>& info = info_of(name);
  if (!info) {
    log().error("kernel {} cannot be launched by device code: {}", demangle(name),
                info.error().diagnostics.front().message);
    return std::nullopt;
  }
  return DeviceLaunches::Kernel{name, info->parameter_bytes};
}

Status SimtModule::launch(const std::string& kernel, const LaunchShape& shape,
                          std::span<const std::byte> parameters, LaunchCounters* counters, LaunchClock* clock,
                          LaunchChecks* checks) {
  DeviceLaunches made(memory_, [this](std::uint64_t token) { return kernel_of(token); });
  Status ran = launch_grid(kernel, shape, parameters, counters, clock, checks, made);
  // A grid is over when those that it has launched are.
  for (auto next = made.next(); ran && next; next = made.next()) {
    ran = launch_grid(next->kernel, next->shape, next->parameters, nullptr, nullptr, checks, made);
    if (!ran) log().error("kernel {}, launched by device code, failed", demangle(next->kernel));
  }
  return ran;
}

Status SimtModule::launch_grid(const std::string& kernel_name, const LaunchShape& requested,
                               std::span<const std::byte> parameters, LaunchCounters* counters,
                               LaunchClock* clock, LaunchChecks* checks, DeviceLaunches& made) {
  const Result<KernelInfo>& info = info_of(kernel_name);
  if (!info) return info.error();
  LaunchShape shape = requested;
  if (!shape.cluster) shape.cluster = info->cluster;
  // The model runs multiprocessors one after the other and cannot keep a cluster's blocks resident together.
  if (shape.cluster || checks != nullptr) clock = nullptr;
  if (Status checked = check(*info, shape); !checked) return checked;
  if (parameters.size() < info->parameter_bytes) {
    return failure("kernel '" + kernel_name + "': its parameters take " +
                   std::to_string(info->parameter_bytes) + " bytes, " + std::to_string(parameters.size()) +
                   " were given");
  }
  const Compiled compiled = program(kernel_name, {counters != nullptr, clock != nullptr, checks != nullptr});
  if (!compiled) return compiled.error();
  static std::atomic<std::uint64_t> launches{0};
  const std::uint64_t grid_id = launches.fetch_add(1) + 1;
  AlignedBuffer aligned;
  const auto workspace = make_workspace(shape, memory_);
  if (shape.cooperative && workspace == nullptr)
    return failure("kernel '" + kernel_name + "': no memory for the barrier of its grid");
  if (WrittenMemory* const written = written_memory(); written != nullptr && workspace != nullptr)
    written->write(reinterpret_cast<std::uintptr_t>(workspace.get()), sizeof(GridWorkspace));
  const std::byte* const values = aligned_parameters(parameters, info->parameter_alignment, aligned);
  const auto prepare = [&](LaunchState& launch, const Program& program) {
    launch.program = &program;
    launch.shape = shape;
    launch.parameters = values;
    launch.memory = &memory_;
    launch.grid_id = grid_id;
    launch.device_launches = &made;
    launch.name = name_;
    launch.workspace = workspace.get();
    launch.local_bytes = program.local_bytes;
    if (program.has_unbounded_stack) launch.local_bytes += align_up(stack_limit(memory_.device()), 16);
    launch.resident_blocks = static_cast<std::size_t>(
        std::max(1, resident_blocks(*info, static_cast<int>(launch.threads()), shape.shared_bytes)));
    launch.report.next = first_running_report().load();
    launch.multiprocessors = multiprocessors();
  };
  const bool may_repeat =
      checks != nullptr && checks->selection.init && (*compiled)->shared.bytes(shape.shared_bytes) != 0;
  if (checks != nullptr && (explores(*checks) || may_repeat))
    return launch_explored(kernel_name, *compiled, shape, prepare, *checks, counters);
  LaunchState launch;
  prepare(launch, **compiled);
  if (checks != nullptr) return run_checked(launch, *checks, counters);
  std::uint32_t timed_blocks = 0;
  if (clock != nullptr) {
    timed_blocks = models::occupancy(clock->device.machine(),
                                     {launch.threads(), 0, info->static_shared_bytes + shape.shared_bytes})
                       .blocks;
    if (timed_blocks == 0)
      return failure("kernel '" + kernel_name + "': a block does not fit " + clock->device.machine().name);
  }
  launch.clock = clock;
  return run(launch, timed_blocks, counters);
}

/// True if the program stores to surfaces, whose memory is not in GlobalMemory.
bool stores_to_surfaces(const Program& program) {
  return std::ranges::any_of(program.functions, [](const CompiledFunction& function) {
    return std::ranges::any_of(function.function->body->instructions, [](const ptx::Instruction& each) {
      return each.op() == ptx::Op::sust || each.op() == ptx::Op::sured;
    });
  });
}

/// Runs the launch in the orders that `checks` asks for. `counters` receives the counts of order 1.
template <typename Prepare>
Status SimtModule::launch_explored(const std::string& kernel, const std::shared_ptr<const Program>& order_1,
                                   const LaunchShape& shape, const Prepare& prepare, LaunchChecks& checks,
                                   LaunchCounters* counters) {
  const Compiled finer =
      explores(checks) ? program(kernel, {counters != nullptr, false, true, true}) : order_1;
  if (!finer) return finer.error();
  ExplorableLaunch launch{.name = name_ + ": " + kernel, .shape = shape, .memory = &memory_};
  if (stores_to_surfaces(*order_1)) launch.obstacle = "the kernel stores to surfaces";
  launch.run = [&](ExploredRun& run_of, LaunchChecks& found) {
    const bool is_first = !run_of.is_repetition();
    LaunchState state;
    prepare(state, run_of.schedule == nullptr ? *order_1 : **finer);
    state.explored = &run_of;
    LaunchCounters discarded;
    if (counters != nullptr && counters->words) discarded.words.emplace();
    return run_checked(state, found, counters == nullptr || is_first ? counters : &discarded);
  };
  return explore(launch, checks);
}

}  // namespace

Result<std::shared_ptr<LoadedModule>> load_module(std::string ptx, const std::string& name,
                                                  GlobalMemory& memory, const SharedVariables& shared) {
  Result<ptx::Module> module = ptx::parse_module(std::move(ptx), name);
  if (!module) return module.error();
  Result<ModuleStorage> storage = ModuleStorage::create(*module, name, shared);
  if (!storage) return storage.error();
  return std::shared_ptr<LoadedModule>(
      std::make_shared<SimtModule>(std::move(*module), std::move(*storage), name, memory));
}

int compute_capability() {
  static const int wanted = [] {
    const char* const value = setting("LYNXPP_CPU_CAPABILITY");
    const std::string_view text = value != nullptr ? value : "";
    if (text == "100") return 100;
    if (!text.empty() && text != "90")
      log().error("'{}' is not a valid LYNXPP_CPU_CAPABILITY, which must be 90 or 100; using 90", text);
    return 90;
  }();
  return wanted;
}

// Persistent kernels divide it by the size of their clusters.
std::uint32_t multiprocessors() { return std::max(processors(), most_cluster_blocks); }

}  // namespace lynxpp::device::cpu
