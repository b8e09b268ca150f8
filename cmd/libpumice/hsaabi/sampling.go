package hsaabi

import "C"

import "github.com/pumice-gpu/pumice/runtime/hsa"

// Streaming of performance counters (SPM) and sampling of program counters. Both need ioctls of AMD's own tree, which the upstream driver does not have:
// ROCr answers there as it does here.
//
// fidelity: refused hsa_amd_spm_*, hsa_ven_amd_pcs_*: the driver has no ioctls for them, as the upstream one

// spm is the common answer.
func spm(agent uint64) int32 {
	if rt() == nil {
		return notInit
	}
	if a := agents.get(agent); a == nil || !a.IsGPU() {
		return int32(hsa.StatusInvalidAgent)
	}
	return failure
}

//export hsa_amd_spm_acquire
func hsa_amd_spm_acquire(agent uint64) int32 { return spm(agent) }

//export hsa_amd_spm_release
func hsa_amd_spm_release(agent uint64) int32 { return spm(agent) }

//export hsa_amd_spm_set_dest_buffer
func hsa_amd_spm_set_dest_buffer(agent, size uint64, timeout, copied *uint32, dest uintptr, loss *bool) int32 {
	return spm(agent)
}

//export hsa_ven_amd_pcs_iterate_configuration
func hsa_ven_amd_pcs_iterate_configuration(agent uint64, f, data uintptr) int32 { return spm(agent) }

//export hsa_ven_amd_pcs_create
func hsa_ven_amd_pcs_create(agent uint64, method, units int32, interval, latency, size uint64, f, data uintptr, out *uint64) int32 {
	return spm(agent)
}

//export hsa_ven_amd_pcs_create_from_id
func hsa_ven_amd_pcs_create_from_id(id uint32, agent uint64, method, units int32, interval, latency, size uint64, f, data uintptr, out *uint64) int32 {
	return spm(agent)
}

// noSession is the answer to every handle, since there is none.
func noSession() int32 {
	if rt() == nil {
		return notInit
	}
	return badArg
}

//export hsa_ven_amd_pcs_destroy
func hsa_ven_amd_pcs_destroy(session uint64) int32 { return noSession() }

//export hsa_ven_amd_pcs_start
func hsa_ven_amd_pcs_start(session uint64) int32 { return noSession() }

//export hsa_ven_amd_pcs_stop
func hsa_ven_amd_pcs_stop(session uint64) int32 { return noSession() }

//export hsa_ven_amd_pcs_flush
func hsa_ven_amd_pcs_flush(session uint64) int32 { return noSession() }
