package hip

import "unsafe"

// Attribute numbers of hipDeviceAttribute_t, and the value of each from the properties. Attributes that are no number (names, UUIDs, pointers) and those of
// features that are not there have no row: hipDeviceGetAttribute answers hipErrorInvalidValue.
var attributes = map[int32]func(p *Props) int32{
	0:     func(p *Props) int32 { return 0 },                                         // EccEnabled
	1:     func(p *Props) int32 { return 0 },                                         // AccessPolicyMaxWindowSize
	2:     func(p *Props) int32 { return p.AsyncEngineCount },                        // AsyncEngineCount
	3:     func(p *Props) int32 { return 1 },                                         // CanMapHostMemory
	4:     func(p *Props) int32 { return 0 },                                         // CanUseHostPointerForRegisteredMem
	5:     func(p *Props) int32 { return p.ClockRate },                               // ClockRate
	6:     func(p *Props) int32 { return 0 },                                         // ComputeMode
	7:     func(p *Props) int32 { return 0 },                                         // ComputePreemptionSupported
	8:     func(p *Props) int32 { return 1 },                                         // ConcurrentKernels
	9:     func(p *Props) int32 { return p.ConcurrentManagedAccess },                 // ConcurrentManagedAccess
	10:    func(p *Props) int32 { return p.CooperativeLaunch },                       // CooperativeLaunch
	11:    func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch },            // CooperativeMultiDeviceLaunch
	12:    func(p *Props) int32 { return 1 },                                         // DeviceOverlap
	13:    func(p *Props) int32 { return p.DirectManagedMemAccess },                  // DirectManagedMemAccessFromHost
	14:    func(p *Props) int32 { return 1 },                                         // GlobalL1CacheSupported
	15:    func(p *Props) int32 { return p.HostNativeAtomic },                        // HostNativeAtomicSupported
	16:    func(p *Props) int32 { return p.Integrated },                              // Integrated
	17:    func(p *Props) int32 { return 0 },                                         // IsMultiGpuBoard
	18:    func(p *Props) int32 { return 0 },                                         // KernelExecTimeout
	19:    func(p *Props) int32 { return p.L2CacheSize },                             // L2CacheSize
	20:    func(p *Props) int32 { return 1 },                                         // LocalL1CacheSupported
	22:    func(p *Props) int32 { return 0 },                                         // LuidDeviceNodeMask
	23:    func(p *Props) int32 { return p.Major },                                   // ComputeCapabilityMajor
	24:    func(p *Props) int32 { return p.ManagedMemory },                           // ManagedMemory
	25:    func(p *Props) int32 { return p.MaxBlocksPerMultiProcessor },              // MaxBlocksPerMultiProcessor
	26:    func(p *Props) int32 { return p.MaxThreadsDim[0] },                        // MaxBlockDimX
	27:    func(p *Props) int32 { return p.MaxThreadsDim[1] },                        // MaxBlockDimY
	28:    func(p *Props) int32 { return p.MaxThreadsDim[2] },                        // MaxBlockDimZ
	29:    func(p *Props) int32 { return p.MaxGridSize[0] },                          // MaxGridDimX
	30:    func(p *Props) int32 { return p.MaxGridSize[1] },                          // MaxGridDimY
	31:    func(p *Props) int32 { return p.MaxGridSize[2] },                          // MaxGridDimZ
	32:    func(p *Props) int32 { return p.MaxTexture1D },                            // MaxSurface1D
	39:    func(p *Props) int32 { return p.MaxTexture1D },                            // MaxTexture1DWidth
	41:    func(p *Props) int32 { return p.MaxTexture1DLinear },                      // MaxTexture1DLinear
	42:    func(p *Props) int32 { return p.MaxTexture1D },                            // MaxTexture1DMipmap
	43:    func(p *Props) int32 { return p.MaxTexture2D[0] },                         // MaxTexture2DWidth
	44:    func(p *Props) int32 { return p.MaxTexture2D[1] },                         // MaxTexture2DHeight
	47:    func(p *Props) int32 { return p.MaxTexture2D[0] },                         // MaxTexture2DLinear
	49:    func(p *Props) int32 { return p.MaxTexture3D[0] },                         // MaxTexture3DWidth
	50:    func(p *Props) int32 { return p.MaxTexture3D[1] },                         // MaxTexture3DHeight
	51:    func(p *Props) int32 { return p.MaxTexture3D[2] },                         // MaxTexture3DDepth
	53:    func(p *Props) int32 { return 0 },                                         // MaxTextureCubemap
	55:    func(p *Props) int32 { return p.MaxThreadsDim[0] },                        // MaxThreadsDim
	56:    func(p *Props) int32 { return p.MaxThreadsPerBlock },                      // MaxThreadsPerBlock
	57:    func(p *Props) int32 { return p.MaxThreadsPerMultiProcessor },             // MaxThreadsPerMultiProcessor
	58:    func(p *Props) int32 { return int32(p.MemPitch) },                         // MaxPitch
	59:    func(p *Props) int32 { return p.MemoryBusWidth },                          // MemoryBusWidth
	60:    func(p *Props) int32 { return p.MemoryClockRate },                         // MemoryClockRate
	61:    func(p *Props) int32 { return p.Minor },                                   // ComputeCapabilityMinor
	62:    func(p *Props) int32 { return p.PCIDeviceID },                             // MultiGpuBoardGroupID
	63:    func(p *Props) int32 { return p.MultiProcessorCount },                     // MultiprocessorCount
	65:    func(p *Props) int32 { return p.PageableMemoryAccess },                    // PageableMemoryAccess
	66:    func(p *Props) int32 { return p.PageableMemoryAccessUsesHostPageTables },  // PageableMemoryAccessUsesHostPageTables
	67:    func(p *Props) int32 { return p.PCIBusID },                                // PciBusId
	68:    func(p *Props) int32 { return p.PCIDeviceID },                             // PciDeviceId
	69:    func(p *Props) int32 { return p.PCIDomainID },                             // PciDomainID
	70:    func(p *Props) int32 { return p.L2CacheSize },                             // PersistingL2CacheMaxSize
	71:    func(p *Props) int32 { return p.RegsPerBlock },                            // MaxRegistersPerBlock
	72:    func(p *Props) int32 { return p.RegsPerBlock },                            // MaxRegistersPerMultiprocessor
	73:    func(p *Props) int32 { return 0 },                                         // ReservedSharedMemPerBlock
	74:    func(p *Props) int32 { return int32(p.SharedMemPerBlock) },                // MaxSharedMemoryPerBlock
	75:    func(p *Props) int32 { return int32(p.SharedMemPerBlock) },                // SharedMemPerBlockOptin
	76:    func(p *Props) int32 { return int32(p.MaxSharedMemoryPerMultiProcessor) }, // SharedMemPerMultiprocessor
	77:    func(p *Props) int32 { return 0 },                                         // SingleToDoublePrecisionPerfRatio
	78:    func(p *Props) int32 { return 1 },                                         // StreamPrioritiesSupported
	79:    func(p *Props) int32 { return int32(p.TextureAlignment) },                 // SurfaceAlignment
	80:    func(p *Props) int32 { return 0 },                                         // TccDriver
	81:    func(p *Props) int32 { return int32(p.TextureAlignment) },                 // TextureAlignment
	82:    func(p *Props) int32 { return int32(p.TexturePitchAlignment) },            // TexturePitchAlignment
	83:    func(p *Props) int32 { return int32(p.TotalConstMem) },                    // TotalConstantMemory
	84:    func(p *Props) int32 { return int32(min(p.TotalGlobalMem, 1<<31-1)) },     // TotalGlobalMem
	85:    func(p *Props) int32 { return 1 },                                         // UnifiedAddressing
	87:    func(p *Props) int32 { return p.WarpSize },                                // WarpSize
	88:    func(p *Props) int32 { return 1 },                                         // MemoryPoolsSupported
	89:    func(p *Props) int32 { return 1 },                                         // VirtualMemoryManagementSupported
	90:    func(p *Props) int32 { return 1 },                                         // HostRegisterSupported
	91:    func(p *Props) int32 { return handleFD },                                  // MemoryPoolSupportedHandleTypes
	10000: func(p *Props) int32 { return p.ClockInstructionRate },                    // ClockInstructionRate
	10002: func(p *Props) int32 { return int32(p.MaxSharedMemoryPerMultiProcessor) }, // MaxSharedMemoryPerMultiprocessor
	10003: func(p *Props) int32 { return p.GCNArch },                                 // GcnArch
	10007: func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch },            // CooperativeMultiDeviceUnmatchedFunc
	10008: func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch },            // CooperativeMultiDeviceUnmatchedGridDim
	10009: func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch },            // CooperativeMultiDeviceUnmatchedBlockDim
	10010: func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch },            // CooperativeMultiDeviceUnmatchedSharedMem
	10011: func(p *Props) int32 { return p.IsLargeBar },                              // IsLargeBar
	10012: func(p *Props) int32 { return p.AsicRevision },                            // AsicRevision
	10013: func(p *Props) int32 { return 1 },                                         // CanUseStreamWaitValue
	10014: func(p *Props) int32 { return p.Images },                                  // ImageSupport
	10015: func(p *Props) int32 { return p.MultiProcessorCount },                     // PhysicalMultiProcessorCount
	10016: func(p *Props) int32 { return 1 },                                         // FineGrainSupport
	10017: func(p *Props) int32 { return p.ClockInstructionRate },                    // WallClockRate
}

// Attributes that are addresses.
const (
	attrHdpMemFlushCntl = 10005
	attrHdpRegFlushCntl = 10006
)

// DeviceGetAttribute returns one attribute of a device.
func (a *API) DeviceGetAttribute(out *int32, attr, d int32) Error {
	if out == nil {
		return ErrInvalidValue
	}
	dev, e := a.deviceAt(d)
	if e != Success {
		return e
	}
	if attr == attrHdpMemFlushCntl || attr == attrHdpRegFlushCntl {
		// Pointers, and so is what out points at. There is no HDP cache to flush, as the properties say.
		*(*uintptr)(unsafe.Pointer(out)) = 0
		return Success
	}
	f := attributes[attr]
	if f == nil {
		return ErrInvalidValue
	}
	*out = f(properties(dev))
	return Success
}
