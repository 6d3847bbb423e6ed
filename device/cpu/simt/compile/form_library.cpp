#include "device/cpu/simt/compile/form_library.h"

#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include "support/log.h"

namespace lynxpp::device::cpu {

FormLibrary& FormLibrary::shared() {
  static auto* const library = new FormLibrary;
  return *library;
}

FormFunction FormLibrary::known(const FormKey& form) const {
  const std::shared_lock lock(mutex_);
  const auto found = forms_.find(form);
  return found == forms_.end() ? nullptr : found->second;
}

/// A form from the cache is loaded with all forms that were compiled with it.
FormFunction FormLibrary::find(const FormKey& form) {
  if (const FormFunction function = known(form); function != nullptr || cache_ == nullptr) return function;
  const std::lock_guard compiling(compiling_);
  if (const FormFunction function = known(form)) return function;
  if (const std::optional<CodeCache::Record> record = cache_->find(form)) load(*record);
  return known(form);
}

std::size_t FormLibrary::size() const {
  const std::shared_lock lock(mutex_);
  return forms_.size();
}

Result<std::shared_ptr<Jit>> FormLibrary::jit() {
  const std::unique_lock lock(mutex_);
  if (jit_ != nullptr) return jit_;
  Result<std::shared_ptr<Jit>> made = Jit::create();
  if (!made) return made;
  jit_ = *made;
  cache_ = CodeCache::of_user(jit_->processor());
  return made;
}

Status FormLibrary::prepare(llvm::Module& module) {
  const Result<std::shared_ptr<Jit>> code = jit();
  if (!code) return code.error();
  (*code)->prepare(module);
  return success();
}

/// Two threads may compile the same form; the first result is kept.
Status FormLibrary::add(llvm::Module& module, const std::vector<Definition>& definitions) {
  if (definitions.empty()) return success();
  const Result<std::shared_ptr<Jit>> code = jit();
  if (!code) return code.error();
  const std::lock_guard compiling(compiling_);
  Result<std::unique_ptr<llvm::MemoryBuffer>> object = (*code)->compile(module);
  if (!object) return object.error();
  keep(**object, definitions);
  return link(std::move(*object), definitions);
}

void FormLibrary::keep(const llvm::MemoryBuffer& object, const std::vector<Definition>& definitions) const {
  if (cache_ == nullptr) return;
  std::vector<FormKey> forms;
  for (const Definition& each : definitions) {
    if (each.name == each.form.name()) forms.push_back(each.form);
  }
  cache_->add(forms, {reinterpret_cast<const std::byte*>(object.getBufferStart()), object.getBufferSize()});
}

Status FormLibrary::link(std::unique_ptr<llvm::MemoryBuffer> object,
                         const std::vector<Definition>& definitions) {
  std::vector<std::string> names;
  for (const Definition& each : definitions) names.push_back(each.name);
  const Result<std::vector<void*>> addresses = jit_->link(std::move(object), names);
  if (!addresses) return addresses.error();
  const std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < definitions.size(); ++i)
    forms_.emplace(definitions[i].form, reinterpret_cast<FormFunction>((*addresses)[i]));
  return success();
}

/// If linking fails, the forms are compiled.
void FormLibrary::load(const CodeCache::Record& record) {
  std::vector<Definition> definitions;
  for (const FormKey& form : record.forms) definitions.push_back({form, form.name()});
  const llvm::StringRef bytes(reinterpret_cast<const char*>(record.object.data()), record.object.size());
  const std::size_t before = size();
  if (const Status linked = link(llvm::MemoryBuffer::getMemBuffer(bytes, "", false), definitions); !linked)
    log().debug("cpu device: cannot use cached code: {}", linked.error().diagnostics.front().message);
  from_cache_.fetch_add(size() - before);
}

}  // namespace lynxpp::device::cpu
