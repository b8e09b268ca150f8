package machine

import (
	"errors"

	"github.com/pumice-gpu/pumice/internal/doorc"
)

// DoorC makes the Door of this process, as its environment says.
func DoorC() (*doorc.Door, error) {
	return nil, errors.New("no kernel half yet")
}
