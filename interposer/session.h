// The launch session: what happens to a kernel launch while specifications are attached.
//
//   launch ▶ wanted? ▶ instrument once per (device, image, kernel, shape) ▶ buffers ▶ launch
//   the variant ▶ results on their way back
//   results ready ▶ ON_REPORT ▶ launch record ▶ sinks
//
// Nothing here waits for the device before finish(), unless a great many results are outstanding.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cod/specification.h"
#include "device/device.h"
#include "engine/instrument.h"
#include "interposer/configuration.h"
#include "report/record.h"

namespace lynxpp::interposer {

/// The kernel a launch names.
struct KernelSource {
  std::string name;         ///< mangled
  std::uint64_t image = 0;  ///< identity of the program image
  /// The text of the module that defines the kernel; called for each variant that is made. Failure: why there
  /// is none.
  std::function<Result<std::string>()> ptx;
};

/// Thread safe.
class Session {
 public:
  Session(Configuration configuration, std::unique_ptr<report::Sink> sink);
  ~Session();

  /// Replaces the attached specifications: names or paths, separated by commas; empty detaches. False:
  /// nothing changed; `problem` is the rendered diagnostics, source lines and carets included.
  bool attach(const std::string& list, std::string& problem);
  bool attached();

  /// Makes the launch with the instrumented variant. False: the caller makes the original one (the reason
  /// stands in the coverage record).
  bool launch(device::Device& device, const device::Launch& launch, const KernelSource& source);

  /// Drops variants of an image that is going away.
  void forget_image(std::uint64_t image);

  /// Waits for outstanding results and writes their records, and drops the variants of devices whose contexts
  /// end.
  void save_results(std::span<const device::Device* const> ending);

  /// Waits for outstanding results and writes every record. Later launches are not instrumented.
  void finish();

 private:
  struct Attached;
  struct Kernel;
  struct Pending;
  struct Seen;

  Seen& seen(const std::string& kernel);
  Kernel& kernel_for(Seen& seen, device::Device& device, const device::Launch& launch,
                     const KernelSource& source);
  Status prepare(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                 const KernelSource& source);
  /// Instruments and loads, unless the text is that which was `refused`.
  Status make_variant(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                      const engine::Request& request, const std::string& refused = {});
  Status launch_variant(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                        std::uint64_t index);
  Status time_original(Seen& seen, device::Device& device, const device::Launch& launch, std::uint64_t index);
  void drain(bool wait);
  void report(Pending& pending);
  static void fill_counted_arrays(const Pending& pending, std::span<std::byte> bytes);
  void report_specification(const Pending& pending, std::size_t index, std::span<std::byte> bytes);
  void report_ends();
  /// At level trace, what memory the program has, where that has changed since the last launch.
  void log_allocations(device::Device& device);
  void dump(const std::string& name, const std::string& suffix, const std::string& text) const;

  std::mutex mutex_;
  Configuration configuration_;
  std::unique_ptr<report::Sink> sink_;
  std::shared_ptr<const Attached> attached_;
  std::vector<std::shared_ptr<const Attached>> ever_;  // those with an ON_END
  bool finished_ = false;
  bool ever_attached_ = false;
  std::unordered_map<std::string, std::unique_ptr<Seen>> seen_;  // by kernel name
  std::deque<Pending> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::shared_ptr<const device::LiveAllocations> logged_allocations_;
};

}  // namespace lynxpp::interposer
