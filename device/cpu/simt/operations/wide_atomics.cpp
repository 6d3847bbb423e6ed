// Atomic operations on vectors, each element on its own, and on 128 bits.
#include <cstring>
#include <mutex>

#include "device/cpu/simt/lanes/lane_functions.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {
namespace {

struct AtomicForm {
  std::string_view operation = {};
  std::string_view type = {};
  unsigned count = 1;
  bool has_policy = false;
  ptx::StateSpace space = ptx::StateSpace::generic;
};

bool take_form(OpcodeWords& words, AtomicForm& form) {
  while (!words.front().empty()) {
    if (!words.take_of({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "noftz"})
             .empty())
      continue;
    if (words.take("L2::cache_hint")) {
      form.has_policy = true;
    } else if (const std::string_view vector = words.take_of({"v2", "v4", "v8"}); !vector.empty()) {
      form.count = static_cast<unsigned>(vector[1] - '0');
    } else if (const std::string_view name = words.take_of({"add", "min", "max", "exch", "cas"});
               !name.empty()) {
      form.operation = name;
    } else if (const std::string_view type = words.take_of({"f32", "f16", "bf16", "f16x2", "bf16x2", "b128"});
               !type.empty()) {
      form.type = type;
    } else if (const ptx::StateSpace space = take_space(words); space != ptx::StateSpace::generic) {
      form.space = space;
    } else {
      return false;
    }
  }
  return !form.operation.empty() && !form.type.empty();
}

/// Among themselves; the host has no operation of this width that every compiler offers.
std::mutex& wide_mutex() {
  static std::mutex mutex;
  return mutex;
}

Result<Operation> make_128(OperationRequest& request, const AtomicForm& form) {
  const bool compares = form.operation == "cas";
  const std::size_t sources = 3 + (compares ? 2 : 0) + (form.has_policy ? 1 : 0);
  const bool is_known = compares || form.operation == "exch";
  if (form.count != 1 || !is_known || request.sources.size() != sources || request.results != 2)
    return failure("malformed operands");
  const auto run = [compares](const OperationCall& call) {
    const std::lock_guard lock(wide_mutex());
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      std::byte* const place = call.place(0, call.in[0][lane], lane, 16, 16);
      if (place == nullptr) return;
      std::uint64_t old[2];
      std::memcpy(old, place, 16);
      const std::uint64_t b[2] = {call.in[1][lane], call.in[2][lane]};
      call.out[0][lane] = old[0];
      call.out[1][lane] = old[1];
      if (!compares) {
        std::memcpy(place, b, 16);
      } else if (old[0] == b[0] && old[1] == b[1]) {
        const std::uint64_t c[2] = {call.in[3][lane], call.in[4][lane]};
        std::memcpy(place, c, 16);
      }
    });
  };
  return Operation{.run = run, .addresses = {{form.space, 16}}};
}

}  // namespace

/// {atom,red}{.order}{.global}.{add,min,max}{.noftz}.vector.type, {atom}.{exch,cas}.b128; floats of 32 bits
/// have sums alone.
Result<Operation> make_wide_atomic(OperationRequest& request) {
  AtomicForm form;
  if (!take_form(request.words, form)) return refuse(request);
  if (form.type == "b128") return make_128(request, form);
  const std::string prefix = form.operation != "add" ? "vector." : "";
  const std::string flushing = form.type == "f32" ? ".ftz." : ".";
  const AtomicOperation* const operation =
      find_atomic(prefix + std::string(form.operation) + flushing + std::string(form.type));
  if (operation == nullptr || form.space == ptx::StateSpace::shared) return refuse(request);
  const unsigned count = form.count;
  const unsigned bytes = operation->bits / 8;
  const bool returns = request.words.root() == "atom";
  const unsigned total = bytes * count;
  if (total > 16 || count < 2 || request.results != (returns ? count : 0) ||
      request.sources.size() != 1 + count + (form.has_policy ? 1 : 0))
    return failure("malformed operands");
  const auto run = [=](const OperationCall& call) {
    Lanes places{};
    std::uint32_t legal = 0;
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const std::byte* const place = call.place(0, call.in[0][lane], lane, total, total);
      if (place == nullptr) return;
      places[lane] = reinterpret_cast<std::uintptr_t>(place);
      legal |= 1u << lane;
    });
    for (unsigned element = 0; element < count; ++element) {
      alignas(8) std::byte values[warp_size * 8];
      alignas(8) std::byte old[warp_size * 8];
      for (std::uint32_t lane = 0; lane < warp_size; ++lane)
        std::memcpy(values + lane * bytes, &call.in[1 + element][lane], bytes);
      operation->function(old, places.data(), values, values, legal);
      for_each_lane(legal, [&](std::uint32_t lane) {
        places[lane] += bytes;
        if (!returns) return;
        call.out[element][lane] = 0;
        std::memcpy(&call.out[element][lane], old + lane * bytes, bytes);
      });
    }
  };
  return Operation{.run = run, .addresses = {{form.space, total}}};
}

}  // namespace lynxpp::device::cpu
