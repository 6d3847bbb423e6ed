// What the session is told of launches: the kernel, or the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/graphs.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// The text of the module that defines a kernel.
struct KernelPtx {
  std::string text;
  std::string origin = {};  ///< where it was found; empty: in the program image
};

/// The kernel a launch names.
struct KernelSource {
  std::string_view name;    ///< mangled; valid during the call, as are all of these
  std::uint64_t image = 0;  ///< identity of the program image
  /// The text of the module that defines the kernel; called for each variant that is made. Failure: why there
  /// is none.
  std::function<Result<KernelPtx>()> ptx;
  /// Names the image's content, in other processes, too: called once for each image. Empty: nothing is known
  /// of the image.
  std::function<std::string()> content = {};
};

/// Kernels of one name that stand in several modules are several.
struct KernelKey {
  std::string kernel;  ///< mangled
  std::string module;  ///< report::LaunchPlace::module

  using View = std::pair<std::string_view, std::string_view>;
  View view() const { return {kernel, module}; }
  static View view_of(const KernelKey& key) { return key.view(); }
  static View view_of(const View& view) { return view; }
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const auto& key) const {
      const std::hash<std::string_view> hash;
      const View view = view_of(key);
      return hash(view.first) * 31 + hash(view.second);
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const { return view_of(a) == view_of(b); }
  };
};

/// A launch of an executable graph, not yet made.
struct GraphLaunch {
  struct Kernel {
    KernelSource source;
    bool is_enabled = true;
    int cache_config = -1;  ///< as of a launch
  };

  std::uint64_t id = 0;       ///< of the executable graph, never used twice
  std::uint64_t version = 0;  ///< another one whenever the program has changed it
  /// nullopt: the caller makes and counts the launch; it is only ordered after earlier launches of variants.
  std::optional<device::GraphCopy> copy;
  std::vector<Kernel> kernels;  ///< same order as GraphCopy::kernels
  bool may_be_running = false;  ///< launches before this one were not told of
  std::string outside;          ///< "outside of …" where launches are not measured now
  device::Launch in;            ///< gives the stream
  std::function<bool()> launch_original;
};

enum class GraphLaunched : std::uint8_t {
  no,  ///< the caller is to launch the original
  original,
  variants,
};

}  // namespace lynxpp::interposer
