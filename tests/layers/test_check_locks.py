"""scripts/check_locks reports a guarded member that is accessed without its lock, and nothing in the tree."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
PROGRAM = """
#include <mutex>
#include "interposer/owned_mutex.h"
using namespace lynxpp;
class Counter {
 public:
  void add() {
    const Lock lock(mutex_);
    ++count_;
  }
  int count() { %s return count_; }

 private:
  OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  int count_ LYNXPP_GUARDED_BY(mutex_) = 0;
};
int main() { return Counter().count(); }
"""


def check(*folders):
    return subprocess.run([ROOT / "scripts/check_locks", *folders], capture_output=True, text=True)


class CheckLocks(unittest.TestCase):
    def check_program(self, guard):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "counter.cpp").write_text(PROGRAM % guard)
            return check(folder)

    def test_access_without_the_lock(self):
        found = self.check_program("")
        self.assertEqual(1, found.returncode)
        self.assertIn("reading variable 'count_' requires holding mutex 'mutex_'", found.stderr)

    def test_access_with_the_lock(self):
        self.assertEqual((0, ""), (lambda found: (found.returncode, found.stderr))(self.check_program("const Lock lock(mutex_);")))

    def test_tree(self):
        found = check()
        self.assertEqual(0, found.returncode, found.stderr)


if __name__ == "__main__":
    if check("/nonexistent").returncode == SKIPPED:
        print("skipped: clang++-19 is not installed")
        sys.exit(SKIPPED)
    unittest.main()
