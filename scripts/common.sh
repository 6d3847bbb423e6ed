# Sourced by the scripts of the repository: messages, the repository's root, the location of the CUDA toolkit.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$1" >&2
  exit "${2:-1}"
}

# Prints the path of nvcc and returns 0, or returns 1.
find_nvcc() {
  local candidate
  for candidate in "$(command -v nvcc 2>/dev/null)" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" \
    /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc; do
    if [ -n "$candidate" ] && [ -x "$candidate" ]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# nvcc's release, "13.0".
nvcc_release() { "$1" --version | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p'; }

# True if this machine has an NVIDIA driver and a GPU.
has_gpu() { [ -e /dev/nvidiactl ] || [ -e /dev/nvidia0 ] || [ -e /dev/dxg ]; }

# Prints the number of parallel build jobs: one per core, with about 2 GB of memory each.
build_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 2000000)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}

# configure <preset> [cmake options…]
configure() {
  local preset=$1 log
  log=$root/build/$preset/configure.log
  mkdir -p "$root/build/$preset"
  (cd "$root" && cmake --preset "$preset" "${@:2}") >"$log" 2>&1 || {
    cat "$log" >&2
    die "cmake --preset $preset failed"
  }
}

# build <preset> [targets…]: prints one line of progress on a terminal, none elsewhere; shows the output of
# failing steps.
build() {
  local preset=$1 jobs started=$SECONDS quiet=()
  shift
  jobs=$(build_jobs)
  [ $# -eq 0 ] || set -- --target "$@"
  [ -t 1 ] || quiet=(-- --quiet)
  say "building with $jobs jobs (the first time takes some minutes)"
  (cd "$root" && NINJA_STATUS='[%f of %t steps, %e s] ' cmake --build --preset "$preset" -j "$jobs" "$@" "${quiet[@]}") ||
    die "the build failed"
  say "built in $((SECONDS - started)) s"
}
