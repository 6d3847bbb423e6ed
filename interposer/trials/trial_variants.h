// Variants of kernels for trials, each made once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "engine/instrument.h"
#include "interposer/graph_launch.h"
#include "ptx/perturb/perturbation.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// A kernel of one image on one device for launches of one block shape: perturbed, an unchanged copy, or a
/// copy with other limits of registers.
struct TrialVariant {
  engine::Instrumented instrumented;  ///< without its text once it is loaded
  std::shared_ptr<device::Variant> loaded;
};

/// Thread safe. A thread waits only for another one that is making the same variant.
class TrialVariants {
 public:
  /// Returns the sites of the perturbation, without loading the variant. Fails if the variant cannot be made.
  Result<std::vector<ptx::PerturbedSite>> sites(device::Device& device, const device::Launch& launch,
                                                const KernelSource& source,
                                                const ptx::Perturbation& perturbation);

  /// Returns the loaded variant: an unchanged copy of the kernel without a perturbation. Fails, always for
  /// the same reason, if it cannot be made or the device refuses it.
  Result<std::shared_ptr<const TrialVariant>> loaded(device::Device& device, const device::Launch& launch,
                                                     const KernelSource& source,
                                                     const std::optional<ptx::Perturbation>& perturbation);

  /// Drops the variants of an image or of devices that are going away.
  void forget_image(std::uint64_t image);
  void forget_devices(std::span<const device::Device* const> devices);

 private:
  struct Key {
    const device::Device* device = nullptr;
    std::uint64_t image = 0;
    std::string kernel;
    engine::LaunchShape shape;
    std::string perturbation;
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key;
    std::mutex mutex;                       ///< held while the variant is made; guards the members below
    std::shared_ptr<TrialVariant> variant;  ///< null: not made, or `problem` says why not
    std::optional<Failure> problem;
  };

  std::shared_ptr<Entry> entry(device::Device& device, const device::Launch& launch,
                               const KernelSource& source,
                               const std::optional<ptx::Perturbation>& perturbation);
  /// Instruments the kernel unless that has been done. Precondition: the entry's mutex is held.
  static void make(Entry& entry, device::Device& device, const device::Launch& launch,
                   const KernelSource& source, const std::optional<ptx::Perturbation>& perturbation);

  void forget(const std::function<bool(const Key&)>& is_dropped);

  std::mutex mutex_;  // guards `entries_`
  std::vector<std::shared_ptr<Entry>> entries_;
};

}  // namespace lynxpp::interposer
