package clr

import "github.com/pumice-gpu/pumice/runtime/hsa"

// What the language runtime handles without a form of ROCclr's own: the attributes of shared virtual memory, physical memory of virtual memory
// management, and memory of other processes are HSA's through and through.
type (
	Agent        = hsa.Agent
	SVMAttribute = hsa.SVMAttribute
	Physical     = hsa.Physical
	Access       = hsa.Access
	SharedHandle = hsa.SharedHandle
)

// Attributes of shared virtual memory.
const (
	SVMReadMostly        = hsa.SVMReadMostly
	SVMPreferredLocation = hsa.SVMPreferredLocation
	SVMPrefetchLocation  = hsa.SVMPrefetchLocation
	SVMAccessibleInPlace = hsa.SVMAccessibleInPlace
	SVMAccessible        = hsa.SVMAccessible
	SVMAccessQuery       = hsa.SVMAccessQuery
	SVMGlobalFlag        = hsa.SVMGlobalFlag
)

// AccessReadWrite lets a device read and write a mapping.
const AccessReadWrite = hsa.AccessReadWrite

// Granule is what sizes and addresses of virtual memory management are multiples of, in bytes.
const Granule = hsa.Granule

// VRAM is the device's pool of video memory.
func (d *Device) VRAM() *hsa.Pool { return d.Agent.Pool(hsa.PoolCoarseGrained) }
