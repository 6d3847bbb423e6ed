// Programs and libraries that are linked with NVRTC or nvJitLink, in place of looking their functions up.
#pragma once

namespace lynxpp::preload {

/// Has the objects that are loaded now call what compilers.h and jit_linking.h watch with. Next to nothing is
/// done where none has been loaded since the last call. Thread safe.
void bind_linked_compilers();

}  // namespace lynxpp::preload
