package lift

// Assemble gives the tests in package lift_test the assembler.
var Assemble = assemble

// HipMode is the MODE of HIP kernels.
const HipMode = hipMode
