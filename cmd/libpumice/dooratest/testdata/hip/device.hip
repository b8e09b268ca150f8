// What the functions about devices answer, where it is not what their names promise: AMD's runtime is the measure, as hip-tests know it.
#include "check.h"
#include <hip/hip_ext.h>

int main() {
    int n;
    DO(hipGetDeviceCount(&n));

    // Cache and bank configurations are taken whatever they are, and are always the same.
    DO(hipDeviceSetCacheConfig(hipFuncCache_t(-1)));
    DO(hipDeviceSetCacheConfig(hipFuncCachePreferL1));
    hipFuncCache_t cache;
    DO(hipDeviceGetCacheConfig(&cache));
    WANT(cache, hipFuncCachePreferNone);
    WANT(hipDeviceGetCacheConfig(nullptr), hipErrorInvalidValue);
    DO(hipDeviceSetSharedMemConfig(hipSharedMemConfig(-1)));
    DO(hipDeviceSetSharedMemConfig(hipSharedMemBankSizeEightByte));
    hipSharedMemConfig banks;
    DO(hipDeviceGetSharedMemConfig(&banks));
    WANT(banks, hipSharedMemBankSizeFourByte);

    // Of the flags of a device, those of waiting can be read back.
    DO(hipSetDeviceFlags(hipDeviceScheduleYield | hipDeviceMapHost | 0x10));
    unsigned flags;
    DO(hipGetDeviceFlags(&flags));
    WANT(flags, hipDeviceScheduleYield);
    WANT(hipSetDeviceFlags(3), hipErrorInvalidValue);
    DO(hipSetDeviceFlags(hipDeviceScheduleAuto));

    WANT(hipDeviceSetLimit(hipLimit_t(0xffff), 1), hipErrorInvalidValue);

    uint32_t link, hops;
    WANT(hipExtGetLinkTypeAndHopCount(-1, 0, &link, &hops), hipErrorInvalidValue);
    WANT(hipExtGetLinkTypeAndHopCount(0, n, &link, &hops), hipErrorInvalidDevice);
    WANT(hipExtGetLinkTypeAndHopCount(0, 0, &link, &hops), hipErrorInvalidValue);
    DO(hipExtGetLinkTypeAndHopCount(0, 1, &link, &hops));

    hipMemPool_t pool;
    WANT(hipDeviceGetDefaultMemPool(&pool, n), hipErrorInvalidDevice);
    WANT(hipDeviceGetMemPool(&pool, n), hipErrorInvalidValue);

    // An attribute that is an address is as wide as one.
    hipDeviceProp_t props;
    DO(hipGetDeviceProperties(&props, 0));
    void *hdp[2] = {props.hdpMemFlushCntl + 1, &props};
    DO(hipDeviceGetAttribute(reinterpret_cast<int *>(&hdp[0]), hipDeviceAttributeHdpMemFlushCntl, 0));
    WANT(hdp[0], props.hdpMemFlushCntl);
    WANT(hdp[1], &props);
    WANT(props.arch.hasSyncThreadsExt, __HIP_ARCH_HAS_SYNC_THREAD_EXT__);

    // Pools and virtual memory management are there; the second has no name in the header of HIP 5.2.
    int has = 0;
    DO(hipDeviceGetAttribute(&has, hipDeviceAttribute_t(88), 0));
    WANT(has, 1);
    DO(hipDeviceGetAttribute(&has, hipDeviceAttribute_t(89), 0));
    WANT(has, 1);

    // What a program asks before it uses something that is there: cooperative launches over several devices, in which all may differ; atomics over the link;
    // file descriptors of pools (91) and registered host memory (90), which have no names in the header of HIP 5.2 either.
    WANT(props.cooperativeMultiDeviceLaunch, 1);
    WANT(props.cooperativeMultiDeviceUnmatchedFunc + props.cooperativeMultiDeviceUnmatchedGridDim + props.cooperativeMultiDeviceUnmatchedBlockDim +
             props.cooperativeMultiDeviceUnmatchedSharedMem, 4);
    for (int a : {11, 15, 90, 91, 10007, 10008, 10009, 10010}) {
        has = 0;
        DO(hipDeviceGetAttribute(&has, hipDeviceAttribute_t(a), 0));
        WANT(has, 1);
    }
    DO(hipDeviceGetAttribute(&has, hipDeviceAttribute_t(25), 0)); // blocks of the largest size, by multiprocessor
    WANT(has, props.maxThreadsPerMultiProcessor / props.maxThreadsPerBlock);
    WANT(props.ECCEnabled, 0); // AMD's runtime has no word about it, whatever the card has
    return finish();
}
