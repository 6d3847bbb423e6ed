// The registry's knowledge of modules and functions, and what it forgets with a library or a context.
#include "interposer/preload/registry.h"

#include <gtest/gtest.h>

#include <array>

namespace lynxpp::preload {
namespace {

class RegistryTest : public testing::Test {
 protected:
  /// Returns a handle that differs from all others.
  void* handle(std::size_t number) { return &handles_.at(number); }

  Registry registry_;

 private:
  std::array<char, 16> handles_{};
};

TEST_F(RegistryTest, UnloadingALibraryRemovesItsModules) {
  void* const library = handle(0);
  void* const module = handle(1);
  void* const other = handle(2);
  registry_.add_module(library, nullptr, nullptr);
  registry_.add_module_of_library(module, library, handle(3));
  registry_.add_module(other, nullptr, handle(3));
  registry_.add_function(handle(4), module, "of_module", Registry::In::module);
  registry_.add_function(handle(5), other, "of_other", Registry::In::module);
  const Registry::Removed removed = registry_.remove_module(library);
  EXPECT_EQ(removed.modules.size(), 2u);
  EXPECT_FALSE(registry_.knows_module(library));
  EXPECT_FALSE(registry_.knows_module(module));
  EXPECT_EQ(registry_.find_function(handle(4)).kernel, nullptr);
  EXPECT_TRUE(registry_.knows_module(other));
  EXPECT_NE(registry_.find_function(handle(5)).kernel, nullptr);
  registry_.restore(removed);
  EXPECT_TRUE(registry_.knows_module(module));
  EXPECT_EQ(registry_.find_function(handle(4)).kernel->name, "of_module");
}

TEST_F(RegistryTest, DestroyingAContextRemovesItsModules) {
  void* const ended = handle(0);
  registry_.add_module(handle(1), nullptr, ended);
  registry_.add_module(handle(2), nullptr, handle(3));
  registry_.add_function(handle(4), handle(1), "ended", Registry::In::module);
  registry_.add_function(handle(5), handle(2), "kept", Registry::In::module);
  registry_.remove_context(ended);
  EXPECT_FALSE(registry_.knows_module(handle(1)));
  EXPECT_EQ(registry_.find_function(handle(4)).kernel, nullptr);
  EXPECT_TRUE(registry_.knows_module(handle(2)));
  EXPECT_NE(registry_.find_function(handle(5)).kernel, nullptr);
}

TEST_F(RegistryTest, AllHandlesOfAKernelShareItsCacheConfiguration) {
  registry_.add_module(handle(0), nullptr, nullptr);
  registry_.add_function(handle(1), handle(0), "kernel", Registry::In::library);
  registry_.add_function(handle(2), handle(0), "another", Registry::In::library);
  registry_.add_alias(handle(3), handle(1), handle(4));
  constexpr int prefer_shared = 1;
  registry_.set_cache_config(handle(1), prefer_shared);
  EXPECT_EQ(registry_.find_function(handle(1)).kernel->cache_config, prefer_shared);
  EXPECT_EQ(registry_.find_function(handle(3)).kernel->cache_config, prefer_shared);
  EXPECT_EQ(registry_.find_function(handle(2)).kernel->cache_config, -1);
}

}  // namespace
}  // namespace lynxpp::preload
