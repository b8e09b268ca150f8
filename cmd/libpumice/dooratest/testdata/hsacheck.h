// What the test programs of HSA share: checks that count what is wrong, and the two agents.
#pragma once
#include <hsa/hsa.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;
#define WANT(got, want) same((long long)(got), (long long)(want), #got, __LINE__)
static void same(long long got, long long want, const char *what, int line) {
    if (got == want) return;
    printf("line %d: %s is %#llx, want %#llx\n", line, what, got, want);
    wrong++;
}
#define DO(call)                                                     \
    do {                                                             \
        hsa_status_t s_ = (call);                                    \
        if (s_) printf("line %d: %s: %#x\n", __LINE__, #call, s_), exit(1); \
    } while (0)

static hsa_agent_t cpu, gpu;
static hsa_status_t each_agent(hsa_agent_t a, void *data) {
    hsa_device_type_t t;
    (void)data;
    DO(hsa_agent_get_info(a, HSA_AGENT_INFO_DEVICE, &t));
    if (t == HSA_DEVICE_TYPE_CPU && !cpu.handle) cpu = a;
    if (t == HSA_DEVICE_TYPE_GPU && !gpu.handle) gpu = a;
    return HSA_STATUS_SUCCESS;
}
