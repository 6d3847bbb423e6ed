#include "interposer/process_engine.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "device/cpu/driver/driver.h"
#include "device/cpu/runtime/process_use.h"
#include "device/cpu/runtime/runtime.h"
#include "interposer/output_path.h"
#include "interposer/this_process.h"
#include "report/cluster/device_files.h"
#include "support/log.h"
#include "support/output_file.h"
#include "support/printable.h"
#include "support/write_signals.h"

namespace lynxpp::interposer {
namespace {

/// Puts the ranges of LYNXPP_RANGE_FUNCTION outside those that the hooks know.
RangeReader range_reader() {
  const char* const functions = secure_getenv("LYNXPP_RANGE_FUNCTION");
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

/// Returns the box of a map that the hooks saw being encoded, or that the cpu device has encoded.
std::optional<TensorBox> find_tensor_box(const void* map) {
  const lynxpp_tensor_box_source source = hooks().tensor_boxes.load();
  lynxpp_tensor_box box = {};
  if (source == nullptr || source(map, &box) == 0) return device::cpu::tensor_box(map);
  return TensorBox{box.bytes, box.rank, box.is_im2col != 0, box.is_dense != 0};
}

/// Returns null if it cannot be written, after reporting that.
std::unique_ptr<report::Sink> open_records(const std::string& pattern, std::uint64_t device) {
  const Result<std::string> path = expand_output_path(pattern, device);
  if (!path) {
    print("error: " + path.error().diagnostics.front().message + "\n");
    return nullptr;
  }
  Result<Descriptor> file = open_output(*path, O_APPEND);
  if (file) return report::make_json_lines_sink(std::move(*file), *path);
  print("error: " + file.error().diagnostics.front().message + " (LYNXPP_OUTPUT)\n");
  return nullptr;
}

std::unique_ptr<report::Sink> records_sink(const std::string& pattern) {
  if (!names_device(pattern)) return open_records(pattern, 0);
  return report::make_device_files([pattern](std::uint64_t device) { return open_records(pattern, device); });
}

std::atomic<Engine*> current_engine = nullptr;
const Engine* parents_engine = nullptr;  // the parent's, in a forked child; used only to inherit from

}  // namespace

void print(const std::string& text) {
  const WriteSignalsBlocked blocked;
  std::fprintf(stderr, "lynxpp: %s", printable_lines(text).c_str());
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
  session->use_tensor_boxes(&find_tensor_box);
  if (parent == nullptr) return;
  session->inherit(*parent->session);
  if (!parent->results.is_kept()) return;
  results.keep();
  session->measure_each_launch();
}

bool Engine::has_started() const {
  if (start.kind == StartCondition::Kind::at_once) return true;
  if (start.kind == StartCondition::Kind::profiler) return hooks().is_profiled;
  const std::vector<std::string> now = ranges();
  return std::ranges::find(now, start.range) != now.end();
}

device::cuda::AllocationSource Engine::allocation_reader() {
  const Lock lock(mutex);
  if (allocations == nullptr) allocations = std::make_shared<AllocationReader>(hooks().allocations.load());
  return [reader = allocations] { return reader->read(); };
}

std::shared_ptr<const device::LiveAllocations> Engine::live_allocations() { return allocation_reader()(); }

device::Device* Engine::current_cuda_device(lynxpp_driver_lookup lookup) {
  return contexts.current_device(lookup, [this](const device::cuda::Driver& driver) {
    const bool models_times = driver.is_cpu_device && device::cpu::cpu_device().info().models_times;
    Result<std::unique_ptr<device::Device>> made =
        device::cuda::make_device(driver, allocation_reader(), models_times);
    if (!made) return std::unique_ptr<device::Device>();
    (*made)->measure_kernels(times);
    (*made)->limit_memory(memory);
    return std::move(*made);
  });
}

Result<KernelPtx> Engine::module_text(const lynxpp_image* image, const std::string& kernel, int sm) {
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
  static OwnedMutex<std::mutex> making{LockRank::engine};
  const Lock lock(making);
  if (made_engine() == nullptr) current_engine.store(new Engine(parents_engine), std::memory_order_release);
  return *made_engine();
}

bool begin_engine_in_child() {
  device::cpu::begin_in_child();
  const Engine* const inherited = made_engine();
  if (device::cpu::is_stranded() || (inherited != nullptr && inherited->contexts.driver() != nullptr))
    return false;
  if (inherited != nullptr) parents_engine = inherited;
  current_engine.store(nullptr);
  return true;
}

}  // namespace lynxpp::interposer
