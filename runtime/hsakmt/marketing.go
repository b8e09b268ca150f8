package hsakmt

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/drm"
	"github.com/pumice-gpu/pumice/abi/kfd"
)

// idsPath is libdrm's table of marketing names: lines of "device id, revision, name", in hexadecimal.
const idsPath = "/usr/share/libdrm/amdgpu.ids"

// DeviceInfo returns what the DRM driver says of a GPU node's device.
func (k *KFD) DeviceInfo(node int) (drm.InfoDevice, error) {
	const op = "AMDGPU_INFO"
	g := k.gpuOf(node)
	if g == nil {
		return drm.InfoDevice{}, fail(op, InvalidNodeUnit)
	}
	// Write only, as libdrm has it: the answer goes through the pointer.
	req := kfd.Request(uint32(kfd.DirWrite)<<30 | uint32(unsafe.Sizeof(drm.InfoArgs{}))<<16 | drm.Type<<8 | uint32(drm.NrAMDGPUInfo))
	p := pinned(int(unsafe.Sizeof(drm.InfoDevice{})))
	defer p.free()
	a := drm.InfoArgs{ReturnPointer: p.addr, ReturnSize: uint32(len(p.b)), Query: drm.InfoDevInfo}
	if err := g.render.Ioctl(req, drm.Bytes(&a)); err != nil {
		return drm.InfoDevice{}, fromErrno(op, err)
	}
	return drm.Decode[drm.InfoDevice](p.b), nil
}

// MarketingName returns the name under which a GPU node's card is sold, as libdrm would: by device id and PCI revision from libdrm's table. Where the table
// is not installed or is older than the card, it is what the board itself says (product_name of amdgpu); "" if that says nothing either.
func (k *KFD) MarketingName(node int) string {
	if d, err := k.DeviceInfo(node); err == nil {
		if f, err := os.Open(idsPath); err == nil {
			name := lookupName(f, d.DeviceID, d.PCIRev)
			f.Close()
			if name != "" {
				return name
			}
		}
	}
	g := k.gpuOf(node)
	if g == nil {
		return ""
	}
	b, err := fs.ReadFile(k.t.Sysfs(), fmt.Sprintf("sys/class/drm/renderD%d/device/product_name", g.node.Props["drm_render_minor"]))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func lookupName(ids io.Reader, device, revision uint32) string {
	for s := bufio.NewScanner(ids); s.Scan(); {
		f := strings.SplitN(s.Text(), ",", 3)
		if len(f) != 3 || strings.HasPrefix(f[0], "#") {
			continue
		}
		dev, err1 := strconv.ParseUint(strings.TrimSpace(f[0]), 16, 32)
		rev, err2 := strconv.ParseUint(strings.TrimSpace(f[1]), 16, 32)
		if err1 == nil && err2 == nil && uint32(dev) == device && uint32(rev) == revision {
			return strings.TrimSpace(f[2])
		}
	}
	return ""
}
