// ROCm/hip#2350, ROCm/ROCm-Device-Libs#76, CHIP-SPV/chipStar#1402: memory that kernels allocate. Blocks that live at the same time must not overlap.
#include "case.h"

namespace hip_2350 {

struct Node {
    int value;
    Node *next;
};

__global__ void allocate(void **blocks, size_t size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char *p = (unsigned char *)malloc(size);
    blocks[i] = p;
    if (p) memset(p, i + 1, size);
}

__global__ void inspect(void **blocks, size_t size, int *wrong) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *p = (const unsigned char *)blocks[i];
    if (!p) return;
    for (size_t j = 0; j < size; j++)
        if (p[j] != (unsigned char)(i + 1)) {
            atomicAdd(wrong, 1);
            break;
        }
    free(blocks[i]);
}

// A list by new and delete, made and taken apart by one thread.
__global__ void list(int n, int *sum) {
    Node *first = nullptr;
    for (int i = 1; i <= n; i++) {
        Node *x = new Node;
        x->value = i, x->next = first, first = x;
    }
    while (first) {
        *sum += first->value;
        Node *x = first->next;
        delete first;
        first = x;
    }
    delete first;  // null: nothing happens
}

void blocks(int threads, size_t size) {
    void **d;
    int *wrong;
    HIP(hipMalloc(&d, threads * sizeof *d));
    HIP(hipMalloc(&wrong, sizeof *wrong));
    HIP(hipMemset(wrong, 0, sizeof *wrong));
    std::vector<void *> h(threads);
    for (int round = 0; round < 3; round++) {
        allocate<<<1, threads>>>(d, size);
        HIP(hipMemcpy(h.data(), d, threads * sizeof *d, hipMemcpyDeviceToHost));
        for (int i = 0; i < threads; i++) {
            MUST(h[i] != nullptr);
            MUST((size_t)h[i] % 16 == 0);
            for (int j = 0; j < i; j++) MUST((char *)h[i] + size <= (char *)h[j] || (char *)h[j] + size <= (char *)h[i]);
        }
        inspect<<<1, threads>>>(d, size, wrong);
        int n = -1;
        HIP(hipMemcpy(&n, wrong, sizeof n, hipMemcpyDeviceToHost));
        SAME(n, 0);
    }
    HIP(hipFree(d));
    HIP(hipFree(wrong));
}

CASE(issue_hip_2350) {
    int *sum, n = 0;
    HIP(hipMalloc(&sum, sizeof *sum));
    HIP(hipMemset(sum, 0, sizeof *sum));
    list<<<1, 1>>>(20, sum);
    HIP(hipMemcpy(&n, sum, sizeof n, hipMemcpyDeviceToHost));
    SAME(n, 210);
    HIP(hipFree(sum));
    for (size_t size : {16, 40, 1000}) {
        blocks(1, size);
        blocks(64, size);
    }
}

}  // namespace hip_2350
