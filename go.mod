module github.com/pumice-gpu/pumice

go 1.26
