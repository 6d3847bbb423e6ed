// primitives [SIZE] [PRIMITIVE[/IMPLEMENTATION]...]
//
// Runs all implementations of each primitive, or the named ones; `list` prints the names. Times and speed-ups
// go to stderr, and only if PRIMITIVES_TIME is set. Then, and on a GPU always, each implementation runs
// twice: the first run loads code; it is in no range and not timed.
#include <nvtx3/nvToolsExt.h>

#include <cctype>
#include <cstring>
#include <ctime>
#include <limits>
#include <numeric>

#include "examples/primitives/primitives.h"

namespace primitives {
namespace {

/// A generator with the same sequence everywhere (xorshift64*).
class Random {
 public:
  Value below(Value limit) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<Value>((state_ * 0x2545f4914f6cdd1dull) >> 32) % limit;
  }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15ull;
};

bool is_cpu_device() {
  cudaDeviceProp properties;
  PRIMITIVES_CHECK(cudaGetDeviceProperties(&properties, 0));
  return std::strcmp(properties.name, "lynxpp cpu device") == 0;
}

/// True for implementations that lynxpp's CPU device compiles very slowly: there they run only if named.
bool takes_long(const std::string& path) { return path == "reduction_by_key/cub" && is_cpu_device(); }

double processor_ms = 0;  // that the process took for the device's work in the last trial

bool is_wanted(const Primitive& primitive, const std::vector<std::string>& wanted) {
  const std::string path = std::string(primitive.name) + "/" + primitive.implementation;
  if (takes_long(path)) return std::find(wanted.begin(), wanted.end(), path) != wanted.end();
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& each) {
           return each == primitive.name || each == path;
         });
}

}  // namespace

std::vector<Primitive>& all() {
  static std::vector<Primitive> list;
  return list;
}

Problem make_problem(std::size_t size) {
  Random random;
  Problem problem;
  Value key = 0;
  for (std::size_t i = 0; i < size; ++i) {
    problem.values.push_back(random.below(1000));
    // Runs of 1 to some 200 values.
    if (i == 0 || random.below(16) == 0 || (key % 7 == 0 && random.below(3) == 0)) {
      ++key;
      problem.offsets.push_back(static_cast<Value>(i));
    }
    problem.keys.push_back(key);
    problem.flags.push_back(random.below(3) == 0 ? 1 : 0);
    problem.sorted_a.push_back(static_cast<Value>(3 * i + random.below(3)));
    problem.sorted_b.push_back(static_cast<Value>(3 * i + random.below(3)));
  }
  problem.offsets.push_back(static_cast<Value>(size));
  problem.permutation.resize(size);
  std::iota(problem.permutation.begin(), problem.permutation.end(), Value{0});
  for (std::size_t i = size; i > 1; --i)
    std::swap(problem.permutation[i - 1], problem.permutation[random.below(static_cast<Value>(i))]);
  return problem;
}

void Trial::device(const std::function<void()>& work) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  PRIMITIVES_CHECK(cudaEventCreate(&begin));
  PRIMITIVES_CHECK(cudaEventCreate(&end));
  PRIMITIVES_CHECK(cudaDeviceSynchronize());
  const bool is_named = primitive_ != nullptr;
  if (is_named) nvtxRangePushA(primitive_);
  if (is_named) nvtxRangePushA(implementation_);
  const std::clock_t started = std::clock();
  PRIMITIVES_CHECK(cudaEventRecord(begin));
  work();
  PRIMITIVES_CHECK(cudaEventRecord(end));
  PRIMITIVES_CHECK(cudaEventSynchronize(end));
  processor_ms = 1000.0 * static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
  if (is_named) nvtxRangePop();
  if (is_named) nvtxRangePop();
  PRIMITIVES_CHECK(cudaGetLastError());
  float milliseconds = 0;
  PRIMITIVES_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  device_ms_ = milliseconds;
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
}

void Trial::compare(const Values& found, const Values& wanted) {
  if (found.size() != wanted.size()) {
    error_ = std::numeric_limits<double>::infinity();
    return;
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    error_ = std::max(error_, std::abs(static_cast<double>(found[i]) - static_cast<double>(wanted[i])));
}

}  // namespace primitives

int main(int count, char** words) {
  using namespace primitives;
  std::size_t size = 20000;
  std::vector<std::string> wanted(words + 1, words + count);
  if (!wanted.empty() && std::isdigit(static_cast<unsigned char>(wanted[0][0])) != 0) {
    size = std::strtoul(wanted[0].c_str(), nullptr, 10);
    wanted.erase(wanted.begin());
  }
  std::vector<Primitive>& list = all();
  std::stable_sort(list.begin(), list.end(), [](const Primitive& a, const Primitive& b) {
    const int order = std::strcmp(a.name, b.name);
    return order != 0 ? order < 0 : std::strcmp(a.implementation, b.implementation) < 0;
  });
  if (!wanted.empty() && wanted[0] == "list") {
    for (const Primitive& each : list) std::printf("%s/%s\n", each.name, each.implementation);
    return 0;
  }
  if (size < 2 || size > (1u << 28)) {
    std::fprintf(stderr, "primitives: the size must be from 2 to %u\n", 1u << 28);
    return 2;
  }
  const Problem problem = make_problem(size);
  int runs = 0;
  bool is_right = true;
  for (const Primitive& each : list) {
    if (!is_wanted(each, wanted)) continue;
    ++runs;
    const bool shows_times = std::getenv("PRIMITIVES_TIME") != nullptr;
    if (shows_times || !is_cpu_device()) {
      Trial first(nullptr, nullptr);
      each.run(problem, first);
    }
    Trial trial(each.name, each.implementation);
    each.run(problem, trial);
    std::printf("%s/%s: error %g\n", each.name, each.implementation, trial.error());
    std::fflush(stdout);
    is_right &= trial.error() == 0;
    if (shows_times)
      std::fprintf(stderr, "%s/%s: host %.3f ms, device %.3f ms, speed-up %.2f, processor %.3f ms\n",
                   each.name, each.implementation, trial.host_ms(), trial.device_ms(),
                   trial.device_ms() > 0 ? trial.host_ms() / trial.device_ms() : 0.0, processor_ms);
  }
  if (runs == 0) {
    std::fprintf(stderr, "primitives: no such primitive; `primitives list` names them\n");
    return 2;
  }
  std::printf("primitives: %s, %d runs of %zu values\n", is_right ? "ok" : "WRONG", runs, size);
  return is_right ? 0 : 1;
}
