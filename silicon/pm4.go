package silicon

import (
	"errors"

	"github.com/pumice-gpu/pumice/abi/mqd"
)

type pm4Machine struct{ q *queue }

func (m *pm4Machine) run(w []uint32) (wait bool, err error) { return false, errors.New("pm4: not yet") }

func newPM4(q *queue, c *mqd.Compute) (runner, error) { return nil, errors.New("pm4: not yet") }
