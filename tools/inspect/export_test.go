package inspect

// Reasons lists what Use.Why can be.
func Reasons() []string {
	out := []string{"transcendentals"}
	for _, a := range approximations {
		out = append(out, a.why)
	}
	return out
}
