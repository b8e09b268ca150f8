// What the functions about streams and events answer to what they cannot do: AMD's runtime is the measure, as hip-tests know it.
#include "check.h"

__managed__ int var;

int main() {
    hipStream_t s;
    DO(hipStreamCreate(&s));
    unsigned flags;
    DO(hipStreamGetFlags(s, &flags));
    WANT(hipStreamGetFlags(nullptr, &flags), hipErrorInvalidValue);

    // Managed memory is attached whole.
    DO(hipStreamAttachMemAsync(s, &var, 0, hipMemAttachSingle));
    DO(hipStreamAttachMemAsync(s, &var, sizeof var, hipMemAttachSingle));
    WANT(hipStreamAttachMemAsync(s, &var, sizeof var - 1, hipMemAttachSingle), hipErrorInvalidValue);
    WANT(hipStreamAttachMemAsync(s, &s, 0, hipMemAttachSingle), hipErrorInvalidValue);
    DO(hipStreamDestroy(s));

    // No compute unit is as good as no mask.
    unsigned none[4] = {}, mask[4];
    DO(hipExtStreamCreateWithCUMask(&s, 4, none));
    DO(hipExtStreamGetCUMask(s, 4, mask));
    WANT(mask[0], 0xffffffff);
    DO(hipStreamDestroy(s));
    WANT(hipStreamDestroy(s), hipErrorContextIsDestroyed);

    hipEvent_t e;
    DO(hipEventCreate(&e));
    DO(hipEventDestroy(e));
    WANT(hipEventDestroy(e), hipErrorContextIsDestroyed);
    WANT(hipEventDestroy(nullptr), hipErrorInvalidHandle);
    return finish();
}
