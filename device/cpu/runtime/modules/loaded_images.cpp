#include "device/cpu/runtime/modules/loaded_images.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "device/cpu/runtime/streams.h"
#include "image/fatbinary.h"
#include "support/log.h"

namespace lynxpp::device::cpu {

LoadedImages& loaded_images() {
  static auto* const all = new LoadedImages;
  return *all;
}

Kernel* LoadedImage::kernel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = kernels_.find(name); found != kernels_.end()) return found->second;
  const auto names = binary_->kernel_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) return nullptr;
  Kernel* const made = registry().add_kernel(binary_, nullptr, name.c_str());
  made->device = device_;
  return kernels_[name] = made;
}

cudaError_t LoadedImages::load(const void* image, std::optional<int> device, LoadedImage*& loaded) {
  if (image == nullptr) return cudaErrorInvalidValue;
  const auto bytes = image::image_bytes(image);
  if (!bytes) return cudaErrorInvalidKernelImage;
  auto made = std::make_unique<LoadedImage>();
  made->device_ = device;
  constexpr std::size_t end_of_text = 8;  // PTX text ends in a zero byte
  made->image_.resize(bytes->size() + end_of_text);
  std::memcpy(made->image_.data(), bytes->data(), bytes->size());
  made->binary_ = registry().add_binary(made->image_.data());
  const cudaError_t error = made->binary_->load_all("the program", device.value_or(current_device()));
  if (error != cudaSuccess) {
    if (error == cudaErrorNoKernelImageForDevice)
      log().error("a module cannot be loaded on the cpu device: {}", made->binary_->why_no_ptx());
    registry().remove_binary(made->binary_);
    return error;
  }
  loaded = made.get();
  const std::lock_guard lock(mutex_);
  images_[loaded] = std::move(made);
  return cudaSuccess;
}

cudaError_t LoadedImages::load_file(const char* path, std::optional<int> device, LoadedImage*& loaded) {
  std::vector<char> bytes;
  if (const cudaError_t error = read_image(path, bytes); error != cudaSuccess) return error;
  return load(bytes.data(), device, loaded);
}

bool LoadedImages::remove(LoadedImage* image) {
  std::unique_ptr<LoadedImage> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto found = images_.find(image);
    if (found == images_.end()) return false;
    gone = std::move(found->second);
    images_.erase(found);
  }
  streams().wait_for_all();
  registry().remove_binary(gone->binary_);
  return true;
}

LoadedImage* LoadedImages::find(const void* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = images_.find(handle);
  return found != images_.end() ? found->second.get() : nullptr;
}

LoadedImage* LoadedImages::owner_of(const Kernel* kernel) {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, image] : images_) {
    if (image->holds(kernel)) return image.get();
  }
  return nullptr;
}

cudaError_t read_image(const char* path, std::vector<char>& bytes) {
  if (path == nullptr) return cudaErrorInvalidValue;
  std::ifstream file(path, std::ios::binary);
  if (!file) return cudaErrorFileNotFound;
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  if (bytes.empty()) return cudaErrorInvalidKernelImage;
  constexpr std::size_t margin = 64;  // the header is read even if it is corrupt
  bytes.insert(bytes.end(), margin, '\0');
  return cudaSuccess;
}

}  // namespace lynxpp::device::cpu
