// Single precision matrix product with LDS tiles.   sgemm [m] [n] [k]
// Twice: for any sizes with one element of C for each work-item, then for n rounded up to 64 with 4x4 elements for each.
#include "gemm.h"
#include "sgemm64.h"

static bool blocked(int n) {
    const size_t items = size_t(n) * n;
    Noise noise(11);
    std::vector<float> a(items), b(items), want(items);
    for (float &v : a) v = noise.unit();
    for (float &v : b) v = noise.unit();
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += double(a[size_t(i) * n + k]) * double(b[size_t(k) * n + j]);
            want[size_t(i) * n + j] = float(sum);
        }
    DeviceArray<float> da(a), db(b), dc(items);
    sgemm64<<<dim3(n / 64, n / 64), 256>>>(n, da.get(), db.get(), dc.get());
    CHECK_LAUNCH();
    return matches("blocked c", dc.download(), want, 1e-5);
}

int main(int argc, char **argv) {
    const int n = int(sizeArg(argc, argv, 2, sizeArg(argc, argv, 1, 100) + 20));
    if (!blocked((n + 63) / 64 * 64)) return verdict("sgemm", false);
    return runGemm<float>("sgemm", argc, argv);
}
