#include "interposer/program_modules.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>

#include "image/bytes.h"
#include "image/fatbinary.h"
#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/parser/linking.h"
#include "ptx/parser/parser.h"

namespace lynxpp::interposer {
namespace {

/// True if the driver is configured to compile PTX even if machine code is available.
bool driver_ignores_machine_code() {
  const auto is_set = [](const char* name) {
    const char* value = secure_getenv(name);
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

/// True if another search may find more: the compiler of this cubin was not observed.
bool may_find_more(std::span<const std::byte> image, const std::vector<image::DeviceCode>& codes) {
  const bool is_cubin = image::load<std::uint32_t>(image, 0) == image::elf_magic;
  return is_cubin && std::all_of(codes.begin(), codes.end(),
                                 [](const image::DeviceCode& code) { return code.ptx.empty(); });
}

/// Names the origin of a malformed text unless it is the program image.
Failure unreadable(image::PtxOrigin origin, Failure failure) {
  const std::string where(image::describe(origin));
  if (where.empty() || failure.diagnostics.empty()) return failure;
  std::string& message = failure.diagnostics.front().message;
  message = "the PTX in " + where + " cannot be read: " + message;
  return failure;
}

/// Returns the functions that the module declares but does not define, except those that the driver provides.
std::set<std::string> undefined_in(const ptx::Module& module) {
  std::set<std::string> names;
  for (const ptx::Function& each : module.functions) {
    if (each.is_declaration() && !ptx::is_defined_by_driver(each.name)) names.insert(each.name);
  }
  for (const ptx::Function& each : module.functions) {
    if (!each.is_declaration()) names.erase(each.name);
  }
  return names;
}

/// Returns the defining module, linked with those modules of the image that define the functions it calls, as
/// the device linker does; the module itself if it needs none, or they cannot be linked.
std::string linked_with_others(const std::vector<image::DeviceCode>& codes, const image::DeviceCode& first,
                               const ptx::Module& module) {
  std::set<std::string> undefined = undefined_in(module);
  std::vector<std::string> texts{first.ptx};
  std::set<const image::DeviceCode*> taken{&first};
  for (bool is_new = true; is_new && !undefined.empty();) {
    is_new = false;
    for (const image::DeviceCode& code : codes) {
      const auto names_it = [&](const std::string& name) { return code.ptx.find(name) != std::string::npos; };
      if (taken.contains(&code) || std::ranges::none_of(undefined, names_it)) continue;
      const Result<ptx::Module> other = ptx::parse_module(code.ptx);
      if (!other) continue;
      const auto is_defined = [&](const std::string& name) {
        const ptx::Function* const function = other->find_function(name);
        return function != nullptr && !function->is_declaration();
      };
      if (std::ranges::none_of(undefined, is_defined)) continue;
      undefined.merge(undefined_in(*other));
      std::erase_if(undefined, is_defined);
      texts.push_back(code.ptx);
      taken.insert(&code);
      is_new = true;
    }
  }
  if (texts.size() == 1) return first.ptx;
  Result<std::string> linked = ptx::link_modules(texts);
  return linked ? std::move(*linked) : first.ptx;
}

}  // namespace

Result<KernelPtx> ProgramModules::text_of(const std::string& kernel, std::uint64_t image,
                                          std::span<const std::byte> bytes, int sm) {
  const Lock lock(mutex_);
  const auto key = std::make_pair(image, sm);
  auto found = codes_.find(key);
  if (found == codes_.end() || may_find_more(bytes, found->second)) {
    auto codes = codes_of(bytes, sm);
    if (!codes) return codes.error();
    found = codes_.insert_or_assign(key, std::move(*codes)).first;
  }
  const std::vector<image::DeviceCode>& codes = found->second;
  for (const image::DeviceCode& code : codes) {
    // Parsing a module costs much more than this test.
    if (code.ptx.find(kernel) == std::string::npos) continue;
    const Result<ptx::Module> module = ptx::parse_module(code.ptx);
    if (!module) return unreadable(code.origin, module.error());
    const ptx::Function* function = module->find_function(kernel);
    if (function != nullptr && function->is_entry && !function->is_declaration()) {
      return KernelPtx{linked_with_others(codes, code, *module), std::string(image::describe(code.origin))};
    }
  }
  // Among several containers, one that has PTX is more informative than one without.
  const image::DeviceCode* reason = nullptr;
  for (const image::DeviceCode& code : codes) {
    if (!code.problem.empty() && (reason == nullptr || code.has_other_ptx)) reason = &code;
  }
  if (reason == nullptr) return failure("no PTX module of the program defines it");
  return failure(reason->problem, reason->hint);
}

void ProgramModules::forget(std::uint64_t image) {
  const Lock lock(mutex_);
  std::erase_if(codes_, [&](const auto& entry) { return entry.first.first == image; });
}

}  // namespace lynxpp::interposer
