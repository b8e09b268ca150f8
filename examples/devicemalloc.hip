// malloc and free in a kernel: every item builds a list of its own in the device's heap, the next kernel walks and frees it.
//   devicemalloc [items]
#include "example.h"

struct Link {
    Link *next;
    unsigned value;
};

__global__ void build(Link **heads, unsigned items) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= items) return;
    Link *head = nullptr;
    for (unsigned n = 0; n <= i % 5; n++) {
        // Sizes of several classes.
        Link *link = static_cast<Link *>(malloc(sizeof(Link) + (i + n) % 3 * 40));
        if (link == nullptr) break;
        link->next = head;
        link->value = i * 10 + n;
        head = link;
    }
    heads[i] = head;
}

__global__ void sum(Link **heads, unsigned items, unsigned *out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= items) return;
    unsigned s = 0;
    for (Link *link = heads[i]; link != nullptr;) {
        Link *next = link->next;
        s += link->value;
        free(link);
        link = next;
    }
    out[i] = s;
}

int main(int argc, char **argv) {
    const unsigned items = static_cast<unsigned>(sizeArg(argc, argv, 1, 600));
    std::vector<unsigned> want(items);
    for (unsigned i = 0; i < items; i++)
        for (unsigned n = 0; n <= i % 5; n++) want[i] += i * 10 + n;
    DeviceArray<Link *> heads(items);
    DeviceArray<unsigned> out(items);
    const unsigned block = 96;
    bool ok = true;
    for (int round = 0; round < 2; round++) { // what was freed is given out again
        build<<<ceilDiv(items, block), block>>>(heads.get(), items);
        CHECK_LAUNCH();
        sum<<<ceilDiv(items, block), block>>>(heads.get(), items, out.get());
        CHECK_LAUNCH();
        ok = matches("sum", out.download(), want) && ok;
    }
    return verdict("devicemalloc", ok);
}
