// Not an example to copy: AQL packets that no well-behaved runtime writes, each on a queue of its own. Each has to stop its
// queue with an error that the runtime reports, and the next queue has to work.   wildpackets
#include "../example.h"

#include <hsa/hsa.h>

#include <atomic>
#include <cstring>
#include <functional>

#define CHECK_HSA(call)                                                                              \
    do {                                                                                             \
        hsa_status_t status_ = (call);                                                               \
        if (status_ != HSA_STATUS_SUCCESS) {                                                         \
            std::fprintf(stderr, "%s:%d: %s: %#x\n", __FILE__, __LINE__, #call, unsigned(status_));  \
            std::exit(1);                                                                            \
        }                                                                                            \
    } while (0)

static hsa_agent_t gpu;
static std::atomic<unsigned> queueError;

static void onError(hsa_status_t status, hsa_queue_t *, void *) { queueError = unsigned(status); }

// submit writes one packet and says whether its signal was completed or the queue reported an error within ten seconds.
static bool submit(const char *name, bool wantError, const std::function<void(hsa_kernel_dispatch_packet_t &)> &fill) {
    queueError = 0;
    hsa_queue_t *queue = nullptr;
    CHECK_HSA(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, onError, nullptr, UINT32_MAX, UINT32_MAX, &queue));
    hsa_signal_t done;
    CHECK_HSA(hsa_signal_create(1, 0, nullptr, &done));
    hsa_kernel_dispatch_packet_t packet;
    std::memset(&packet, 0, sizeof packet);
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH;
    packet.setup = 1;
    packet.workgroup_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = 64;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.completion_signal = done;
    fill(packet);
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    auto *slot = static_cast<hsa_kernel_dispatch_packet_t *>(queue->base_address) + index % queue->size;
    std::memcpy(reinterpret_cast<char *>(slot) + 4, reinterpret_cast<char *>(&packet) + 4, sizeof packet - 4);
    __atomic_store_n(reinterpret_cast<uint32_t *>(slot), packet.header | uint32_t(packet.setup) << 16, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, hsa_signal_value_t(index));

    bool completed = false;
    for (int i = 0; i < 10000 && !completed && queueError == 0; i++)
        completed = hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 1000000, HSA_WAIT_STATE_BLOCKED) < 1;
    const unsigned error = queueError;
    std::printf("%s: %s, error %#x\n", name, completed ? "completed" : "not completed", error);
    std::fflush(stdout);
    CHECK_HSA(hsa_queue_destroy(queue));
    CHECK_HSA(hsa_signal_destroy(done));
    return wantError ? error != 0 : completed && error == 0;
}

int main() {
    CHECK_HSA(hsa_init());
    CHECK_HSA(hsa_iterate_agents(
        [](hsa_agent_t agent, void *) {
            hsa_device_type_t type;
            CHECK_HSA(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
            if (type == HSA_DEVICE_TYPE_GPU && gpu.handle == 0) gpu = agent;
            return HSA_STATUS_SUCCESS;
        },
        nullptr));
    using Packet = hsa_kernel_dispatch_packet_t;
    auto barrier = [](Packet &p) { p.header = HSA_PACKET_TYPE_BARRIER_AND; p.setup = 0;
        std::memset(reinterpret_cast<char *>(&p) + 4, 0, sizeof p - 4 - sizeof p.completion_signal); };
    bool ok = submit("a barrier", false, barrier);
    ok = submit("a packet type that is not there", true, [](Packet &p) { p.header = 7; }) && ok;
    ok = submit("no kernel object", true, [](Packet &p) { p.kernel_object = 0; }) && ok;
    ok = submit("a kernel object in nowhere", true, [](Packet &p) { p.kernel_object = 0x123456789abc0; }) && ok;
    ok = submit("four dimensions", true, [](Packet &p) { p.setup = 4; }) && ok;
    ok = submit("an empty work-group", true, [](Packet &p) { p.workgroup_size_x = 0; }) && ok;
    ok = submit("a work-group too large", true, [](Packet &p) { p.workgroup_size_x = 65535; p.workgroup_size_y = 65535; }) && ok;
    ok = submit("too much LDS", true, [](Packet &p) { p.group_segment_size = 0x7fffffff; }) && ok;
    ok = submit("a barrier again", false, barrier) && ok;
    CHECK_HSA(hsa_shut_down());
    return verdict("wildpackets", ok);
}
