#!/usr/bin/env bash
# The demonstration: installs missing dependencies and builds the libraries, the command and one example CUDA
# program. Counts the program's instructions while it runs, on the GPU if present, else on the built-in cpu device;
# then compiles a slow transpose and finds what makes it slow.
#
#   ./demo.sh [example] [specification]      default: mandelbrot instruction_count
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

example=${1:-mandelbrot}
specification=${2:-instruction_count}
[ -f "$root/examples/apps/$example.cu" ] ||
  die "unknown example '$example'; the examples are: $(cd "$root/examples/apps" && printf '%s\n' *.cu | sed 's/[.]cu$//' | paste -sd ' ')" 2

"$root/scripts/setup" || exit $?
# An already configured folder keeps its options: it may also build the tests.
options=(-DLYNXPP_BUILD_TESTS=OFF)
[ ! -f "$root/build/release/build.ninja" ] || options=()
configure release "${options[@]}"
build release lynxpp_preload lynxpp_engine_so lynxpp_cli "example_$example"

if has_gpu && [ "${LYNXPP_DEVICE:-auto}" != cpu ]; then
  device="the GPU: $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true)"
else
  device="the built-in cpu device (no GPU is used)"
fi

say "other examples: examples/apps, other specifications: examples/specs (./demo.sh EXAMPLE SPECIFICATION)"
say "running examples/$example on $device"
echo "\$ LD_PRELOAD=build/release/lib/liblynxpp.so LYNXPP_SPEC=$specification build/release/examples/$example"
cd "$root"
status=0
LD_PRELOAD=$root/build/release/lib/liblynxpp.so LYNXPP_SPEC=$specification "build/release/examples/$example" || status=$?
[ $status -eq 0 ] || die "the example failed with exit status $status" "$status"

if nvcc=$(find_nvcc); then
  say "finding out what makes examples/agents/transpose.cu slow"
  echo "\$ nvcc -lineinfo -o build/transpose examples/agents/transpose.cu"
  "$nvcc" -lineinfo -o build/transpose examples/agents/transpose.cu
  echo "\$ build/release/bin/lynxpp record -o build/transpose.jsonl -- build/transpose"
  build/release/bin/lynxpp record -o build/transpose.jsonl -- build/transpose
fi
