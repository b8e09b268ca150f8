package inspect

import "github.com/pumice-gpu/pumice/engine/isa"

// Reasons lists what Use.Why can be.
func Reasons() []string {
	out := []string{"transcendentals"}
	for _, a := range approximations {
		out = append(out, a.why)
	}
	return out
}

// Classify is classify by names: "" for an instruction that the target has not.
func Classify(mnemonic, target string) (Class, string) {
	t := isa.TargetByName(target)
	for _, op := range isa.LookupAll(mnemonic) {
		if op.On(t) {
			return classify(op, t)
		}
	}
	return "", ""
}
