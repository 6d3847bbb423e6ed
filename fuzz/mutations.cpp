// The entry of the fuzz targets without libFuzzer: runs every seed and then a fixed number of mutated ones,
// the same in every run. It does not use coverage, so it only explores the surroundings of the seeds; the
// sanitizer builds of the tests run it too. Stores an input that crashes or takes more than ten seconds.
//   fuzz_TARGET COUNT FINDING SEEDS      FINDING: the file for such an input; SEEDS: a folder
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr unsigned seconds_for_one = 10;
constexpr std::size_t longest_input = 16384;

// State for the signal handler, which may not allocate.
std::string input;
const char* finding = nullptr;

void keep_input(int signal) {
  const int file = open(finding, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, input.data(), input.size()) < 0) _exit(3);
  constexpr char crashed[] = "fuzz: an input caused a crash\n";
  constexpr char hung[] = "fuzz: an input took more than ten seconds\n";
  const bool is_late = signal == SIGALRM;
  if (write(STDERR_FILENO, is_late ? hung : crashed, is_late ? sizeof hung - 1 : sizeof crashed - 1) < 0)
    _exit(3);
  _exit(1);
}

void run(std::string bytes) {
  input = std::move(bytes);
  alarm(seconds_for_one);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::vector<std::string> read_seeds(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> seeds;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  /// Returns one of the seeds with one to eight mutations.
  std::string next() {
    std::string bytes = any_seed();
    for (std::size_t changes = 1 + below(8); changes > 0; --changes) change(bytes);
    bytes.resize(std::min(bytes.size(), longest_input));
    return bytes;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }
  const std::string& any_seed() { return seeds_[below(seeds_.size())]; }

  /// Returns part of a seed.
  std::string piece() {
    const std::string& from = any_seed();
    const std::size_t begin = below(from.size());
    return from.substr(begin, 1 + below(64));
  }

  void change(std::string& bytes) {
    const std::size_t place = below(bytes.size());
    switch (below(6)) {
      case 0:
        if (!bytes.empty()) bytes[place] ^= static_cast<char>(1u << below(8));
        break;
      case 1:
        if (!bytes.empty()) bytes[place] = static_cast<char>(below(256));
        break;
      case 2: bytes.erase(place, 1 + below(64)); break;
      case 3: bytes.insert(place, piece()); break;
      case 4: bytes.replace(place, 1 + below(16), piece()); break;
      default: bytes.insert(place, bytes.substr(below(bytes.size()), 1 + below(256))); break;
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_{1};
};

}  // namespace

int main(int count_of_arguments, char** arguments) {
  if (count_of_arguments != 4) return 2;
  const long count = std::atol(arguments[1]);
  finding = arguments[2];
  const std::vector<std::string> seeds = read_seeds(arguments[3]);
  if (seeds.empty()) {
    std::fprintf(stderr, "fuzz: no seeds in %s\n", arguments[3]);
    return 2;
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM})
    std::signal(signal, keep_input);
  for (const std::string& seed : seeds) run(seed);
  Mutator mutator(seeds);
  for (long i = 0; i < count; ++i) run(mutator.next());
  alarm(0);
  std::printf("%zu seeds and %ld mutated ones\n", seeds.size(), count);
  return 0;
}
