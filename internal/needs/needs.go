// Package needs is for tests that need what a machine may lack: a compiler, AMD's libraries, what `make build` leaves. Where that is missing such a
// test is skipped, but in CI, which sets PUMICE_TEST_ALL, it fails: a test that is skipped everywhere hides what it was written to show.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// All is whether every test must run.
func All() bool { return os.Getenv("PUMICE_TEST_ALL") != "" }

// Missing ends a test that lacks something, which the text names.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if All() {
		t.Fatalf("PUMICE_TEST_ALL is set, and "+format, args...)
	}
	t.Skipf(format, args...)
}

// Program is the path of a program that scripts/install-deps installs, such as clang-15.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "%s is not installed: %v", name, err)
	}
	return path
}

// File is path itself, where there is such a file. from says what makes it.
func File(t testing.TB, path, from string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		Missing(t, "%v (%s)", err, from)
	}
	return path
}
