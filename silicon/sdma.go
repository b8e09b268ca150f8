package silicon

import (
	"github.com/pumice-gpu/pumice/abi/mqd"
)

func newSDMA(q *queue, c *mqd.SDMA) runner { return nil }
