// Parts of a CUDA program for compute capability 9.0. Each checks itself and returns null on success,
// otherwise an error message.
#pragma once

/// cuda::barrier, cuda::pipeline and cg::memcpy_async
const char* run_asynchronous_copies();
const char* run_matrices();      ///< nvcuda::wmma
const char* run_warpgroups();    ///< wgmma, in two warp groups with different numbers of registers
const char* run_grid_barrier();  ///< a cooperative launch with a grid-wide barrier
