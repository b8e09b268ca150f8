// Package image knows the images of AMD's texture units: descriptors, formats, layouts in memory, and sampling.
//
// # Descriptors
//
// A kernel names an image by eight scalar registers (the resource descriptor, T#) and the way to read it by four more
// (the sampler descriptor, S#). A buffer that is read with format conversion has a descriptor of four (V#). Their fields
// moved with almost every generation; Resource and Sampler are what they say, whatever the generation.
//
// # Texels
//
// A texel is up to four components of 1 to 32 bits, side by side in 1 to 16 bytes, each a normalised, scaled or plain
// integer or a float. The texture unit converts them to four 32-bit values, floats or integers by the format, in the
// order of memory; the descriptor's DST_SEL then says which of them, or 0 or 1, the program's x, y, z and w are.
//
// # Layouts
//
// A linear image has rows at a pitch. The others are cut into blocks of 256 B, 4 KiB, 64 KiB or 256 KiB, in which the
// bits of the coordinates are interleaved (swizzled), so that neighbours in either direction share cache lines. Linear
// images, and what the runtime chooses, are what HIP programs can see; that a copy to the host goes through a shader keeps
// the rest a matter between loads and stores.
//
// # Sampling
//
// Coordinates are floats, normalised to [0, 1) or counted in texels. They are taken to fixed point with 8 fraction bits,
// the precision that Vulkan drivers report for these chips, so a linear filter's weights are multiples of 1/256.
package image

// What is not as hardware does it, or not done.
//
//fidelity: approximate image-swizzle: the pipe and bank bits of the _X and _T layouts are not exclusive-ored, and gfx10's R layouts are plain Z order: a tiled image is a permutation of hardware's inside each block, which only a host that reads tiled memory itself can see
//fidelity: approximate image-filter: weights have 8 fraction bits, rounded to nearest; the weighted sum is made in double precision and rounded once
//fidelity: approximate image-cube: filters do not reach across the edges of a cube's faces
//fidelity: approximate image-lod: an implicit level of detail is 0, so the magnification filter is used
//fidelity: refused image-mipmap: images with more than one level: AMD's runtime on Linux makes none, and where small levels lie in a block is not published for all layouts
//fidelity: refused image-msaa: images with several samples in a texel: no interface of HIP, HSA or OpenCL makes one
//fidelity: refused image-compressed: block-compressed formats and delta colour compression
