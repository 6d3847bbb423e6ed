#include "interposer/process_engine.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "device/cpu/runtime/process_use.h"
#include "interposer/output_path.h"
#include "interposer/this_process.h"
#include "report/cluster/device_files.h"
#include "support/log.h"
#include "support/write_signals.h"

namespace lynxpp::interposer {
namespace {

/// Functions of LYNXPP_RANGE_FUNCTION enclose what the hooks know of.
RangeReader range_reader() {
  const char* const functions = std::getenv("LYNXPP_RANGE_FUNCTION");
  return [functions = std::string(functions != nullptr ? functions : "")] {
    std::vector<std::string> ranges;
    if (!functions.empty()) ranges = function_ranges(functions);
    const lynxpp_range_source source = hooks().ranges.load();
    if (source == nullptr) return ranges;
    std::array<char, 512> few;
    const std::size_t size = source(few.data(), few.size());
    if (size == 0) return ranges;
    std::string text(few.data(), std::min(size, few.size()));
    if (size > few.size()) {
      text.assign(size, '\0');
      text.resize(std::min(size, source(text.data(), size)));
    }
    for (std::string& range : ranges_of(text)) ranges.push_back(std::move(range));
    return ranges;
  };
}

/// In which a thread's last launch was.
struct LastDevice {
  unsigned long long context = 0;  ///< its id
  device::Device* device = nullptr;
  std::uint64_t retirements = 0;  ///< when it was found
};

/// Null: it cannot be written, which has been said.
std::unique_ptr<report::Sink> open_records(const std::string& pattern, std::uint64_t device) {
  const Result<std::string> path = expand_output_path(pattern, device);
  std::unique_ptr<report::Sink> sink = path ? report::make_json_lines_sink(*path) : nullptr;
  if (!path) {
    print("error: " + path.error().diagnostics.front().message + "\n");
  } else if (sink == nullptr) {
    print("error: cannot write LYNXPP_OUTPUT '" + *path + "'\n");
  }
  return sink;
}

std::unique_ptr<report::Sink> records_sink(const std::string& pattern) {
  if (!names_device(pattern)) return open_records(pattern, 0);
  return report::make_device_files([pattern](std::uint64_t device) { return open_records(pattern, device); });
}

std::atomic<Engine*> current_engine = nullptr;
const Engine* parents_engine = nullptr;  // of a forked child; never used but to go on from

}  // namespace

void print(const std::string& text) {
  const WriteSignalsBlocked blocked;
  std::fprintf(stderr, "lynxpp: %s", text.c_str());
}

Hooks& hooks() {
  static constinit Hooks only;
  return only;
}

Engine::Engine(const Engine* parent) : ranges(range_reader()), is_of_child(parent != nullptr) {
  Diagnostics problems;
  Configuration configuration = read_configuration(problems);
  is_refused = !problems.empty();
  if (is_refused && !is_of_child) print(render(problems) + "lynxpp: the program runs uninstrumented\n");
  std::vector<std::unique_ptr<report::Sink>> sinks;
  if (!configuration.times_only() && configuration.prints_table) sinks.push_back(report::make_table_sink());
  if (!configuration.output.empty()) sinks.push_back(records_sink(configuration.output));
  sinks.push_back(results.sink());
  times = configuration.kernel_times();
  memory = configuration.memory;
  start = configuration.start;
  std::unique_ptr<report::Sink> all = report::make_tee(std::move(sinks));
  all->process(describe_process());
  session = std::make_unique<Session>(std::move(configuration), std::move(all));
  session->use_ranges(ranges);
  if (parent == nullptr) return;
  session->inherit(*parent->session);
  if (parent->results.is_kept()) results.keep();
}

bool Engine::has_started() const {
  if (start.kind == StartCondition::Kind::at_once) return true;
  if (start.kind == StartCondition::Kind::profiler) return hooks().is_profiled;
  const std::vector<std::string> now = ranges();
  return std::ranges::find(now, start.range) != now.end();
}

device::cuda::AllocationSource Engine::allocation_reader() {
  if (allocations == nullptr) allocations = std::make_shared<AllocationReader>(hooks().allocations.load());
  return [reader = allocations] { return reader->read(); };
}

std::shared_ptr<const device::LiveAllocations> Engine::live_allocations() {
  const std::lock_guard lock(mutex);
  return allocation_reader()();
}

device::Device* Engine::current_cuda_device(lynxpp_driver_lookup lookup) {
  static thread_local LastDevice last;
  CUcontext context = nullptr;
  unsigned long long id = 0;
  const std::uint64_t retirements_now = retirements.load(std::memory_order_acquire);
  if (last.device != nullptr && last.retirements == retirements_now &&
      driver->cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr &&
      driver->cuCtxGetId(context, &id) == CUDA_SUCCESS && id == last.context) {
    return last.device;
  }
  last.device = find_cuda_device(lookup, last.context);
  last.retirements = retirements_now;
  return last.device;
}

device::Device* Engine::find_cuda_device(lynxpp_driver_lookup lookup, unsigned long long& id) {
  const std::lock_guard lock(mutex);
  if (driver == nullptr) {
    Result<device::cuda::Driver> loaded = device::cuda::Driver::load(lookup);
    if (!loaded) {
      log().error("{}", loaded.error().diagnostics.front().message);
      return nullptr;
    }
    driver = std::make_unique<device::cuda::Driver>(*loaded);
  }
  CUcontext context = nullptr;
  if (driver->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return nullptr;
  if (driver->cuCtxGetId(context, &id) != CUDA_SUCCESS) return nullptr;
  std::unique_ptr<device::Device>& slot = devices[id];
  if (slot == nullptr) {
    Result<std::unique_ptr<device::Device>> made = device::cuda::make_device(*driver, allocation_reader());
    if (!made) return nullptr;
    slot = std::move(*made);
    slot->measure_kernels(times);
    slot->limit_memory(memory);
  }
  return slot.get();
}

std::vector<const device::Device*> Engine::retire(CUcontext context, int ordinal) {
  const std::lock_guard lock(mutex);
  std::vector<const device::Device*> retired;
  retirements.fetch_add(1, std::memory_order_release);
  unsigned long long id = 0;
  const bool has_id =
      context != nullptr && driver != nullptr && driver->cuCtxGetId(context, &id) == CUDA_SUCCESS;
  for (auto entry = devices.begin(); entry != devices.end();) {
    const bool ends = context != nullptr
                          ? has_id && entry->first == id
                          : entry->second != nullptr && entry->second->info().ordinal == ordinal;
    if (!ends) {
      ++entry;
      continue;
    }
    retired.push_back(entry->second.get());
    ended.push_back(std::move(entry->second));
    entry = devices.erase(entry);
  }
  return retired;
}

Result<std::string> Engine::module_text(const lynxpp_image* image, const std::string& kernel, int sm) {
  if (image == nullptr) return failure("its module was loaded before lynxpp could see it, or from a file");
  const std::span bytes(static_cast<const std::byte*>(image->bytes), image->size);
  return modules.text_of(kernel, image->id, bytes, sm);
}

Engine* made_engine() { return current_engine.load(std::memory_order_acquire); }

Engine* engine_with_timeline() {
  const Engine* const chosen = made_engine() != nullptr ? made_engine() : parents_engine;
  return chosen != nullptr && chosen->session->has_timeline() ? &engine() : nullptr;
}

Engine& engine() {
  if (Engine* const made = made_engine()) return *made;
  static std::mutex making;
  const std::lock_guard lock(making);
  if (made_engine() == nullptr) current_engine.store(new Engine(parents_engine), std::memory_order_release);
  return *made_engine();
}

bool begin_engine_in_child() {
  device::cpu::begin_in_child();
  const Engine* const inherited = made_engine();
  if (device::cpu::is_stranded() || (inherited != nullptr && inherited->driver != nullptr)) return false;
  if (inherited != nullptr) parents_engine = inherited;
  current_engine.store(nullptr);
  return true;
}

}  // namespace lynxpp::interposer
