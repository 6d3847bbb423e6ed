#!/usr/bin/env bash
# Installs missing dependencies, builds with warnings as errors, runs every test and lists skipped tests with
# reasons.
#
#   ./test.sh [preset] [ctest arguments…]      preset: release (default), debug, asan
#   ./test.sh quick                            release, without the tests that take longest: minutes
#   ./test.sh all                              release, then mutation tests (scripts/mutate): takes hours
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

preset=release
if [ $# -gt 0 ] && [[ $1 != -* ]]; then
  preset=$1
  shift
fi
tests=$preset
mutates=false
case $preset in
  release | debug | asan) ;;
  quick) preset=release ;;
  all) preset=release tests=release mutates=true ;;
  *) die "unknown preset '$preset': release, quick, debug, asan or all" 2 ;;
esac

"$root/scripts/setup" --tests || exit $?
configure "$preset" -DLYNXPP_BUILD_TESTS=ON
build "$preset"

# The parsers' deepest nesting takes 0.5 MB of stack, but more than 8 MB with a sanitizer's frames.
[ "$preset" != asan ] || ulimit -s 65536

say "testing"
log=$root/build/$preset/test.log
status=0
(cd "$root" && ctest --preset "$tests" -j "$(nproc)" "$@") 2>&1 | tee "$log" || status=${PIPESTATUS[0]}

# ctest prints only a skipped test's name; the reason is in the test's own output.
"$root/scripts/skipped_tests" "$root/build/$preset" || true
if $mutates && [ "$status" -eq 0 ]; then
  say "inserting small faults into the sources"
  "$root/scripts/mutate" || status=$?
fi
exit "$status"
