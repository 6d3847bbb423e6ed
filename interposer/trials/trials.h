// Trials: each launch of a kernel runs the original or a variant that repeats some operations,
// in turn, and is timed (LYNXPP_TRIALS). The results are those of the original kernel.
//
//   program's launch ▶ subject ▶ repetitions, if its memory allows them ▶ one trial, or untimed as it is
//   results of the session ▶ time of the trial ▶ the subject's schedule ▶ a record at the end
//
// The caller collects the results of launches and reports them with add().
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "device/device.h"
#include "interposer/graph_launch.h"
#include "interposer/owned_mutex.h"
#include "interposer/trials/choices.h"
#include "interposer/trials/replay.h"
#include "interposer/trials/trial_variants.h"
#include "interposer/trials/turns.h"
#include "ptx/perturb/memory_regions.h"
#include "report/record.h"

namespace lynxpp::interposer {

/// Thread safe.
class Trials {
 public:
  /// A kernel with launches of one shape on one device; lives as long as Trials.
  struct Subject;

  /// Names a launch whose time is outstanding.
  struct Run {
    Subject* subject = nullptr;
    TrialId id = models::limits::native_trial;
    bool is_repetition = false;
    unsigned schedule = 0;  ///< Subject::schedule; times of an earlier schedule are dropped
  };

  /// A launch that was made.
  struct Made {
    Run run;
    std::unique_ptr<device::Readback> readback;  ///< without bytes that anyone needs
    std::shared_ptr<device::Variant> variant;    ///< stays loaded while it runs; null: the original
  };

  explicit Trials(TrialChoices choices);
  ~Trials();

  /// Makes the trials of one launch of the program, which is not being captured; the last one, if any, is the
  /// program's launch. `is_made` is true if it was made; otherwise the caller makes it. Returns launches
  /// whose times are outstanding.
  struct Launched {
    bool is_made = false;
    std::vector<Made> outstanding;
  };
  Launched launch(const std::string& module, device::Device& device, const device::Launch& launch,
                  const KernelSource& source);

  /// Adds the time of a launch that is over; null: its results are lost.
  void add(const Run& run, device::Readback* readback);

  /// Returns a record for each subject's original and each of its variants. Waits at most a second for
  /// another thread.
  std::vector<report::TrialRecord> records();

  /// Drops the variants of an image or of devices that are going away.
  void forget_image(std::uint64_t image) { variants_.forget_image(image); }
  /// Precondition: no launch on them is outstanding, or their contexts have ended.
  void forget_devices(std::span<const device::Device* const> devices);

 private:
  struct Call;
  struct Variant;
  // Recursive, because a signal handler may end the program in the middle of a launch.
  using Mutex = OwnedMutex<std::recursive_timed_mutex>;

  /// Counts the launch. Returns null if it is not tried.
  Subject* subject_of(const std::string& module, const Call& call);
  /// Finds the classes of operations and the effects of the kernel. Precondition of this and repeat(): the
  /// subject is taken by the calling thread.
  void prepare(Subject& subject, const Call& call);
  /// Starts the subject's schedule, without times.
  void start(Subject& subject, const Call& call);
  /// If other launches of the subject were repeated, times this one; true if it takes much longer, so that
  /// it is repeated instead.
  bool is_much_longer(Subject& subject, const Call& call);
  /// Repeats the launch until nothing is left to try, or a repetition takes too long.
  void repeat(Subject& subject, const Call& call, std::vector<Made>& outstanding);
  /// Returns a copy of the memory to restore after each repetition, null if nothing is to be restored; fails
  /// if the launch cannot be repeated now.
  Result<std::unique_ptr<SavedMemory>> saved_for(Subject& subject, const Call& call, Repeatability& found);
  /// Keeps the memory forever if the device may still read it: then returns false.
  bool free_when_idle(std::unique_ptr<SavedMemory> saved, const Call& call);
  /// Returns why the launch cannot be repeated now; nullopt: it can, as `found` says.
  std::optional<std::string> obstacle_to_repetition(Subject& subject, const Call& call, Repeatability& found);
  /// Compares the results of the remedies that were tried with the original's.
  void compare_remedies(Subject& subject, const Call& call, const Repeatability& found);
  /// Measures the time of moving the bytes that the kernel needs, once, when they have been counted.
  void measure_moving(Subject& subject, const Call& call);
  /// Makes the trial that is next; nullopt: nothing is left to try, or it was refused.
  std::optional<Made> make_next(Subject& subject, const Call& call, bool is_repetition);
  /// True if nothing that the launch may read is written while it runs.
  static bool is_read_only(const Subject& subject, const Call& call);
  Result<Made> make(Subject& subject, Variant& variant, const Call& call, const Run& run);
  /// Returns a buffer of the size that the live allocations need, or of a smaller one that memory allows.
  Result<ptx::Scratch> scratch_of(const Call& call, const device::LiveAllocations& live);
  /// The buffer that a variant counts in, and the size of one of its maps if it marks bytes.
  struct ResultsBuffer {
    std::uint64_t address = 0;
    std::uint32_t map_bytes = 0;
  };
  Result<std::vector<std::uint64_t>> words_of(const TrialVariant& variant, const Call& call,
                                              const ResultsBuffer& results);
  void describe(Subject& subject, Variant& variant, const Call& call, const device::Launch& launch,
                const TrialVariant* made);

  const TrialChoices choices_;
  TrialVariants variants_;
  Mutex mutex_{LockRank::trials};  ///< guards the members below, and subjects unless stated otherwise
  using SubjectKey = std::tuple<std::string, std::string, int, std::array<std::uint32_t, 7>>;
  std::map<SubjectKey, std::unique_ptr<Subject>> subjects_ LYNXPP_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, std::uint64_t> shapes_
      LYNXPP_GUARDED_BY(mutex_);  // subjects by kernel and module
  struct ScratchBuffer {
    std::unique_ptr<device::Buffer> buffer;
    std::uint32_t bytes = 0;
    std::uint32_t wanted = 0;  ///< more than `bytes` if memory did not allow it
  };
  /// The last one is in use; launches that are not over may use the others.
  std::map<const device::Device*, std::vector<ScratchBuffer>> scratch_ LYNXPP_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<SavedMemory>> abandoned_
      LYNXPP_GUARDED_BY(mutex_);  // still in use by the device
  /// The first thread that launched, and the device.
  std::optional<std::pair<std::thread::id, const device::Device*>> first_launch_ LYNXPP_GUARDED_BY(mutex_);
  bool is_alone_ LYNXPP_GUARDED_BY(mutex_) = true;  // all launches are of that thread and device
};

}  // namespace lynxpp::interposer
