// Double precision matrix product with LDS tiles.   dgemm [m] [n] [k]
#include "gemm.h"

int main(int argc, char **argv) { return runGemm<double>("dgemm", argc, argv); }
