package sched

// TaskState is what Tasks tells of one task.
type TaskState struct {
	Name  string
	Waits string   // what it is blocked on; "" when it can run
	Held  []string // lock classes, outermost first
}

// Tasks returns the tasks that have not ended, in order of creation. Only the running task may call it: it takes no lock
// and is no step, so looking does not change a run.
func (s *Sim) Tasks() []TaskState {
	var out []TaskState
	for _, t := range s.tasks {
		if t.done {
			continue
		}
		x := TaskState{Name: t.name, Held: t.heldNames()}
		if t.blocked {
			x.Waits = t.why
		}
		out = append(out, x)
	}
	return out
}

// Current returns the name of the running task.
func (s *Sim) Current() string {
	if s.cur == nil {
		return ""
	}
	return s.cur.name
}
