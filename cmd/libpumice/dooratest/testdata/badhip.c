// Calls HIP with bad input, by the table of badhip.def; see badinput.h.
#define _GNU_SOURCE
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "badinput.h"

static void need(hipError_t e, const char *what) {
    if (e == hipSuccess) return;
    printf("%s: %d\n", what, e);
    exit(1);
}
#define NEED(call) need(call, #call)

static void callback(hipStream_t s, hipError_t e, void *p) { (void)s, (void)e, (void)p; }

int main(int argc, char **argv) {
    int from = argc > 1 ? atoi(argv[1]) : 0, row = 0;
    int i = 0, j = 0;
    unsigned u = 0;
    float f = 0;
    size_t size = 0;
    char text[64];
    void *p = NULL, *mem, *mem2, *freed, *host, *hostFreed, *managed;
    char *heap = aligned_alloc(4096, 65536);
    memset(heap, 1, 65536);
    static char garbage[4096] = "this is no code object";
    uint32_t mask[4] = {~0u, ~0u, ~0u, ~0u};
    hipDeviceProp_t props;
    hipDevice_t device;
    hipUUID uuid;
    hipPointerAttribute_t attributes;
    hipFuncAttributes fattr;
    hipMemcpy3DParms nothing3D;
    memset(&nothing3D, 0, sizeof nothing3D);
    hipStream_t stream, goneStream, stream2;
    hipEvent_t event, untimed, goneEvent, event2;
    hipModule_t module, goneModule, module2;
    hipFunction_t function, function2;
    hipCtx_t ctx;
    hipMemPool_t pool;
    hipGraph_t graph = NULL, graph2;
    hipChannelFormatDesc channel = {32, 0, 0, 0, hipChannelFormatKindSigned};
    hipArray *array = NULL, *array2 = NULL;
    hipTextureObject_t texture;
    hipGraphNode_t node;
    hipIpcMemHandle_t ipc;
    memset(&ipc, 0, sizeof ipc);
    (void)device, (void)uuid, (void)attributes, (void)fattr, (void)ctx, (void)pool, (void)graph2, (void)node, (void)stream2, (void)event2, (void)module2, (void)function2, (void)text, (void)u, (void)f, (void)j, (void)size, (void)p, (void)array2, (void)texture;

    // Where nothing is; what may only be read; what may not be touched, behind a page that may be.
    void *wild = (void *)0x123450, *readOnly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *closed = (char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
    mprotect(closed, 4096, PROT_NONE);
    void *wildArgs[] = {wild, wild, wild, wild, wild, wild, wild, wild};
    hipGraph_t goneGraph, otherGraph;
    hipGraphExec_t exec, goneExec, exec2;
    hipGraphNode_t otherNode;
    hipGraphNodeType nodeType;
    hipMemPool_t defaultPool, gonePool;
    hipArray *goneArray;
    hipIpcMemHandle_t ownIpc;
    hipIpcEventHandle_t ipcEvent;
    memset(&ipcEvent, 0, sizeof ipcEvent);
    hiprtcProgram program, program2;
    (void)readOnly, (void)wildArgs, (void)exec2, (void)nodeType, (void)program2;

    FILE *file = fopen(getenv("MODULE"), "rb");
    if (!file) return 1;
    char *image = malloc(1 << 20);
    if (fread(image, 1, 1 << 20, file) == 0) return 1;

    NEED(hipGetDeviceProperties(&props, 0));
    NEED(hipMalloc(&mem, 4096));
    NEED(hipMalloc(&mem2, 4096));
    NEED(hipHostMalloc(&host, 4096, 0));
    NEED(hipMallocManaged(&managed, 4096, hipMemAttachGlobal));
    // Freed memory at whose address nothing else will be.
    for (int tries = 0, held = 0; !held && tries < 20; tries++) {
        NEED(hipMalloc(&freed, 4096));
        NEED(hipFree(freed));
        held = hold(freed, 4096);
    }
    for (int tries = 0, held = 0; !held && tries < 20; tries++) {
        NEED(hipHostMalloc(&hostFreed, 4096, 0));
        NEED(hipHostFree(hostFreed));
        held = hold(hostFreed, 4096);
    }
    NEED(hipStreamCreate(&stream));
    NEED(hipStreamCreate(&goneStream));
    NEED(hipStreamDestroy(goneStream));
    NEED(hipEventCreate(&event));
    NEED(hipEventCreateWithFlags(&untimed, hipEventDisableTiming));
    NEED(hipEventCreate(&goneEvent));
    NEED(hipEventDestroy(goneEvent));
    NEED(hipModuleLoadData(&module, image));
    NEED(hipModuleLoadData(&goneModule, image));
    NEED(hipModuleUnload(goneModule));
    NEED(hipModuleGetFunction(&function, module, "saxpy"));
    NEED(hipGraphCreate(&graph, 0));
    NEED(hipMallocArray(&array, &channel, 16, 16, 0));
    NEED(hipGraphCreate(&otherGraph, 0));
    NEED(hipGraphAddEmptyNode(&otherNode, otherGraph, NULL, 0));
    NEED(hipGraphInstantiate(&exec, otherGraph, NULL, NULL, 0));
    NEED(hipGraphInstantiate(&goneExec, otherGraph, NULL, NULL, 0));
    NEED(hipGraphExecDestroy(goneExec));
    NEED(hipGraphCreate(&goneGraph, 0));
    NEED(hipGraphDestroy(goneGraph));
    NEED(hipDeviceGetDefaultMemPool(&defaultPool, 0));
    hipMemPoolProps poolProps = {.allocType = hipMemAllocationTypePinned, .location = {hipMemLocationTypeDevice, 0}};
    NEED(hipMemPoolCreate(&gonePool, &poolProps));
    NEED(hipMemPoolDestroy(gonePool));
    NEED(hipMallocArray(&goneArray, &channel, 16, 16, 0));
    NEED(hipFreeArray(goneArray));
    NEED(hipIpcGetMemHandle(&ownIpc, mem));
    char *registered = heap + 16384, *unregistered = heap + 49152;
    NEED(hipHostRegister(registered, 4096, 0));
    NEED(hipHostRegister(unregistered, 4096, 0));
    NEED(hipHostUnregister(unregistered));
    if (hiprtcCreateProgram(&program, "int x;", "x", 0, NULL, NULL) != HIPRTC_SUCCESS) return 1;
    // saxpy(x, y, a, n)
    float a = 2;
    unsigned n = 64;
    void *args[] = {&mem, &mem2, &a, &n, &n, &n, &n, &n};
    char packed[64] = {0};
    size_t packedSize = sizeof packed;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &packedSize, HIP_LAUNCH_PARAM_END};

#include "badhip.def"
    printf("END\t%d\n", row);
    return 0;
}
