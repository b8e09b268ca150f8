package interp

func runMatrix(m *machine, in *inst) bool { return runIllegal(m, in) }
