// libhiprtc.so.{5,6,7}: run-time compilation, which is a library of its own beside libamdhip64, and from release 7 on in this one only. It holds no compiler,
// only the exported names. ../lazystub/lazy.h has the rules.
#include "../lazystub/lazy.h"

#include <string.h>

enum { INTERNAL_ERROR = 11 };

const char lazy_self[] = "libhiprtc.so", lazy_missing_answer[] = "HIPRTC_ERROR_INTERNAL_ERROR";

static int internal_error(void) { return INTERNAL_ERROR; }
static const char *text(void) { return "HIPRTC_ERROR_INTERNAL_ERROR"; }

void *lazy_missing(const char *name) { return strcmp(name, "hiprtcGetErrorString") ? (void *)internal_error : (void *)text; }
void *lazy_not_initialized(const char *name) { return lazy_missing(name); }

// The runtime may be made by a call of this library, so it says as libamdhip64 does which release the program is of.
void lazy_opened(void) {
    void (*face)(int) = (void (*)(int))lazy_need("pumice_hip_face");
    if (lazy_usable()) face(PUMICE_HIP_FACE);
}
