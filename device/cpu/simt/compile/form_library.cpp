#include "device/cpu/simt/compile/form_library.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

namespace lynxpp::device::cpu {

FormLibrary& FormLibrary::shared() {
  static auto* const library = new FormLibrary;
  return *library;
}

FormFunction FormLibrary::find(const std::string& text) const {
  const std::shared_lock lock(mutex_);
  const auto found = forms_.find(text);
  return found == forms_.end() ? nullptr : found->second;
}

std::size_t FormLibrary::size() const {
  const std::shared_lock lock(mutex_);
  return forms_.size();
}

Result<std::shared_ptr<Jit>> FormLibrary::jit() {
  const std::unique_lock lock(mutex_);
  if (jit_ != nullptr) return jit_;
  Result<std::shared_ptr<Jit>> made = Jit::create();
  if (made) jit_ = *made;
  return made;
}

Status FormLibrary::prepare(llvm::Module& module) {
  const Result<std::shared_ptr<Jit>> code = jit();
  if (!code) return code.error();
  (*code)->prepare(module);
  return success();
}

/// Two threads may compile the same form, one after the other; the first one's stays.
Status FormLibrary::add(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context,
                        const std::vector<Definition>& definitions) {
  if (definitions.empty()) return success();
  const Result<std::shared_ptr<Jit>> code = jit();
  if (!code) return code.error();
  const std::lock_guard compiling(compiling_);
  if (Status added = (*code)->add(std::move(module), std::move(context)); !added) return added;
  for (const Definition& definition : definitions) {
    const Result<void*> address = (*code)->lookup(definition.name);
    if (!address) return address.error();
    const std::unique_lock lock(mutex_);
    forms_.emplace(definition.text, reinterpret_cast<FormFunction>(*address));
  }
  return success();
}

}  // namespace lynxpp::device::cpu
