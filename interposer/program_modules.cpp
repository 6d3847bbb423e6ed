#include "interposer/program_modules.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "image/bytes.h"
#include "image/fatbinary.h"
#include "ptx/parser/parser.h"

namespace lynxpp::interposer {
namespace {

/// Whether the driver is told to compile PTX even where machine code stands beside it.
bool driver_ignores_machine_code() {
  const auto is_set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && std::string_view(value) == "1";
  };
  return is_set("CUDA_FORCE_PTX_JIT") || is_set("CUDA_FORCE_JIT");
}

Result<std::vector<image::DeviceCode>> codes_of(std::span<const std::byte> bytes, int sm) {
  if (!driver_ignores_machine_code()) return image::device_code(bytes, sm);
  auto texts = image::ptx_modules(bytes, sm);
  if (!texts) return texts.error();
  if (texts->empty()) return image::device_code(bytes, sm);
  std::vector<image::DeviceCode> codes;
  for (std::string& text : *texts) codes.push_back({std::move(text), {}, {}});
  return codes;
}

/// True if another look may find more: nobody had seen the compiler of this cubin.
bool may_find_more(std::span<const std::byte> image, const std::vector<image::DeviceCode>& codes) {
  const bool is_cubin = image::load<std::uint32_t>(image, 0) == image::elf_magic;
  return is_cubin && std::all_of(codes.begin(), codes.end(),
                                 [](const image::DeviceCode& code) { return code.ptx.empty(); });
}

/// Names where a malformed text comes from unless that is the program image.
Failure unreadable(image::PtxOrigin origin, Failure failure) {
  const std::string where(image::describe(origin));
  if (where.empty() || failure.diagnostics.empty()) return failure;
  std::string& message = failure.diagnostics.front().message;
  message = "the PTX in " + where + " cannot be read: " + message;
  return failure;
}

}  // namespace

Result<KernelPtx> ProgramModules::text_of(const std::string& kernel, std::uint64_t image,
                                          std::span<const std::byte> bytes, int sm) {
  const std::lock_guard lock(mutex_);
  const auto key = std::make_pair(image, sm);
  auto found = codes_.find(key);
  if (found == codes_.end() || may_find_more(bytes, found->second)) {
    auto codes = codes_of(bytes, sm);
    if (!codes) return codes.error();
    found = codes_.insert_or_assign(key, std::move(*codes)).first;
  }
  const std::vector<image::DeviceCode>& codes = found->second;
  for (const image::DeviceCode& code : codes) {
    // Parsing a module costs much more than this look.
    if (code.ptx.find(kernel) == std::string::npos) continue;
    const Result<ptx::Module> module = ptx::parse_module(code.ptx);
    if (!module) return unreadable(code.origin, module.error());
    const ptx::Function* function = module->find_function(kernel);
    if (function != nullptr && function->is_entry)
      return KernelPtx{code.ptx, std::string(image::describe(code.origin))};
  }
  // Of several containers, one that has PTX says more than one that has none.
  const image::DeviceCode* reason = nullptr;
  for (const image::DeviceCode& code : codes) {
    if (!code.problem.empty() && (reason == nullptr || code.has_other_ptx)) reason = &code;
  }
  if (reason == nullptr) return failure("no PTX module of the program defines it");
  return failure(reason->problem, reason->hint);
}

void ProgramModules::forget(std::uint64_t image) {
  const std::lock_guard lock(mutex_);
  std::erase_if(codes_, [&](const auto& entry) { return entry.first.first == image; });
}

}  // namespace lynxpp::interposer
