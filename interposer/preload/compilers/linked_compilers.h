// Programs and libraries that link NVRTC or nvJitLink directly instead of looking their functions up.
#pragma once

namespace lynxpp::preload {

/// Binds the currently loaded objects to the replacements of compilers.h and jit_linking.h. Cheap if no
/// object was loaded since the last call. Thread safe.
void bind_linked_compilers();

}  // namespace lynxpp::preload
