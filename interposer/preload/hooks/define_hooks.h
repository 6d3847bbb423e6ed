// Defines the addresses of one family's wrappers (driver_api.def), which entry_points.S and hooks.cpp refer
// to by name. The source with the wrappers includes it at its end:
//
//   #define LYNXPP_FAMILY_memory LYNXPP_DEFINE_HOOK
//   #include "interposer/preload/hooks/define_hooks.h"
#include "interposer/preload/driver.h"

#define LYNXPP_DEFINE_HOOK(exported, wrapper)                                                              \
  extern "C" [[gnu::visibility("hidden")]] void* const lynxpp_linked_##exported = reinterpret_cast<void*>( \
      &lynxpp::preload::wrapper<lynxpp::preload::Slot::exported, lynxpp::preload::Binding::linked>);       \
  extern "C" [[gnu::visibility("hidden")]] void* const lynxpp_looked_up_##exported =                       \
      reinterpret_cast<void*>(                                                                             \
          &lynxpp::preload::wrapper<lynxpp::preload::Slot::exported, lynxpp::preload::Binding::looked_up>);

#ifndef LYNXPP_FAMILY_lookups
#define LYNXPP_FAMILY_lookups(exported, wrapper)
#endif
#ifndef LYNXPP_FAMILY_modules
#define LYNXPP_FAMILY_modules(exported, wrapper)
#endif
#ifndef LYNXPP_FAMILY_links
#define LYNXPP_FAMILY_links(exported, wrapper)
#endif
#ifndef LYNXPP_FAMILY_memory
#define LYNXPP_FAMILY_memory(exported, wrapper)
#endif
#ifndef LYNXPP_FAMILY_contexts
#define LYNXPP_FAMILY_contexts(exported, wrapper)
#endif
#ifndef LYNXPP_FAMILY_waits
#define LYNXPP_FAMILY_waits(exported, wrapper)
#endif
#ifndef LYNXPP_FAMILY_launches
#define LYNXPP_FAMILY_launches(exported, wrapper)
#endif
#ifndef LYNXPP_FAMILY_captures
#define LYNXPP_FAMILY_captures(exported, wrapper)
#endif
#ifndef LYNXPP_FAMILY_tensor_maps
#define LYNXPP_FAMILY_tensor_maps(exported, wrapper)
#endif
#ifndef LYNXPP_FAMILY_graphs
#define LYNXPP_FAMILY_graphs(exported, wrapper)
#endif

#define LYNXPP_DRIVER_HOOK(exported, asked, per_thread_stream, since, family, wrapper) \
  LYNXPP_FAMILY_##family(exported, wrapper)
#include "interposer/driver_api.def"
#undef LYNXPP_DRIVER_HOOK
#undef LYNXPP_DEFINE_HOOK
#undef LYNXPP_FAMILY_lookups
#undef LYNXPP_FAMILY_modules
#undef LYNXPP_FAMILY_links
#undef LYNXPP_FAMILY_memory
#undef LYNXPP_FAMILY_contexts
#undef LYNXPP_FAMILY_waits
#undef LYNXPP_FAMILY_launches
#undef LYNXPP_FAMILY_captures
#undef LYNXPP_FAMILY_tensor_maps
#undef LYNXPP_FAMILY_graphs
