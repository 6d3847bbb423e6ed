#include "interposer/this_process.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "support/own_program.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

std::string host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string program() {
  char path[PATH_MAX];
  find_own_program(path);
  return path;
}

/// Returns the arguments; empty if they cannot be read.
std::vector<std::string> command() {
  std::string text;
  std::vector<std::string> arguments;
  if (!read_file("/proc/self/cmdline", text)) return arguments;
  for (std::size_t at = 0; at < text.size(); at += arguments.back().size() + 1)
    arguments.emplace_back(text.c_str() + at);
  return arguments;
}

std::optional<std::uint64_t> rank() {
  for (const char* const variable :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    const char* const value = secure_getenv(variable);
    if (value == nullptr) continue;
    const char* const end = value + std::strlen(value);
    std::uint64_t number = 0;
    const auto [last, error] = std::from_chars(value, end, number);
    if (error == std::errc() && last == end && last != value) return number;
  }
  return std::nullopt;
}

std::string name_of(std::string_view bytes) {
  constexpr std::size_t digits = 12;
  std::uint64_t hash = std::hash<std::string_view>()(bytes);
  std::string name(digits, '0');
  for (auto digit = name.rbegin(); digit != name.rend(); ++digit, hash >>= 4)
    *digit = "0123456789abcdef"[hash & 15];
  return name;
}

}  // namespace

report::ProcessRecord describe_process() {
  report::ProcessRecord record;
  record.host = host();
  record.pid = static_cast<std::uint64_t>(getpid());
  record.rank = rank();
  record.program = program();
  record.command = command();
  record.begin_us = host_clock_us();
  record.process = name_of(std::string_view(record.host + ' ' + std::to_string(record.pid) + ' ' +
                                            std::to_string(record.begin_us)));
  return record;
}

std::uint64_t host_clock_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

std::uint64_t this_thread() {
  static thread_local const auto number = static_cast<std::uint64_t>(gettid());
  return number;
}

std::string name_of(std::span<const std::byte> bytes) {
  return name_of(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace lynxpp::interposer
