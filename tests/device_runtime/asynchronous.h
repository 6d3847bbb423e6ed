// Parts of a CUDA program for compute capability 9.0, each with a self-check: null when all is well, else
// what is not.
#pragma once

/// cuda::barrier, cuda::pipeline and cg::memcpy_async
const char* run_asynchronous_copies();
const char* run_matrices();      ///< nvcuda::wmma
const char* run_grid_barrier();  ///< a cooperative launch whose grid synchronises
