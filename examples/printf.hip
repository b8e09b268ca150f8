// printf on the device (strings without a width: AMD 5.2.3 loses an argument after those). The program sends its own stdout to a file and compares each line with what the host's
// printf makes of the same arguments (lines of different work-items may come in any order).   printf [work-items]
#include "example.h"

#include <algorithm>
#include <string>
#include <unistd.h>

__global__ void speak(int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) printf("item %d of %u: %5.2f %s|%s| %x %c %lld%%\n", i, unsigned(n), i * 0.25, "left", "right", i * 17,
                      'a' + i % 26, -1ll - i);
}

static std::string lineOf(int i, int n) {
    char line[200];
    std::snprintf(line, sizeof line, "item %d of %u: %5.2f %s|%s| %x %c %lld%%", i, unsigned(n), i * 0.25, "left",
                  "right", i * 17, 'a' + i % 26, -1ll - i);
    return line;
}

int main(int argc, char **argv) {
    const int n = int(sizeArg(argc, argv, 1, 70));
    CHECK(hipSetDevice(0));
    std::fflush(stdout);
    // A file, not a pipe: no reader is needed while the kernel writes.
    FILE *capture = std::tmpfile();
    const int saved = dup(STDOUT_FILENO);
    if (!capture || saved < 0 || dup2(fileno(capture), STDOUT_FILENO) < 0) {
        std::perror("printf: redirecting stdout");
        return 1;
    }
    speak<<<ceilDiv(n, 64), 64>>>(n);
    CHECK_LAUNCH();
    CHECK(hipDeviceSynchronize());
    std::fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);

    std::vector<std::string> got, want;
    std::rewind(capture);
    char line[300];
    while (std::fgets(line, sizeof line, capture)) {
        std::string s(line);
        if (!s.empty() && s.back() == '\n') s.pop_back();
        got.push_back(s);
    }
    std::fclose(capture);
    for (int i = 0; i < n; i++) want.push_back(lineOf(i, n));
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    bool ok = got.size() == want.size();
    if (!ok) std::printf("%zu lines, want %zu\n", got.size(), want.size());
    for (size_t i = 0; i < got.size() && i < want.size(); i++)
        if (got[i] != want[i]) {
            std::printf("got  \"%s\"\nwant \"%s\"\n", got[i].c_str(), want[i].c_str());
            ok = false;
            break;
        }
    return verdict("printf", ok);
}
