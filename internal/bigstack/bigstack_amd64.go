package bigstack

// Reserve makes sure that the goroutine's stack has Size bytes below the caller. When it has them already, that costs a comparison.
func Reserve()
