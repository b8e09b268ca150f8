// All cases (those of public reports, and environment.hip) in one program: `cases NAME` runs one. One program, because most of the time that a compilation takes goes to HIP's header.
#include "built.hip"
#include "environment.hip"
#include "issue_chipstar_1103.hip"
#include "issue_hip_1982.hip"
#include "issue_hip_2266.hip"
#include "issue_hip_2350.hip"
#include "issue_hip_cpu_27.hip"
#include "issue_hip_cpu_29.hip"
#include "issue_hip_tests_412.hip"
#include "issue_hipfire_569.hip"
#include "issue_kokkos_3996.hip"
#include "issue_legacy_rocm_build_664.hip"
#include "issue_mgpusim_64.hip"
#include "issue_rocm_systems_2516.hip"
#include "issue_rocm_systems_5444.hip"
#include "issue_rocm_systems_6053.hip"
#include "issue_rocm_systems_7896.hip"

int main(int argc, char **argv) {
    for (Case *c = Case::first(); c; c = c->next)
        if (argc > 1 && !std::strcmp(argv[1], c->name)) {
            c->run();
            std::printf("right: %s\n", c->name);
            return 0;
        }
    std::printf("no case %s\n", argc > 1 ? argv[1] : "");
    return 2;
}
