// Output paths named by users in a running program: whatever the path refers to, the program continues.
#include "support/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "support/text.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp {
namespace {

using testing::HasSubstr;

class OutputFile : public ::testing::Test {
 protected:
  /// The reason why the path is rejected; otherwise empty.
  static std::string refusal(const std::string& path) {
    const Result<Descriptor> opened = open_output(path, O_APPEND);
    return opened ? "" : opened.error().diagnostics.front().message;
  }
  static std::string content(const std::string& path) {
    std::string text;
    EXPECT_TRUE(read_file(path, text));
    return text;
  }
  std::string pipe() const {
    EXPECT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
    return folder_.file("pipe");
  }

  TemporaryFolder folder_;
};

TEST_F(OutputFile, IsCreatedAndExtended) {
  const std::string path = folder_.file("out");
  EXPECT_TRUE(append_to_output(path, "one ").ok());
  EXPECT_TRUE(append_to_output(path, "two").ok());
  EXPECT_EQ(content(path), "one two");
  EXPECT_TRUE(begin_output(path).ok());
  EXPECT_EQ(content(path), "");
}

TEST_F(OutputFile, AcceptsTheNullDevice) {
  EXPECT_EQ(refusal("/dev/null"), "");
  EXPECT_TRUE(begin_output("/dev/null").ok());
}

TEST_F(OutputFile, RejectsDevicesFoldersAndSockets) {
  EXPECT_EQ(refusal("/dev/random"), "cannot write /dev/random: it is a device");
  EXPECT_EQ(refusal("/dev"), "cannot write /dev: it is a folder");
  EXPECT_EQ(refusal("/no/such/folder"), "cannot write /no/such/folder: No such file or directory");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, folder_.file("socket").c_str(), sizeof address.sun_path - 1);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(refusal(folder_.file("socket")), HasSubstr("it is a socket"));
}

TEST_F(OutputFile, RejectsAPipeWithoutAReader) {
  const std::string path = pipe();
  EXPECT_THAT(refusal(path), HasSubstr("no process reads the pipe"));
  EXPECT_TRUE(begin_output(path).ok()) << "its reader may open it later";
}

TEST_F(OutputFile, AbandonsAPipeThatIsNotRead) {
  const std::string path = pipe();
  const Descriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  const Result<Descriptor> writer = open_output(path, O_APPEND);
  ASSERT_TRUE(writer.ok());
  const Written written =
      write_output(*writer, std::string(std::size_t{4} << 20, 'x'), std::chrono::milliseconds(1));
  EXPECT_EQ(written.error, ETIMEDOUT);
  EXPECT_GT(written.bytes, 0u);
}

TEST_F(OutputFile, WaitsForAPipeThatIsRead) {
  const std::string path = pipe();
  const std::string text(std::size_t{1} << 20, 'x');
  std::string arrived;
  std::thread reader([&] { read_file(path, arrived); });
  {
    const Result<Descriptor> writer = open_output(path, O_APPEND);
    EXPECT_TRUE(writer.ok());
    if (writer) {
      EXPECT_EQ(write_output(*writer, text).error, 0);
    }
  }
  reader.join();
  EXPECT_TRUE(arrived == text);
}

TEST_F(OutputFile, IsOpenedAgainIfTheProgramClosesIt) {
  const std::string path = folder_.file("records"), own = folder_.file("own");
  int number = -1;
  {
    Result<Descriptor> file = open_output(path, O_APPEND);
    ASSERT_TRUE(file);
    number = file->number();
    KeptOutput output(std::move(*file), path);
    EXPECT_EQ(write_output(output.descriptor(), "one ").error, 0);
    ::close(number);
    ASSERT_EQ(::open(own.c_str(), O_RDWR | O_CREAT, 0600), number) << "the program's own file";
    EXPECT_EQ(write_output(output.descriptor(), "two").error, 0);
  }
  EXPECT_EQ(content(path), "one two");
  EXPECT_EQ(::write(number, "text", 4), 4) << "still open";
  ::close(number);
  EXPECT_EQ(content(own), "text");

  Result<Descriptor> file = open_output(path, O_APPEND);
  ASSERT_TRUE(file);
  number = file->number();
  {
    const KeptOutput output(std::move(*file), path);
    ::close(number);
    ASSERT_EQ(::open(own.c_str(), O_RDONLY), number);
  }
  EXPECT_EQ(::fcntl(number, F_GETFD), 0) << "not closed";
  ::close(number);
}

}  // namespace
}  // namespace lynxpp
