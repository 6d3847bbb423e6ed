// Parts of a CUDA program, each with a self-check: null when all is well, else what is not.
#pragma once

/// kernel template, struct parameter, constant, device and static variables, a stream
const char* run_polynomial();
const char* run_managed();          ///< a __managed__ variable read and written on both sides
const char* run_extended_launch();  ///< cudaLaunchKernelEx, occupancy
const char* run_bad_launch();       ///< the error of a launch is found by cudaGetLastError
