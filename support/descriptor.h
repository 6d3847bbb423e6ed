// Header only: the preload library links only private_folder.h from support.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace lynxpp {

/// An open file or folder, closed on destruction. Preserves errno.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ < 0) return;
    const int error = errno;
    ::close(number_);
    errno = error;
  }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Returns the number, which the object no longer closes.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace lynxpp
