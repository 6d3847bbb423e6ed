#!/usr/bin/env bash
# The demonstration: installs what is missing, builds, compiles the example CUDA programs and counts the instructions of one of them
# while it runs, on the GPU when there is one, else on the built-in cpu device.
#
#   ./demo.sh [example] [specification]      default: mandelbrot instruction_count
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

example=${1:-mandelbrot}
specification=${2:-instruction_count}

"$root/scripts/setup" || exit $?
configure_and_build release

build=$root/build/release
program=$build/examples/$example
[ -x "$program" ] || die "there is no example '$example'; there are: $(cd "$build/examples" && find . -maxdepth 1 -type f -perm -u+x -printf '%f ' | sort)"

if has_gpu && [ "${LYNXPP_DEVICE:-auto}" != cpu ]; then
  device="the GPU: $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true)"
else
  device="the built-in cpu device (no GPU is used)"
fi

say "running examples/$example on $device"
echo "\$ LD_PRELOAD=build/release/lib/liblynxpp.so LYNXPP_SPEC=$specification build/release/examples/$example"
cd "$root"
status=0
LD_PRELOAD=$build/lib/liblynxpp.so LYNXPP_SPEC=$specification "$program" || status=$?
[ $status -eq 0 ] || die "the example failed with exit status $status" "$status"
say "that was $device; other examples: build/release/examples, other specifications: build/release/bin/lynxpp list"
