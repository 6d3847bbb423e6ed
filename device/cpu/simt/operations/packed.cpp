// Arithmetic on pairs of floats.
#include <bit>
#include <cmath>

#include "device/cpu/simt/lanes/lane_functions.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {
namespace {

using Floats = std::array<float, warp_size>;

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

float nearest(char operation, float a, float b, float c) {
  switch (operation) {
    case 'a': return a + b;
    case 's': return a - b;
    case 'm': return a * b;
    default: return std::fma(a, b, c);
  }
}

void take_floats(Floats& floats, const Lanes& lanes, unsigned shift, bool flushes) {
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(lanes[lane] >> shift));
    floats[lane] = flushes ? flushed(value) : value;
  }
}

}  // namespace

/// {add,sub,mul,fma}{.rnd}{.ftz}.f32x2
Result<Operation> make_packed(OperationRequest& request) {
  OpcodeWords& words = request.words;
  const std::string root(words.root());
  const std::string_view mode = words.take_of({"rn", "rz", "rm", "rp"});
  const bool flushes = words.take("ftz");
  const unsigned operands = root == "fma" ? 3 : 2;
  if (!words.take("f32x2") || request.sources.size() != operands) return refuse(request);
  const LaneOperation* const directed =
      mode.empty() || mode == "rn" ? nullptr : find_lane_operation(root + "." + std::string(mode) + ".f32");
  const auto run = [=, operation = root[0]](const OperationCall& call) {
    call.out[0].fill(0);
    for (unsigned shift = 0; shift < 64; shift += 32) {
      Floats values[3] = {};
      for (unsigned i = 0; i < operands; ++i) take_floats(values[i], call.in[i], shift, flushes);
      Floats results{};
      if (directed != nullptr)
        directed->function(call.mask, results.data(), values[0].data(), values[1].data(), values[2].data());
      for_each_lane(call.mask, [&](std::uint32_t lane) {
        float value = directed != nullptr
                          ? results[lane]
                          : nearest(operation, values[0][lane], values[1][lane], values[2][lane]);
        if (flushes) value = flushed(value);
        const std::uint64_t bits = std::isnan(value) ? 0x7fff'ffffu : std::bit_cast<std::uint32_t>(value);
        call.out[0][lane] |= bits << shift;
      });
    }
  };
  return Operation{.run = run};
}

}  // namespace lynxpp::device::cpu
