// hipMemset at byte, half and word width, on odd starts and lengths, and 2D fills and copies between pitched arrays:
// what lies outside the extent must keep its sentinel.   memset2d [width] [height]
#include "example.h"

static bool expectBytes(const char *what, const std::vector<unsigned char> &got, const std::vector<unsigned char> &want) {
    return matches(what, got, want);
}

static bool linear() {
    const size_t n = 4099;
    const unsigned char sentinel = 133;
    bool ok = true;
    for (size_t start : {size_t(0), size_t(1), size_t(7), size_t(64)})
        for (size_t length : {size_t(1), size_t(3), size_t(255), size_t(4000)}) {
            // AMD's 5.2.3 loses itself when a fill ends before the next 16-byte boundary after its start.
            if (length < 16 && start % 16 != 0) continue;
            DeviceArray<unsigned char> d(n);
            CHECK(hipMemset(d.get(), sentinel, n));
            CHECK(hipMemset(d.get() + start, 0x5a, length));
            std::vector<unsigned char> want(n, sentinel);
            for (size_t i = 0; i < length; i++) want[start + i] = 0x5a;
            ok = expectBytes("hipMemset", d.download(), want) && ok;
        }
    DeviceArray<unsigned short> halves(1001);
    CHECK(hipMemsetD16(reinterpret_cast<hipDeviceptr_t>(halves.get()), 0xbeef, halves.size()));
    ok = matches("hipMemsetD16", halves.download(), std::vector<unsigned short>(halves.size(), 0xbeef)) && ok;
    DeviceArray<unsigned> words(1001);
    CHECK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(words.get()), int(0xdeadbeef), words.size()));
    ok = matches("hipMemsetD32", words.download(), std::vector<unsigned>(words.size(), 0xdeadbeef)) && ok;
    return ok;
}

static bool pitched(size_t width, size_t height) {
    const unsigned char sentinel = 133;
    unsigned char *device = nullptr;
    size_t pitch = 0;
    CHECK(hipMallocPitch(reinterpret_cast<void **>(&device), &pitch, width, height));
    if (pitch < width) {
        std::printf("pitch %zu is less than the width %zu\n", pitch, width);
        return false;
    }
    CHECK(hipMemset(device, sentinel, pitch * height));
    CHECK(hipMemset2D(device, pitch, 0x11, width, height));
    std::vector<unsigned char> got(pitch * height), want(pitch * height, sentinel);
    CHECK(hipMemcpy(got.data(), device, got.size(), hipMemcpyDeviceToHost));
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) want[y * pitch + x] = 0x11;
    bool ok = expectBytes("hipMemset2D", got, want);

    // A rectangle in from a host array of another pitch, across on the device, and out again.
    const size_t hostPitch = width + 13, w = width / 2, h = height / 2, x0 = 3, y0 = 2;
    std::vector<unsigned char> host(hostPitch * height), back(hostPitch * height, sentinel);
    Noise noise(12);
    for (unsigned char &v : host) v = static_cast<unsigned char>(noise.bits());
    CHECK(hipMemcpy2D(device + y0 * pitch + x0, pitch, host.data(), hostPitch, w, h, hipMemcpyHostToDevice));
    for (size_t y = 0; y < h; y++)
        for (size_t x = 0; x < w; x++) want[(y + y0) * pitch + x + x0] = host[y * hostPitch + x];
    CHECK(hipMemcpy(got.data(), device, got.size(), hipMemcpyDeviceToHost));
    ok = expectBytes("hipMemcpy2D to the device", got, want) && ok;

    const size_t otherPitch = w + 5;
    DeviceArray<unsigned char> other(otherPitch * h);
    CHECK(hipMemset(other.get(), sentinel, other.size()));
    CHECK(hipMemcpy2D(other.get(), otherPitch, device + y0 * pitch + x0, pitch, w, h, hipMemcpyDeviceToDevice));
    std::vector<unsigned char> wantOther(other.size(), sentinel);
    for (size_t y = 0; y < h; y++)
        for (size_t x = 0; x < w; x++) wantOther[y * otherPitch + x] = host[y * hostPitch + x];
    ok = expectBytes("hipMemcpy2D on the device", other.download(), wantOther) && ok;

    CHECK(hipMemcpy2D(back.data(), hostPitch, other.get(), otherPitch, w, h, hipMemcpyDeviceToHost));
    std::vector<unsigned char> wantBack(back.size(), sentinel);
    for (size_t y = 0; y < h; y++)
        for (size_t x = 0; x < w; x++) wantBack[y * hostPitch + x] = host[y * hostPitch + x];
    ok = expectBytes("hipMemcpy2D to the host", back, wantBack) && ok;
    CHECK(hipFree(device));
    return ok;
}

int main(int argc, char **argv) {
    const size_t width = sizeArg(argc, argv, 1, 101);
    const size_t height = sizeArg(argc, argv, 2, 37);
    bool ok = linear();
    ok = pitched(width, height) && ok;
    return verdict("memset2d", ok);
}
