#include "interposer/trials/moving.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace lynxpp::interposer {
namespace {

constexpr std::uint32_t threads = 256;
constexpr std::uint32_t most_vectors_per_thread = 4;
constexpr std::uint32_t bytes_of_vector = 16;
constexpr const char* name = "lynxpp_moving";
/// Words of its parameter: the addresses to read and to write, the vectors to read and to write, and a number
/// that differs from the combined values.
constexpr std::size_t words = 5;

/// Returns how many vectors a thread moves: one, unless so few threads suffice to fill the device.
std::uint32_t vectors_per_thread(std::uint64_t vectors, const device::DeviceInfo& info) {
  constexpr std::uint64_t threads_per_multiprocessor = 2048;
  const std::uint64_t resident = info.multiprocessors * threads_per_multiprocessor;
  return vectors >= resident * most_vectors_per_thread ? most_vectors_per_thread : 1;
}

/// Returns its text: each thread loads this number of vectors, then stores the same number, so that several
/// are on their way at a time.
std::string moving_ptx(std::uint32_t per_thread) {
  const auto numbered = [](const char* prefix, std::uint32_t i) { return prefix + std::to_string(i); };
  std::string text =
      ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry lynxpp_moving(.param .align 8 .b8 "
      "words[40])\n{\n"
      ".reg .pred %p<10>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<16>;\n"
      "ld.param.u64 %rd1, [words];\nld.param.u64 %rd2, [words+8];\nld.param.u64 %rd3, [words+16];\n"
      "ld.param.u64 %rd4, [words+24];\nld.param.u32 %r20, [words+32];\nmov.u32 %r16, %ctaid.x;\n"
      "mov.u32 %r17, %tid.x;\nmul.wide.u32 %rd5, %r16, " +
      std::to_string(threads * per_thread) +
      ";\ncvt.u64.u32 %rd6, %r17;\nadd.u64 %rd5, %rd5, %rd6;\n"
      "shl.b64 %rd6, %rd5, 4;\nadd.u64 %rd7, %rd1, %rd6;\nadd.u64 %rd8, %rd2, %rd6;\nmov.u32 %r21, 0;\n"
      "mov.u32 %r18, 0;\n";
  for (std::uint32_t i = 0; i < per_thread; ++i) {
    const std::string at = numbered("%rd", 9 + i);
    text += "add.u64 " + at + ", %rd5, " + std::to_string(threads * i) + ";\n";
    std::string list;
    for (std::uint32_t k = 0; k < 4; ++k) {
      text += "mov.u32 " + numbered("%r", 4 * i + k) + ", 0;\n";
      list += (k == 0 ? "" : ", ") + numbered("%r", 4 * i + k);
    }
    text += "setp.lt.u64 " + numbered("%p", i) + ", " + at + ", %rd3;\n@" + numbered("%p", i) +
            " ld.global.nc.v4.u32 {" + list + "}, [%rd7+" + std::to_string(threads * bytes_of_vector * i) +
            "];\n";
  }
  for (std::uint32_t i = 0; i < per_thread; ++i) {
    text += "setp.lt.u64 " + numbered("%p", 4 + i) + ", " + numbered("%rd", 9 + i) + ", %rd4;\n@" +
            numbered("%p", 4 + i) + " st.global.v4.u32 [%rd8+" +
            std::to_string(threads * bytes_of_vector * i) + "], {%r18, %r18, %r18, %r18};\n";
  }
  for (std::uint32_t i = 0; i < 4 * per_thread; ++i)
    text += "xor.b32 %r21, %r21, " + numbered("%r", i) + ";\n";
  return text + "setp.eq.u32 %p8, %r21, %r20;\n@%p8 st.global.u32 [%rd1], %r21;\nret;\n}\n";
}

/// Waits until the launch is over; false if it takes too long.
bool is_over(device::Readback& readback) {
  constexpr std::chrono::seconds patience(2);
  constexpr std::chrono::microseconds step(50);
  const auto latest = std::chrono::steady_clock::now() + patience;
  while (!readback.ready()) {
    if (std::chrono::steady_clock::now() > latest) return false;
    std::this_thread::sleep_for(step);
  }
  return true;
}

device::Launch launch_of(const device::Launch& program, std::uint64_t vectors, std::uint32_t per_thread,
                         void** parameters) {
  const std::uint64_t vectors_per_block = std::uint64_t{threads} * per_thread;
  device::Launch launch = program;
  launch.grid[0] = static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, (vectors + vectors_per_block - 1) / vectors_per_block));
  launch.grid[1] = launch.grid[2] = 1;
  launch.block[0] = threads;
  launch.block[1] = launch.block[2] = 1;
  launch.shared_bytes = 0;
  launch.cooperative = false;
  launch.parameters = parameters;
  launch.extra = nullptr;
  launch.attributes = nullptr;
  launch.attribute_count = 0;
  std::ranges::fill(launch.cluster, 0);
  return launch;
}

}  // namespace

Result<std::vector<double>> times_of_moving(device::Device& device, const device::Launch& program,
                                            const ptx::BytesMoved& bytes) {
  const std::uint64_t read = bytes.read / bytes_of_vector, written = bytes.written / bytes_of_vector;
  void* none = nullptr;
  const std::uint32_t per_thread = vectors_per_thread(std::max(read, written), device.info());
  const device::Launch launch = launch_of(program, std::max(read, written), per_thread, &none);
  device::VariantTraits traits;
  traits.may_wait_for_blocks = false;
  Result<std::unique_ptr<device::Variant>> kernel = device.load(moving_ptx(per_thread), name, launch, traits);
  if (!kernel) return kernel.error();
  // At least a vector, for the address that is never stored to.
  Result<std::unique_ptr<device::Buffer>> memory =
      device.allocate_kept((read + written + 1) * bytes_of_vector, launch);
  if (!memory) return memory.error();
  const std::uint64_t address = (*memory)->address();
  constexpr std::uint64_t never = 0x6c796e78;
  const std::array<std::uint64_t, words> parameter{address, address + read * bytes_of_vector, read, written,
                                                   never};
  const std::size_t launches = device.info().models_times ? 1 : 6;
  constexpr std::size_t unused_bytes = 8;
  std::vector<double> times;
  for (std::size_t i = 0; i < launches; ++i) {
    Result<std::unique_ptr<device::Buffer>> buffer = device.allocate_zeroed(unused_bytes, launch);
    if (!buffer) return buffer.error();
    if (Status launched = device.launch(**kernel, launch, {}, parameter, **buffer); !launched)
      return launched.error();
    Result<std::unique_ptr<device::Readback>> readback = device.read_back(std::move(*buffer), launch);
    if (!readback || !is_over(**readback)) {
      // The device may still use them.
      (void)memory->release();
      (void)kernel->release();
      if (readback) (void)readback->release();
      return failure("the device is busy");
    }
    if (const auto over = (*readback)->wait(); !over) return over.error();
    if (const std::optional<double> ms = (*readback)->kernel_milliseconds(); ms && *ms > 0)
      times.push_back(*ms);
  }
  if (times.empty()) return failure("its launches could not be measured");
  return times;
}

}  // namespace lynxpp::interposer
