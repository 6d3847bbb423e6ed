"""Checks that names of parametrised tests are the same in every run: GoogleTest derives them from pointers
and bytes unless the parameters are named (tests/support/readable_name.h). usage: test_names.py
FOLDER-OF-THE-TESTS"""
import pathlib
import re
import subprocess
import sys

POINTER = re.compile(r"/\d+ +# GetParam\(\) = .*(0x[0-9a-f]{6}|-byte object)")


def main():
    tests = sorted(pathlib.Path(sys.argv[1]).glob("*_test"))
    unnamed = []
    for test in tests:
        suite = ""
        for line in subprocess.run([test, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout.splitlines():
            if not line.startswith(" "):
                suite = line
            elif POINTER.search(line):
                unnamed.append(f"{test.name}: {suite}{line.strip()}")
    for each in unnamed[:10]:
        print("name the parameters of", each)
    print(f"{len(tests)} tests, {len(unnamed)} unnamed parameters")
    return 1 if unnamed or not tests else 0


sys.exit(main())
