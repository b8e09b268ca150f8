package silicon

import (
	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
)

// together lets the worker run all waves of the group, when all can go on, and change between them at s_barrier by itself. What it did
// is what once does: waves that are at the barrier have arrived in some order, and one has left for another reason.
func (g *group) together(e engine.Worker, h *hold) (yields bool) {
	c, ok := e.(engine.CrewRunner)
	if !ok || g.n < 2 || g.live < g.n {
		return false
	}
	if b := &g.barriers[barrierWorkgroup]; b.arrived != 0 || b.done != 0 {
		return false
	}
	for i := range g.n {
		if w := &g.waves[i]; g.states[i] != waveReady || halted(w) {
			return false
		}
	}
	ws := g.waves[:g.n]
	for i := range ws {
		ws[i].Fuel = fuel
	}
	h.take(ws[0].Space)
	i, x, arrived, passed := c.RunCrew(ws, g.down)
	if i < 0 {
		return false
	}
	g.down = g.down || passed
	if x != ir.ExitEndPgm && x != ir.ExitBarrier || halted(&ws[i]) {
		h.drop()
	}
	for j := range ws {
		if arrived>>j&1 != 0 {
			g.arrive(barrierWorkgroup)
			g.await(j, barrierWorkgroup)
		}
	}
	return g.exit(e, i, x)
}
