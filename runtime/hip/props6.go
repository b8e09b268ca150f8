package hip

// layout6 is the structure of HIP 6 and 7, 1472 bytes (hipGetDevicePropertiesR0600).
var layout6 = layout{1472, []propField{
	str(0, 256, func(p *Props) string { return p.Name }),
	{256, func(p *Props) any { return p.UUID[:] }, 0},
	u64(288, func(p *Props) uint64 { return p.TotalGlobalMem }),
	u64(296, func(p *Props) uint64 { return p.SharedMemPerBlock }),
	i32(304, func(p *Props) int32 { return p.RegsPerBlock }),
	i32(308, func(p *Props) int32 { return p.WarpSize }),
	u64(312, func(p *Props) uint64 { return p.MemPitch }),
	i32(320, func(p *Props) int32 { return p.MaxThreadsPerBlock }),
	{324, func(p *Props) any { return p.MaxThreadsDim[:] }, 0},
	{336, func(p *Props) any { return p.MaxGridSize[:] }, 0},
	i32(348, func(p *Props) int32 { return p.ClockRate }),
	u64(352, func(p *Props) uint64 { return p.TotalConstMem }),
	i32(360, func(p *Props) int32 { return p.Major }),
	i32(364, func(p *Props) int32 { return p.Minor }),
	u64(368, func(p *Props) uint64 { return p.TextureAlignment }),
	u64(376, func(p *Props) uint64 { return p.TexturePitchAlignment }),
	one(384), // deviceOverlap
	i32(388, func(p *Props) int32 { return p.MultiProcessorCount }),
	i32(396, func(p *Props) int32 { return p.Integrated }),
	one(400), // canMapHostMemory
	i32(408, func(p *Props) int32 { return p.MaxTexture1D }),
	i32(416, func(p *Props) int32 { return p.MaxTexture1DLinear }),
	{420, func(p *Props) any { return p.MaxTexture2D[:] }, 0},
	{456, func(p *Props) any { return p.MaxTexture3D[:] }, 0},
	u64(568, func(p *Props) uint64 { return p.TextureAlignment }),
	one(576), // concurrentKernels
	i32(584, func(p *Props) int32 { return p.PCIBusID }),
	i32(588, func(p *Props) int32 { return p.PCIDeviceID }),
	i32(592, func(p *Props) int32 { return p.PCIDomainID }),
	one(604), // unifiedAddressing
	i32(608, func(p *Props) int32 { return p.MemoryClockRate }),
	i32(612, func(p *Props) int32 { return p.MemoryBusWidth }),
	i32(616, func(p *Props) int32 { return p.L2CacheSize }),
	i32(624, func(p *Props) int32 { return p.MaxThreadsPerMultiProcessor }),
	one(628), // streamPrioritiesSupported
	one(632), // globalL1CacheSupported
	one(636), // localL1CacheSupported
	u64(640, func(p *Props) uint64 { return p.MaxSharedMemoryPerMultiProcessor }),
	i32(648, func(p *Props) int32 { return p.RegsPerBlock }),
	i32(652, func(p *Props) int32 { return p.ManagedMemory }),
	i32(672, func(p *Props) int32 { return p.PageableMemoryAccess }),
	i32(676, func(p *Props) int32 { return p.ConcurrentManagedAccess }),
	i32(688, func(p *Props) int32 { return p.CooperativeLaunch }),
	u64(696, func(p *Props) uint64 { return p.SharedMemPerBlock }),
	i32(704, func(p *Props) int32 { return p.PageableMemoryAccessUsesHostPageTables }),
	i32(708, func(p *Props) int32 { return p.DirectManagedMemAccess }),
	one(728), // hostRegisterSupported
	str(1160, 256, func(p *Props) string { return p.GCNArchName }),
	u64(1416, func(p *Props) uint64 { return p.MaxSharedMemoryPerMultiProcessor }),
	i32(1424, func(p *Props) int32 { return p.ClockInstructionRate }),
	{1428, func(p *Props) any { return p.Arch }, 0},
	i32(1464, func(p *Props) int32 { return p.IsLargeBar }),
	i32(1468, func(p *Props) int32 { return p.AsicRevision }),
	i32(512, func(p *Props) int32 { return p.MaxTexture1D }),                 // maxSurface1D
	{516, func(p *Props) any { return p.MaxTexture2D[:] }, 0},                // maxSurface2D
	{524, func(p *Props) any { return p.MaxTexture3D[:] }, 0},                // maxSurface3D
	i32(412, func(p *Props) int32 { return p.MaxTexture1DLinear }),           // maxTexture1DMipmap
	i32(600, func(p *Props) int32 { return p.AsyncEngineCount }),             // asyncEngineCount
	i32(620, func(p *Props) int32 { return p.L2CacheSize }),                  // persistingL2CacheMaxSize
	i32(660, func(p *Props) int32 { return p.PCIDeviceID }),                  // multiGpuBoardGroupID
	i32(664, func(p *Props) int32 { return p.HostNativeAtomic }),             // hostNativeAtomicSupported
	i32(692, func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch }), // cooperativeMultiDeviceLaunch
	i32(712, func(p *Props) int32 { return p.MaxBlocksPerMultiProcessor }),   // maxBlocksPerMultiProcessor
	one(744), // memoryPoolsSupported
	i32(760, func(*Props) int32 { return handleFD }), // memoryPoolSupportedHandleTypes
	one(768), // ipcEventSupported
	i32(1448, func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch }), // of the kinds in which launches may differ, in this order: function,
	i32(1452, func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch }), // grid,
	i32(1456, func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch }), // block,
	i32(1460, func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch }), // dynamic LDS
}}
