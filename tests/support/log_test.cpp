#include "support/log.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "support/write_signals.h"

namespace lynxpp {
namespace {

TEST(Log, ClosedReaderDoesNotKillTheProcess) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    log().warn("nobody reads {}", "this");
    _exit(0);
  }
  close(ends[1]);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "SIGPIPE ended it";
}

TEST(WriteSignals, PreserveTheErrorNumber) {
  errno = ENOENT;
  { const WriteSignalsBlocked blocked; }
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace lynxpp
