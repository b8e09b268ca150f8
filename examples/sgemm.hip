// Single precision matrix product with LDS tiles.   sgemm [m] [n] [k]
#include "gemm.h"

int main(int argc, char **argv) { return runGemm<float>("sgemm", argc, argv); }
