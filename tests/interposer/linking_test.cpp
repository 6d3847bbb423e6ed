// PTX that the program links through the driver is remembered under the resulting cubin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/text.h"
#include "tests/interposer/preload_run.h"
#include "tests/support/readable_name.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp {
namespace {

const std::string cubin("\177ELF linked", 12);  // with the terminating zero

class LinkedDoor : public testing::TestWithParam<const char*> {
 protected:
  /// Returns the content of the store after linking these inputs; empty: nothing.
  static std::string remembered(const std::string& inputs) {
    const TemporaryFolder folder;
    const std::string store = folder.file("store");
    const std::string path = folder.file("text.ptx");
    std::ofstream(path) << "text of a file";
    const Outcome result = run_driver(std::string(GetParam()) + " link=" + inputs,
                                      "LYNXPP_PTX_STORE=" + store + " DRIVER_PROGRAM_FILE=" + path);
    EXPECT_EQ(result.status, 0) << result.errors;
    std::string text;
    if (!std::filesystem::exists(store)) return text;
    for (const auto& entry : std::filesystem::directory_iterator(store + "/lynxpp/ptx")) {
      EXPECT_EQ(text, "") << "one entry";
      EXPECT_TRUE(read_file(entry.path(), text));
    }
    EXPECT_TRUE(text.empty() || text.starts_with(cubin)) << text;
    return text.empty() ? text : text.substr(cubin.size());
  }
};

TEST_P(LinkedDoor, RemembersTheTextsByTheCubin) {
  EXPECT_EQ(remembered("a"), "text a");
  EXPECT_EQ(remembered("ab"), std::string("text a\0text b", 13));
  EXPECT_EQ(remembered("caf"), std::string("text a\0text of a file", 21)) << "machine code has no text";
}

TEST_P(LinkedDoor, ForgetsTextsThatTheDriverRefusesOrCompilesDifferently) {
  EXPECT_EQ(remembered("ra"), "text a");
  EXPECT_EQ(remembered("c"), "");
  EXPECT_EQ(remembered("am"), "") << "the driver would contract what is kept apart";
}

INSTANTIATE_TEST_SUITE_P(Preload, LinkedDoor, testing::Values("linked", "dlsym", "proc", "proc_v1"),
                         ReadableName());

}  // namespace
}  // namespace lynxpp
