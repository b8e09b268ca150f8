module github.com/pumice-gpu/pumice

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/klauspost/compress v1.20.4
	golang.org/x/sys v0.50.0
	pgregory.net/rapid v1.3.0
)
