#include "interposer/trials/trials.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <iterator>
#include <limits>
#include <set>

#include "engine/memory_effects.h"
#include "interposer/trials/counted.h"
#include "interposer/trials/equal_results.h"
#include "interposer/trials/moving.h"
#include "interposer/trials/one_block_fewer.h"
#include "support/log.h"
#include "support/own_stack.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

using Clock = std::chrono::steady_clock;
using models::limits::native_trial;

/// Launch shapes of a kernel that are tried.
constexpr std::uint64_t most_shapes = 8;
/// Limit on the time that one launch of the program is delayed by repetitions, and on waiting for the device.
constexpr std::chrono::milliseconds most_repetition_time(10'000);
constexpr std::chrono::milliseconds patience(1000);
/// A subject's launches are not repeated after this many attempts that took too long.
constexpr unsigned most_failed_repetitions = 3;
/// A launch that takes longer than the repeated one by this factor is repeated instead: what the longest
/// launches cost matters most.
constexpr double much_longer = 2;
constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

std::string message_of(const Failure& failure) {
  return failure.diagnostics.empty() ? "unknown reason" : failure.diagnostics.front().message;
}

void add_note(std::vector<std::string>& notes, const std::string& note) {
  if (!note.empty() && std::ranges::count(notes, note) == 0) notes.push_back(note);
}

std::string joined(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += (text.empty() ? "" : "; ") + note;
  return text;
}

/// Waits until the launch is over, without the driver's unlimited wait. Returns false if it is not by then.
bool is_over_by(device::Readback& readback, Clock::time_point latest) {
  constexpr std::chrono::microseconds step(50);
  while (!readback.ready()) {
    if (Clock::now() > latest) return false;
    std::this_thread::sleep_for(step);
  }
  return true;
}

/// Runs `work` with room for a parser, which recurses.
template <typename T>
Result<T> with_stack(const std::function<Result<T>()>& work) {
  constexpr std::size_t parsers_stack = std::size_t{1} << 20;
  Result<T> result = failure("not enough memory for a stack");
  try {
    run_with_stack(parsers_stack, [&] { result = work(); });
  } catch (const std::exception& error) {
    return failure(std::string("internal failure: ") + error.what());
  }
  return result;
}

std::vector<report::TrialRecord::Site> recorded(const std::vector<ptx::PerturbedSite>& sites) {
  std::vector<report::TrialRecord::Site> all;
  for (const ptx::PerturbedSite& each : sites)
    all.push_back({each.ptx_line, each.file, each.line, each.opcode, each.note, !each.is_perturbed});
  return all;
}

}  // namespace

/// A launch of the program.
struct Trials::Call {
  device::Device& device;
  const device::Launch& launch;
  const KernelSource& source;
};

/// The original or one variant of a subject.
struct Trials::Variant {
  std::optional<ptx::Perturbation> perturbation = {};  ///< nullopt: the original
  std::vector<ptx::PerturbedSite> sites = {};
  std::vector<double> ms = {};
  bool is_described = false;  ///< the next three are known, if the device reports them
  std::uint64_t registers = 0;
  std::uint64_t local_bytes = 0;
  std::uint32_t blocks = 0;
  std::uint64_t repetitions = 0;
  std::uint64_t unmeasured = 0;             ///< launches without a time
  std::vector<std::uint64_t> results = {};  ///< ptx::result_words of a variant that counts
  bool has_exact_maps = false;              ///< MapSize::is_exact of the last launch
  std::string comparison = {};              ///< TrialRecord::results
  std::vector<std::string> notes = {};
};

struct Trials::Subject {
  std::string kernel;
  std::string module;
  std::string device;
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> block = {1, 1, 1};
  std::uint32_t shared_bytes = 0;
  bool models_times = false;  ///< DeviceInfo::models_times
  std::uint64_t launches = 0;
  std::uint64_t launches_with_other_shapes = 0;
  bool is_taken = false;  ///< a thread is making its trials: other threads' launches run untimed
  bool is_prepared = false;
  bool is_done = false;      ///< nothing is left to try
  unsigned schedule = 0;     ///< number of earlier schedules
  double repeated_ms = 0;    ///< of the launch whose repetitions ended the schedule; 0: none did
  std::size_t compared = 0;  ///< launches that were compared with it
  std::vector<ClassSites> classes;
  std::unique_ptr<Turns> turns;
  std::map<TrialId, Variant> variants;  ///< always has the original
  std::vector<Variant> refused;         ///< variants that cannot be made
  // Used by the thread that has taken it:
  std::optional<engine::MemoryEffects> effects;       ///< nullopt: launches are not repeated
  std::optional<Result<std::vector<double>>> moving;  ///< of moving its bytes; nullopt: not measured yet
  bool reads_shared_size = false;  ///< the kernel may depend on the amount of dynamic shared memory
  unsigned failed_repetitions = 0;
  std::string obstacle;  ///< why the last launch was not repeated

  Variant& original() { return variants[native_trial]; }
};

Trials::Trials(TrialChoices choices) : choices_(std::move(choices)) {}
Trials::~Trials() = default;

// ---------------------------------------------------------------- launches

Trials::Launched Trials::launch(const std::string& module, device::Device& device,
                                const device::Launch& launch, const KernelSource& source) {
  const Call call{device, launch, source};
  Launched launched;
  Subject* const subject = subject_of(module, call);
  if (subject == nullptr) return launched;
  struct Taken {
    Trials& trials;
    Subject& subject;
    ~Taken() {
      const Lock lock(trials.mutex_);
      subject.is_taken = false;
    }
  };
  const Taken taken{*this, *subject};
  if (!subject->is_prepared) prepare(*subject, call);
  if (subject->turns == nullptr) return launched;
  if (subject->is_done) {
    if (!is_much_longer(*subject, call)) return launched;
    start(*subject, call);
  }
  launched.outstanding.reserve(2);
  repeat(*subject, call, launched.outstanding);
  measure_moving(*subject, call);
  if (std::optional<Made> made = make_next(*subject, call, false)) {
    launched.is_made = true;
    if (made->readback != nullptr) launched.outstanding.push_back(std::move(*made));
  }
  return launched;
}

Trials::Subject* Trials::subject_of(const std::string& module, const Call& call) {
  const device::Launch& launch = call.launch;
  const Lock lock(mutex_);
  const std::pair<std::thread::id, const device::Device*> here{std::this_thread::get_id(), &call.device};
  if (!first_launch_) first_launch_ = here;
  is_alone_ &= *first_launch_ == here;
  SubjectKey key{std::string(call.source.name),
                 module,
                 call.device.info().ordinal,
                 {launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1],
                  launch.block[2], launch.shared_bytes}};
  auto found = subjects_.find(key);
  if (found == subjects_.end()) {
    std::uint64_t& shapes = shapes_[{std::get<0>(key), module}];
    if (shapes == most_shapes) {
      const auto first = subjects_.lower_bound({std::get<0>(key), module, 0, {}});
      ++first->second->launches_with_other_shapes;
      return nullptr;
    }
    ++shapes;
    auto made = std::make_unique<Subject>();
    made->kernel = std::get<0>(key);
    made->module = module;
    made->device = call.device.info().name;
    std::ranges::copy(launch.grid, made->grid.begin());
    std::ranges::copy(launch.block, made->block.begin());
    made->shared_bytes = launch.shared_bytes;
    made->models_times = call.device.info().models_times;
    made->original();
    found = subjects_.emplace(std::move(key), std::move(made)).first;
  }
  Subject& subject = *found->second;
  ++subject.launches;
  const bool is_over = subject.is_done && (subject.repeated_ms == 0 || subject.compared >= choices_.launches);
  if (is_over || subject.is_taken) return nullptr;
  subject.is_taken = true;
  return &subject;
}

void Trials::prepare(Subject& subject, const Call& call) {
  const Result<KernelPtx> found = call.source.ptx();
  if (!found) {
    const Lock lock(mutex_);
    subject.is_prepared = subject.is_done = true;
    subject.original().notes.push_back("it runs unchanged: " + message_of(found.error()));
    return;
  }
  subject.reads_shared_size = found->text.find("_smem_size") != std::string::npos;
  Result<engine::MemoryEffects> effects = with_stack<engine::MemoryEffects>(
      [&] { return engine::memory_effects(found->text, std::string(call.source.name)); });
  if (effects) {
    subject.effects = std::move(*effects);
  } else {
    subject.obstacle = message_of(effects.error());
  }
  std::vector<ClassSites> classes;
  std::vector<Variant> refused;
  for (const ptx::OperationDescription& each : ptx::operation_table()) {
    if (!choices_.perturbations.empty()) break;
    if (each.operation == ptx::Operation::occupancy) {
      if (shared_bytes_for_one_block_fewer(call.device, call.launch, call.launch.cooperative))
        classes.push_back({each.operation, {}});
      continue;
    }
    // Without branches, no lanes are idle.
    if (each.operation == ptx::Operation::lanes && found->text.find("bra") == std::string::npos) continue;
    if (each.operation == ptx::Operation::read_only_loads && !choices_.tries_remedies) continue;
    const ptx::Perturbation perturbation{each.operation, ptx::Form::again, {}};
    Result<std::vector<ptx::PerturbedSite>> sites =
        variants_.sites(call.device, call.launch, call.source, perturbation);
    const bool has_sites = ptx::adds_code(each.operation) && each.operation != ptx::Operation::lanes;
    if (!has_sites) {
      if (sites) classes.push_back({each.operation, {}});
    } else if (!sites) {
      refused.push_back({.perturbation = perturbation, .notes = {message_of(sites.error())}});
    } else if (std::ranges::any_of(*sites, &ptx::PerturbedSite::is_perturbed)) {
      // They are not followed to lines: those of their operations' classes are.
      if (each.operation == ptx::Operation::reuse || each.operation == ptx::Operation::arithmetic ||
          each.operation == ptx::Operation::bytes)
        sites->clear();
      classes.push_back({each.operation, std::move(*sites)});
    }
  }
  {
    const Lock lock(mutex_);
    subject.classes = std::move(classes);
    subject.refused = std::move(refused);
    subject.is_prepared = true;
  }
  start(subject, call);
}

void Trials::start(Subject& subject, const Call& call) {
  std::unique_ptr<Turns> turns =
      choices_.perturbations.empty()
          ? turns_of_classes(subject.classes, choices_.launches, call.device.info().models_times)
          : turns_of_list(choices_.perturbations, choices_.launches);
  const Lock lock(mutex_);
  if (subject.turns != nullptr) ++subject.schedule;
  subject.turns = std::move(turns);
  subject.variants.clear();
  subject.original();
  subject.moving.reset();
  subject.repeated_ms = 0;
  subject.is_done = false;
}

std::optional<Trials::Made> Trials::make_next(Subject& subject, const Call& call, bool is_repetition) {
  Variant* variant = nullptr;
  Run run{&subject, native_trial, is_repetition};
  {
    const Lock lock(mutex_);
    run.schedule = subject.schedule;
    const std::optional<TrialId> next = subject.turns->next();
    subject.is_done = !next;
    if (!next) return std::nullopt;
    run.id = *next;
    const auto [known, is_new] = subject.variants.try_emplace(*next);
    if (is_new) known->second.perturbation = subject.turns->perturbation(*next);
    variant = &known->second;
  }
  Result<Made> made = make(subject, *variant, call, run);
  if (made) {
    if (made->readback == nullptr) add(run, nullptr);
    return std::move(*made);
  }
  const std::string reason = message_of(made.error());
  log().debug("{}: a trial is refused: {}", demangle(subject.kernel), reason);
  const Lock lock(mutex_);
  add_note(variant->notes, reason);
  subject.turns->add(run.id, not_measured);
  if (run.id != native_trial) subject.turns->drop(run.id);
  return std::nullopt;
}

bool Trials::is_read_only(const Subject& subject, const Call& call) {
  return subject.effects &&
         repeatability_of(*subject.effects, call.device, call.launch, ReplayChoice::if_repeatable)
             .is_read_only;
}

Result<Trials::Made> Trials::make(Subject& subject, Variant& variant, const Call& call, const Run& run) {
  const std::unique_ptr<device::CallGroup> group = call.device.call_group();
  if (!variant.perturbation) {
    describe(subject, variant, call, call.launch, nullptr);
    Result<std::unique_ptr<device::Readback>> readback = call.device.launch_original(call.launch);
    if (!readback) return readback.error();
    return Made{run, std::move(*readback), nullptr};
  }
  const ptx::Operation operation = variant.perturbation->operation;
  const bool is_occupancy = operation == ptx::Operation::occupancy;
  const bool is_copy = is_occupancy || operation == ptx::Operation::copy;
  const Result<std::shared_ptr<const TrialVariant>> made =
      variants_.loaded(call.device, call.launch, call.source, is_copy ? std::nullopt : variant.perturbation);
  if (!made) return made.error();
  const std::vector<ptx::PerturbedSite>& sites = (*made)->instrumented.perturbed;
  if (operation == ptx::Operation::read_only_loads && !is_read_only(subject, call))
    return failure("the kernel may write what it reads");
  if (ptx::is_class(operation) && std::ranges::none_of(sites, &ptx::PerturbedSite::is_perturbed))
    return failure("nothing in the kernel can be repeated");
  device::Launch launch = call.launch;
  if (is_occupancy) {
    if (subject.reads_shared_size)
      return failure("the kernel may depend on the amount of its dynamic shared memory");
    const bool may_wait = (*made)->instrumented.traits.may_wait_for_blocks || launch.cooperative;
    const Result<std::uint32_t> bytes = shared_bytes_for_one_block_fewer(call.device, launch, may_wait);
    if (!bytes) return bytes.error();
    launch.shared_bytes = *bytes;
  }
  constexpr std::size_t unused_bytes = 8;
  const ptx::MapSize map = operation == ptx::Operation::bytes
                               ? map_size_for(call.device, call.launch, (*made)->instrumented.parameters)
                               : ptx::MapSize{};
  variant.has_exact_maps = map.is_exact;
  const std::size_t bytes = map.bytes != 0           ? std::size_t{2} * map.bytes
                            : ptx::counts(operation) ? ptx::result_words * sizeof(std::uint64_t)
                                                     : unused_bytes;
  Result<std::unique_ptr<device::Buffer>> buffer = call.device.allocate_zeroed(bytes, launch);
  if (!buffer) return buffer.error();
  const Result<std::vector<std::uint64_t>> words = words_of(**made, call, {(*buffer)->address(), map.bytes});
  if (!words) return words.error();
  if (Status launched =
          call.device.launch(*(*made)->loaded, launch, (*made)->instrumented.parameters, *words, **buffer);
      !launched)
    return launched.error();
  // The launch has been made, whatever fails from here on.
  Made result{run, nullptr, (*made)->loaded};
  try {
    describe(subject, variant, call, launch, made->get());
    Result<std::unique_ptr<device::Readback>> readback = call.device.read_back(std::move(*buffer), launch);
    if (readback) result.readback = std::move(*readback);
  } catch (const std::exception& error) {
    log().error("{}: the time of a trial is lost: {}", demangle(subject.kernel), error.what());
  }
  return result;
}

Result<ptx::Scratch> Trials::scratch_of(const Call& call, const device::LiveAllocations& live) {
  const auto largest = std::ranges::max_element(live.sorted, {}, &device::LiveAllocation::bytes);
  const std::uint32_t wanted = ptx::scratch_bytes_for(largest == live.sorted.end() ? 0 : largest->bytes);
  const Lock lock(mutex_);
  std::vector<ScratchBuffer>& buffers = scratch_[&call.device];
  if (buffers.empty() || buffers.back().wanted < wanted) {
    std::uint32_t bytes = wanted;
    Result<std::unique_ptr<device::Buffer>> made = call.device.allocate_kept(bytes, call.launch);
    while (!made && bytes > ptx::least_scratch_bytes) {
      bytes /= 2;
      made = call.device.allocate_kept(bytes, call.launch);
    }
    if (!made) return made.error();
    buffers.push_back({std::move(*made), bytes, wanted});
  }
  return ptx::Scratch{buffers.back().buffer->address(), buffers.back().bytes};
}

Result<std::vector<std::uint64_t>> Trials::words_of(const TrialVariant& variant, const Call& call,
                                                    const ResultsBuffer& results) {
  using Kind = engine::ProbeWord::Kind;
  const std::vector<engine::ProbeWord>& probe = variant.instrumented.probe;
  std::vector<std::uint64_t> words;
  if (probe.empty()) return words;
  const std::shared_ptr<const device::LiveAllocations> live = call.device.allocations();
  const Result<ptx::Scratch> scratch = scratch_of(call, *live);
  if (!scratch) return scratch.error();
  const auto describes_pointer = [](const engine::ProbeWord& word) {
    return word.kind != Kind::scratch && word.kind != Kind::scratch_mask && word.kind != Kind::zero &&
           word.kind != Kind::results && word.kind != Kind::map_mask;
  };
  std::vector<std::byte> parameters;
  if (std::ranges::any_of(probe, describes_pointer)) {
    Result<std::vector<std::byte>> read =
        device::parameter_buffer(call.launch, variant.instrumented.parameters);
    if (!read) return read.error();
    parameters = std::move(*read);
  }
  for (const engine::ProbeWord& word : probe) {
    if (word.kind == Kind::results || word.kind == Kind::map_mask) {
      words.push_back(word.kind == Kind::results ? results.address : results.map_bytes - 4);
      continue;
    }
    std::uint64_t pointer = 0;
    if (describes_pointer(word) && word.parameter_offset + sizeof pointer <= parameters.size())
      std::memcpy(&pointer, parameters.data() + word.parameter_offset, sizeof pointer);
    const device::LiveAllocation* const found = live->find(pointer);
    const ptx::MemoryRegion region = found != nullptr ? ptx::region_of(found->address, found->bytes, *scratch)
                                                      : ptx::region_of(0, 0, *scratch);
    words.push_back(ptx::word_of(word.kind, region, *scratch));
  }
  return words;
}

void Trials::describe(Subject& subject, Variant& variant, const Call& call, const device::Launch& launch,
                      const TrialVariant* made) {
  if (variant.is_described) return;
  const device::Variant* const loaded = made != nullptr ? made->loaded.get() : nullptr;
  const std::optional<device::KernelResources> resources = call.device.resources(launch, loaded);
  const std::optional<std::uint32_t> blocks = blocks_per_sm(call.device, launch, loaded);
  const Lock lock(mutex_);
  variant.is_described = true;
  variant.blocks = blocks.value_or(0);
  if (resources) {
    variant.registers = resources->registers;
    variant.local_bytes = resources->local_bytes;
  }
  if (made == nullptr) return;
  variant.sites = made->instrumented.perturbed;
  for (const std::string& note : made->instrumented.notes) add_note(variant.notes, note);
  const Variant& original = subject.original();
  const ptx::Operation operation = variant.perturbation->operation;
  if (ptx::is_class(operation) && original.is_described && variant.blocks != original.blocks) {
    add_note(variant.notes, std::to_string(variant.blocks) + " blocks per SM fit instead of " +
                                std::to_string(original.blocks));
  }
  const bool is_copy = operation == ptx::Operation::occupancy || operation == ptx::Operation::copy;
  if (is_copy && original.is_described && variant.registers != original.registers) {
    add_note(variant.notes, "the driver compiled it with " + std::to_string(variant.registers) +
                                " registers instead of " + std::to_string(original.registers));
  }
}

// ---------------------------------------------------------------- repetitions

std::optional<std::string> Trials::obstacle_to_repetition(Subject& subject, const Call& call,
                                                          Repeatability& found) {
  if (!subject.effects) return subject.obstacle;
  found = repeatability_of(*subject.effects, call.device, call.launch, choices_.replay);
  if (!found.obstacle.empty()) return found.obstacle;
  if (found.saved.empty()) return std::nullopt;
  // While memory is restored, nothing else may write it.
  {
    const Lock lock(mutex_);
    if (!is_alone_) return "several threads or devices run kernels";
  }
  if (call.device.is_idle_within(most_repetition_time, call.launch)) return std::nullopt;
  ++subject.failed_repetitions;
  return "the device is not idle, or streams are being captured";
}

Result<std::unique_ptr<SavedMemory>> Trials::saved_for(Subject& subject, const Call& call,
                                                       Repeatability& found) {
  std::optional<std::string> obstacle = obstacle_to_repetition(subject, call, found);
  if (!obstacle && found.saved.empty()) return std::unique_ptr<SavedMemory>();
  if (!obstacle) {
    Result<std::unique_ptr<SavedMemory>> copy = SavedMemory::save(call.device, call.launch, found.saved);
    if (copy) return copy;
    obstacle = "its memory cannot be saved: " + message_of(copy.error());
    ++subject.failed_repetitions;
  }
  const Lock lock(mutex_);
  subject.obstacle = *obstacle;
  return failure(std::move(*obstacle));
}

bool Trials::is_much_longer(Subject& subject, const Call& call) {
  ++subject.compared;
  Repeatability found;
  Result<std::unique_ptr<SavedMemory>> saved = saved_for(subject, call, found);
  if (!saved) return false;
  const Result<std::unique_ptr<device::Readback>> launched = call.device.launch_original(call.launch);
  bool is_over = launched && is_over_by(**launched, Clock::now() + most_repetition_time);
  if (launched && *saved != nullptr && !(*saved)->restore(call.device, call.launch)) {
    log().error("{}: memory could not be restored", demangle(subject.kernel));
    is_over = false;
  }
  free_when_idle(std::move(*saved), call);
  return is_over && (*launched)->kernel_milliseconds().value_or(0) > much_longer * subject.repeated_ms;
}

bool Trials::free_when_idle(std::unique_ptr<SavedMemory> saved, const Call& call) {
  if (saved == nullptr || call.device.is_idle_within(patience, call.launch)) return true;
  const Lock lock(mutex_);
  abandoned_.push_back(std::move(saved));
  return false;
}

void Trials::repeat(Subject& subject, const Call& call, std::vector<Made>& outstanding) {
  if (choices_.replay == ReplayChoice::never || subject.failed_repetitions == most_failed_repetitions) return;
  Repeatability found;
  Result<std::unique_ptr<SavedMemory>> copy = saved_for(subject, call, found);
  if (!copy) return;
  std::unique_ptr<SavedMemory> saved = std::move(*copy);
  const Clock::time_point latest = Clock::now() + most_repetition_time;
  bool goes_on = true;
  while (goes_on && !subject.is_done && Clock::now() < latest) {
    std::optional<Made> made = make_next(subject, call, true);
    if (!made) continue;
    if (saved != nullptr) goes_on = saved->restore(call.device, call.launch).ok();
    if (made->readback != nullptr && is_over_by(*made->readback, latest)) {
      const bool is_complete = made->readback->wait().ok();
      add(made->run, is_complete ? made->readback.get() : nullptr);
      goes_on &= is_complete;
    } else {
      goes_on = false;
      ++subject.failed_repetitions;
      if (made->readback != nullptr) outstanding.push_back(std::move(*made));
    }
  }
  if (!free_when_idle(std::move(saved), call)) return;
  if (goes_on && subject.is_done) {
    const Lock lock(mutex_);
    std::vector<double> times = subject.original().ms;
    std::ranges::sort(times);
    if (!times.empty()) subject.repeated_ms = times[times.size() / 2];
  }
  if (goes_on && subject.is_done && choices_.tries_remedies) compare_remedies(subject, call, found);
}

void Trials::compare_remedies(Subject& subject, const Call& call, const Repeatability& found) {
  bool is_alone = false;
  std::vector<std::pair<TrialId, Variant*>> remedies;
  {
    const Lock lock(mutex_);
    is_alone = is_alone_;
    for (auto& [id, variant] : subject.variants) {
      const bool is_remedy = variant.perturbation && ptx::is_remedy(variant.perturbation->operation);
      if (is_remedy && !variant.ms.empty()) remedies.emplace_back(id, &variant);
    }
  }
  if (remedies.empty()) return;
  const auto conclude = [&](const std::string& result) {
    const Lock lock(mutex_);
    for (const auto& [id, variant] : remedies) variant->comparison = result;
  };
  if (found.written.empty()) return conclude("not compared: it is unknown what the kernel writes");
  if (!is_alone || !call.device.is_idle_within(most_repetition_time, call.launch))
    return conclude("not compared: other launches may run");
  Result<std::unique_ptr<SavedMemory>> saved = SavedMemory::save(call.device, call.launch, found.written);
  if (!saved) return conclude("not compared: " + message_of(saved.error()));
  const auto over = [](Result<std::unique_ptr<device::Readback>> readback) -> Status {
    if (!readback) return readback.error();
    const Result<std::span<std::byte>> bytes = (*readback)->wait();
    return bytes ? success() : Status(bytes.error());
  };
  for (const auto& [id, variant] : remedies) {
    const auto remedy = [&, id = id, variant = variant]() -> Status {
      Result<Made> made = make(subject, *variant, call, {&subject, id, true});
      if (!made) return made.error();
      if (made->readback == nullptr) return failure("the launch cannot be observed");
      return over(std::move(made->readback));
    };
    const Result<std::string> compared = compare_results(
        call.device, call.launch, found.written, **saved, found.saved.empty(),
        [&] { return over(call.device.launch_original(call.launch)); }, remedy);
    const Lock lock(mutex_);
    variant->comparison = compared ? *compared : "not compared: " + message_of(compared.error());
  }
  const bool is_restored = (*saved)->restore(call.device, call.launch).ok();
  if (!is_restored) log().error("{}: memory could not be restored", demangle(subject.kernel));
  free_when_idle(std::move(*saved), call);
}

void Trials::measure_moving(Subject& subject, const Call& call) {
  ptx::BytesMoved bytes;
  {
    const Lock lock(mutex_);
    if (subject.moving) return;
    const auto counted = std::ranges::find_if(subject.variants, [](const auto& each) {
      const Variant& variant = each.second;
      return variant.perturbation && variant.perturbation->operation == ptx::Operation::bytes &&
             !variant.results.empty();
    });
    if (counted == subject.variants.end()) return;
    const std::size_t word = 2 * static_cast<std::size_t>(ptx::Operation::bytes);
    bytes = {counted->second.results[word], counted->second.results[word + 1]};
  }
  Result<std::vector<double>> times = times_of_moving(call.device, call.launch, bytes);
  const Lock lock(mutex_);
  subject.moving = std::move(times);
}

// ---------------------------------------------------------------- results

void Trials::add(const Run& run, device::Readback* readback) {
  const std::optional<double> ms = readback != nullptr ? readback->kernel_milliseconds() : std::nullopt;
  const bool is_measured = ms && std::isfinite(*ms) && *ms > 0;
  const Lock lock(mutex_);
  if (run.schedule != run.subject->schedule) return;
  Variant& variant = run.subject->variants[run.id];
  if (variant.perturbation && ptx::counts(variant.perturbation->operation) && readback != nullptr) {
    const Result<std::span<std::byte>> bytes = readback->wait();
    variant.results.clear();
    if (bytes) variant.results = results_of(variant.perturbation->operation, *bytes, variant.has_exact_maps);
  }
  if (is_measured) {
    variant.ms.push_back(*ms);
  } else {
    ++variant.unmeasured;
  }
  variant.repetitions += run.is_repetition ? 1 : 0;
  run.subject->turns->add(run.id, is_measured ? *ms : not_measured);
}

std::vector<report::TrialRecord> Trials::records() {
  constexpr std::chrono::seconds patience_at_end(1);
  std::vector<report::TrialRecord> records;
  if (!mutex_.try_lock_for(patience_at_end)) return records;
  const Lock lock(mutex_, std::adopt_lock);
  const auto add_record = [&](const Subject& subject, const Variant& variant,
                              std::vector<std::string> notes) {
    report::TrialRecord record;
    record.kernel = subject.kernel;
    record.module = subject.module;
    record.device = subject.device;
    std::ranges::copy(subject.grid, record.grid);
    std::ranges::copy(subject.block, record.block);
    record.shared_bytes = subject.shared_bytes;
    if (variant.perturbation) record.perturbation = ptx::to_text(*variant.perturbation);
    record.sites = recorded(variant.sites);
    record.ms = variant.ms;
    record.counts = counts_of(variant.results);
    record.results = variant.comparison;
    record.is_modelled = subject.models_times;
    record.registers = variant.registers;
    record.spill_bytes = variant.local_bytes;
    record.blocks_per_sm = variant.blocks;
    record.launches = subject.launches;
    record.replays = variant.repetitions;
    notes.insert(notes.begin(), variant.notes.begin(), variant.notes.end());
    if (variant.unmeasured != 0)
      add_note(notes, std::to_string(variant.unmeasured) + " launches could not be measured");
    record.note = joined(notes);
    records.push_back(std::move(record));
  };
  for (const auto& [key, subject] : subjects_) {
    std::vector<std::string> notes;
    if (!subject->is_done && !subject->obstacle.empty())
      notes.push_back("its launches are not repeated: " + subject->obstacle);
    if (subject->launches_with_other_shapes != 0)
      notes.push_back(std::to_string(subject->launches_with_other_shapes) +
                      " launches with other shapes were not tried");
    for (const auto& [id, variant] : subject->variants)
      add_record(*subject, variant, id == native_trial ? notes : std::vector<std::string>());
    for (const Variant& variant : subject->refused) add_record(*subject, variant, {});
    if (subject->moving) {
      const Result<std::vector<double>>& times = *subject->moving;
      add_record(*subject, times ? Variant{.ms = *times} : Variant{.notes = {message_of(times.error())}}, {});
      records.back().perturbation = report::TrialRecord::moving;
    }
  }
  return records;
}

void Trials::forget_devices(std::span<const device::Device* const> devices) {
  variants_.forget_devices(devices);
  const Lock lock(mutex_);
  for (const device::Device* const device : devices) scratch_.erase(device);
}

}  // namespace lynxpp::interposer
