// mbarrier: barrier objects in shared memory.
//
// The 64 bits of an object, from the lowest: pending arrivals (20), outstanding bytes (22, two's complement),
// expected arrivals (20), the phase's parity (1). A phase completes when no arrivals are pending and no bytes
// are outstanding.
#include "device/cpu/simt/operations/barrier_objects.h"

#include <cstring>

#include "device/cpu/simt/check/block_check.h"
#include "device/cpu/simt/lanes/lane_loop.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::uint32_t count_bits = 20;
constexpr std::uint32_t byte_bits = 22;
constexpr std::uint64_t count_mask = (1u << count_bits) - 1;
constexpr std::uint64_t byte_mask = (1u << byte_bits) - 1;

struct BarrierObject {
  std::int64_t pending = 0;
  std::int64_t bytes = 0;
  std::int64_t expected = 0;
  std::uint64_t parity = 0;

  explicit BarrierObject(std::uint64_t word)
      : pending(static_cast<std::int64_t>(word & count_mask)),
        bytes(static_cast<std::int64_t>(word >> count_bits & byte_mask)),
        expected(static_cast<std::int64_t>(word >> (count_bits + byte_bits) & count_mask)),
        parity(word >> 62 & 1) {
    if (bytes >> (byte_bits - 1) != 0) bytes -= std::int64_t{1} << byte_bits;
  }
  std::uint64_t word() const {
    return (static_cast<std::uint64_t>(pending) & count_mask) |
           (static_cast<std::uint64_t>(bytes) & byte_mask) << count_bits |
           (static_cast<std::uint64_t>(expected) & count_mask) << (count_bits + byte_bits) | parity << 62;
  }
  /// Returns true if the phase ends.
  bool end_phase_if_complete() {
    if (pending > 0 || bytes != 0) return false;
    pending = expected;
    parity ^= 1;
    return true;
  }
};

struct Changed {
  std::uint64_t before = 0;  ///< the object's word
  bool ends_phase = false;
};

template <typename Change>
Changed change(std::byte* place, const Change& apply) {
  Changed made;
  std::memcpy(&made.before, place, 8);
  BarrierObject object(made.before);
  apply(object);
  made.ends_phase = object.end_phase_if_complete();
  const std::uint64_t after = object.word();
  std::memcpy(place, &after, 8);
  return made;
}

/// Returns false if the operation is relaxed.
bool take_order(OpcodeWords& words) {
  const bool is_relaxed = words.take_of({"release", "acquire", "relaxed"}) == "relaxed";
  words.take_of({"cta", "cluster"});
  return !is_relaxed;
}

/// Reports an operation that has been made to a checked launch.
void report(const OperationCall& call, const std::byte* place, const ObjectChange& change) {
  if (call.warp->check != nullptr)
    call.warp->check->change_object(*call.warp, *(*call.sites)[0], place, change);
}

/// Visits the object of each active lane in turn.
template <typename Visit>
void visit_objects(const OperationCall& call, const Visit& visit) {
  for_each_lane(call.mask, [&](std::uint32_t lane) {
    if (std::byte* const place = call.place(0, call.in[0][lane], lane, 8, 8); place != nullptr)
      visit(lane, place);
  });
}

Result<Operation> on_object(ptx::StateSpace space, std::function<void(const OperationCall&)> run) {
  return Operation{.run = std::move(run), .addresses = {{space, 8}}};
}

/// init, inval: never complete a phase.
Result<Operation> make_init(OperationRequest& request, bool inits) {
  const ptx::StateSpace space = take_space(request.words);
  if (!request.words.take("b64") || request.sources.size() != (inits ? 2 : 1)) return refuse(request);
  return on_object(space, [inits](const OperationCall& call) {
    visit_objects(call, [&](std::uint32_t lane, std::byte* place) {
      BarrierObject object(0);
      if (inits) object.pending = object.expected = static_cast<std::int64_t>(call.in[1][lane] & count_mask);
      const std::uint64_t word = object.word();
      std::memcpy(place, &word, 8);
      using Kind = ObjectChange::Kind;
      report(call, place, {inits ? Kind::init : Kind::inval, lane, object.expected});
    });
  });
}

Result<Operation> make_bytes(OperationRequest& request, int sign) {
  take_order(request.words);
  const ptx::StateSpace space = take_space(request.words);
  if (!request.words.take("b64") || request.sources.size() != 2) return refuse(request);
  return on_object(space, [sign](const OperationCall& call) {
    visit_objects(call, [&](std::uint32_t lane, std::byte* place) {
      const auto bytes = static_cast<std::int64_t>(call.in[1][lane] & 0xffff'ffff);
      const Changed made = change(place, [&](BarrierObject& object) { object.bytes += sign * bytes; });
      using Kind = ObjectChange::Kind;
      if (sign > 0) call.count(&OperationCounts::expected_bytes, static_cast<std::uint64_t>(bytes));
      report(call, place, {sign > 0 ? Kind::expect : Kind::complete, lane, 0, bytes, false, made.ends_phase});
    });
  });
}

Result<Operation> make_arrive(OperationRequest& request, bool drops) {
  OpcodeWords& words = request.words;
  const bool expects = words.take("expect_tx");
  words.take("noComplete");
  const bool releases = take_order(words);
  const ptx::StateSpace space = take_space(words);
  if (!words.take("b64") || request.sources.size() > 2 || (expects && request.sources.size() != 2))
    return refuse(request);
  const bool counts = request.sources.size() == 2 && !expects;
  const bool has_result = request.results != 0;
  return on_object(space, [=](const OperationCall& call) {
    visit_objects(call, [&](std::uint32_t lane, std::byte* place) {
      const std::int64_t count = counts ? static_cast<std::int64_t>(call.in[1][lane] & count_mask) : 1;
      const std::int64_t bytes = expects ? static_cast<std::int64_t>(call.in[1][lane] & 0xffff'ffff) : 0;
      const Changed made = change(place, [&](BarrierObject& object) {
        object.bytes += bytes;
        object.pending -= count;
        if (drops) object.expected -= count;
      });
      if (has_result) call.out[0][lane] = made.before;
      call.count(&OperationCounts::expected_bytes, static_cast<std::uint64_t>(bytes));
      report(call, place, {ObjectChange::Kind::arrive, lane, count, bytes, releases, made.ends_phase});
    });
  });
}

/// test_wait, try_wait: true if the phase of a state, or of a parity, has completed.
Result<Operation> make_wait(OperationRequest& request, bool may_suspend) {
  OpcodeWords& words = request.words;
  const bool by_parity = words.take("parity");
  const bool acquires = take_order(words);
  const ptx::StateSpace space = take_space(words);
  const std::size_t sources = request.sources.size();
  if (!words.take("b64") || request.results != 1 || sources < 2 || sources > (may_suspend ? 3u : 2u))
    return refuse(request);
  return on_object(space, [by_parity, acquires](const OperationCall& call) {
    bool any = false;
    const std::byte* awaited = nullptr;
    visit_objects(call, [&](std::uint32_t lane, std::byte* place) {
      const std::uint64_t parity = by_parity ? call.in[1][lane] & 1 : BarrierObject(call.in[1][lane]).parity;
      const auto has_ended = [&] {
        std::uint64_t word = 0;
        std::memcpy(&word, place, 8);
        return BarrierObject(word).parity != parity;
      };
      bool ended = has_ended();
      if (BlockCheck* const check = call.warp->check; check != nullptr) {
        if (!ended && check->perform_late(*call.warp, place)) ended = has_ended();
        check->test_object(*call.warp, *(*call.sites)[0], place, {lane, parity, ended, acquires});
      }
      call.out[0][lane] = ended ? 1 : 0;
      call.count(&OperationCounts::completed_waits, ended ? 1 : 0);
      any |= ended;
      awaited = place;
    });
    if (any || awaited == nullptr) return;
    call.warp->yields = 1;
    call.warp->awaited = {(*call.sites)[0], awaited};
  });
}

}  // namespace

std::string missing_at(const std::byte* place) {
  std::uint64_t word = 0;
  std::memcpy(&word, place, 8);
  const BarrierObject object(word);
  std::string text = std::to_string(object.pending) + " of " + std::to_string(object.expected) + " arrivals";
  if (object.bytes > 0) text += " and " + std::to_string(object.bytes) + " bytes";
  text += " missing in its present phase, of parity " + std::to_string(object.parity);
  if (object.bytes < 0) text += ", and " + std::to_string(-object.bytes) + " bytes more than it expects";
  return text;
}

bool arrive_at(std::byte* place) {
  return change(place, [](BarrierObject& object) { --object.pending; }).ends_phase;
}

bool complete_bytes(std::byte* place, std::uint64_t bytes) {
  const auto complete = [&](BarrierObject& object) { object.bytes -= static_cast<std::int64_t>(bytes); };
  return change(place, complete).ends_phase;
}

Result<Operation> make_mbarrier(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.take("init")) return make_init(request, true);
  if (words.take("inval")) return make_init(request, false);
  if (words.take("expect_tx")) return make_bytes(request, 1);
  if (words.take("complete_tx")) return make_bytes(request, -1);
  if (words.take("arrive")) return make_arrive(request, false);
  if (words.take("arrive_drop")) return make_arrive(request, true);
  if (words.take("test_wait")) return make_wait(request, false);
  if (words.take("try_wait")) return make_wait(request, true);
  if (!words.take("pending_count") || !words.take("b64") || request.sources.size() != 1 ||
      request.results != 1)
    return refuse(request);
  return Operation{.run = [](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      call.out[0][lane] = static_cast<std::uint64_t>(BarrierObject(call.in[0][lane]).pending);
    });
  }};
}

}  // namespace lynxpp::device::cpu
