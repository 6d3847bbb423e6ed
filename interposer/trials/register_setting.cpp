#include "interposer/trials/register_setting.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "interposer/trials/one_block_fewer.h"

namespace lynxpp::interposer {
namespace {

/// Removes a directive with its number. Returns false if it is missing.
bool remove(std::string& ptx, device::DirectiveRange& directives, std::string_view name) {
  const std::size_t begin = ptx.find(name, directives.begin);
  if (begin >= directives.end) return false;
  const std::size_t number = ptx.find_first_of("0123456789", begin + name.size());
  const std::size_t end = ptx.find_first_not_of("0123456789", number);
  if (end > directives.end) return false;
  ptx.erase(begin, end - begin);
  directives.end -= end - begin;
  return true;
}

}  // namespace

Status remove_register_limits(std::string& ptx, device::DirectiveRange& directives) {
  const bool had_blocks = remove(ptx, directives, ".minnctapersm");
  const bool had_registers = remove(ptx, directives, ".maxnreg");
  if (!had_blocks && !had_registers) return failure("the kernel does not limit its registers");
  return success();
}

Status limit_registers(std::string& ptx, device::DirectiveRange& directives, device::Device& device,
                       const device::Launch& launch) {
  constexpr std::uint32_t lanes = 32, unit = 8, least = 16;
  const std::optional<device::MultiprocessorLimits>& limits = device.info().limits;
  const std::optional<device::KernelResources> original = device.resources(launch, nullptr);
  if (!limits || !original || limits->registers == 0 || original->blocks_per_sm == 0)
    return failure("the device's registers are unknown");
  const std::uint32_t threads = (launch.threads_per_block() + lanes - 1) / lanes * lanes;
  const std::uint32_t blocks = original->blocks_per_sm + 1;
  if (blocks > limits->blocks || blocks * threads > limits->threads)
    return failure("threads or blocks limit how many blocks a multiprocessor holds");
  const std::uint32_t registers = limits->registers / (blocks * threads) / unit * unit;
  if (registers >= original->registers || registers < least)
    return failure("registers do not limit how many blocks a multiprocessor holds");
  if (directives.begin >= directives.end) return failure("the kernel's directives are unknown");
  (void)remove_register_limits(ptx, directives);
  const std::string text = "\n.maxnreg " + std::to_string(registers) + "\n";
  ptx.insert(directives.end, text);
  directives.end += text.size();
  return success();
}

}  // namespace lynxpp::interposer
