package hsaabi

import "C"

import (
	"fmt"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// A cache is a data cache of an agent, as the topology lists them: each compute unit of a GPU has one of its own.
type cache struct {
	agent *hsa.Agent
	index int // in Node.Caches
}

var caches handles[cache]

func cachesOf(a *hsa.Agent) (all []cache) {
	for i, c := range a.Node.Caches {
		if c.Level >= 1 && c.Level <= 4 && c.Type&kfd.CacheTypeData != 0 {
			all = append(all, cache{a, i})
		}
	}
	return
}

// cacheSizes are the bytes of the caches of each level; of a level the first, which is the one nearest to the lanes.
func cacheSizes(a *hsa.Agent) (sizes [4]uint32) {
	for _, c := range cachesOf(a) {
		if x := a.Node.Caches[c.index]; sizes[x.Level-1] == 0 {
			sizes[x.Level-1] = uint32(x.Size << 10)
		}
	}
	return
}

//export hsa_agent_iterate_caches
func hsa_agent_iterate_caches(agent uint64, f, data unsafe.Pointer) int32 {
	a, st := visited(agent, f)
	if st != ok {
		return st
	}
	for _, c := range cachesOf(a) {
		if st := callHandle(f, caches.of(c), data); st != ok {
			return st
		}
	}
	return ok
}

//export hsa_cache_get_info
func hsa_cache_get_info(h uint64, attr int32, p uintptr) int32 {
	if rt() == nil {
		return notInit
	}
	c := caches.get(h)
	if c.agent == nil {
		return int32(hsa.StatusInvalidCache)
	}
	if p == 0 {
		return badArg
	}
	x := c.agent.Node.Caches[c.index]
	name := fmt.Sprintf("%s L%d", c.agent.Market, x.Level)
	switch attr {
	case 0:
		return put(p, uint32(len(name)+1))
	case 1:
		return putText(p, name, len(name)+1)
	case 2:
		return put(p, uint8(x.Level))
	case 3:
		return put(p, uint32(x.Size<<10))
	}
	return badArg
}
