// Descriptions of launches for the session: of a kernel, or of a graph.
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

/// The PTX of the module that defines a kernel.
struct KernelPtx {
  std::string text;
  std::string origin = {};  ///< where the text was found; empty: in the program image
};

/// The kernel that a launch names.
struct KernelSource {
  std::string_view name;    ///< mangled; like all members, valid only during the call
  std::uint64_t image = 0;  ///< identity of the program image
  /// Returns the PTX of the module that defines the kernel; called for each new variant. On failure the
  /// message says why the PTX is unavailable.
  std::function<Result<KernelPtx>()> ptx;
  /// Names the image's content in a way that is stable across processes; called once per image. Empty: the
  /// image is unknown.
  std::function<std::string()> content = {};
};

/// Identifies a kernel. Kernels of the same name in different modules differ.
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
    int cache_config = -1;  ///< same as in device::Launch
  };

  std::uint64_t id = 0;       ///< id of the executable graph, never reused
  std::uint64_t version = 0;  ///< changes whenever the program changes the graph
  /// nullopt: the caller makes and counts the launch; it is only ordered after earlier launches of variants.
  std::optional<device::GraphCopy> copy;
  std::vector<Kernel> kernels;  ///< same order as GraphCopy::kernels
  bool may_be_running = false;  ///< true if the engine was not notified of earlier launches
  std::string outside;          ///< "outside of …" if launches are not measured now
  device::Launch in;            ///< specifies the stream
  std::function<bool()> launch_original;
};

enum class GraphLaunched : std::uint8_t {
  no,  ///< the caller must launch the original
  original,
  variants,
};

}  // namespace lynxpp::interposer
