// Package explain tells what became of a program's launches, pages and handles on their way through the floors.
//
// # What it tells
//
// Three journeys, by the names that the real stack uses:
//
//   - A launch: the HIP call, the command in a ROCclr host queue, the AQL packet in an HSA queue, the dispatch that the command processor makes of
//     it, the interrupt of its end, the ioctl that wakes the waiter. Times are since the call.
//   - A page: the memory object behind a kernel's argument, the thunk's allocation, the entries that a translation of its address reads in the GPU's
//     page tables, and for managed memory each migration with its cause.
//   - An identity: a device by its name on each floor, and a stream down to the hardware queue.
//
// With AMD's own runtime above (door C) the floors above /dev/kfd are not ours and stay dark; the rest is told all the same.
//
// Read takes what a run wrote (observe.ExplainVariable), Compose makes journeys of it, Journeys.Print writes them for people; they marshal to
// JSON for machines.
package explain

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/pumice-gpu/pumice/internal/observe"
)

// Journeys is what a run did.
type Journeys struct {
	Launches   []Launch   `json:"launches"`   // the first of each kernel, in the order of their calls
	Total      int        `json:"total"`      // how many launches there were, or more than that if Cut
	Cut        bool       `json:"cut"`        // the run launched more than is written
	Pages      []Page     `json:"pages"`      // one for each pointer among the arguments of those launches, and each range that shared virtual memory moved
	Identities []Identity `json:"identities"` // devices, then queues
}

// Stop is one station of a journey.
type Stop struct {
	Floor string `json:"floor"`
	NS    int64  `json:"ns"` // since the journey began
	Text  string `json:"text"`
}

// Launch is the journey of a launch.
type Launch struct {
	Kernel string `json:"kernel"`
	Times  int    `json:"times"` // how often the run launched the kernel
	Stops  []Stop `json:"stops"`
}

// Page is the journey of an address.
type Page struct {
	Addr  uint64 `json:"addr"`
	Title string `json:"title"`
	Stops []Stop `json:"stops"`
}

// Identity is one thing by its names, from HIP's down to the chip's.
type Identity struct {
	Names []string `json:"names"`
}

// Read reads what a run wrote. A line that the end of the program cut off is left out.
func Read(r io.Reader) (events []observe.ExplainEvent, err error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		var e observe.ExplainEvent
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			if !s.Scan() {
				break
			}
			return nil, fmt.Errorf("explain: line %d: %w", n, err)
		}
		events = append(events, e)
	}
	return events, s.Err()
}

// Print writes the journeys for people.
func (j *Journeys) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range j.Launches {
		l := &j.Launches[i]
		fmt.Fprintf(b, "A launch: %s", l.Kernel)
		if l.Times > 1 {
			fmt.Fprintf(b, ", the first of %d", l.Times)
		}
		fmt.Fprintln(b)
		stops(b, l.Stops, true)
	}
	for i := range j.Pages {
		p := &j.Pages[i]
		fmt.Fprintf(b, "A page: %#x, %s\n", p.Addr, p.Title)
		stops(b, p.Stops, false)
	}
	if len(j.Identities) > 0 {
		fmt.Fprintln(b, "Identities")
		for _, x := range j.Identities {
			fmt.Fprint(b, "  ")
			for i, n := range x.Names {
				if i > 0 {
					fmt.Fprint(b, " → ")
				}
				fmt.Fprint(b, n)
			}
			fmt.Fprintln(b)
		}
	}
	switch {
	case j.Total == 0:
		fmt.Fprintln(b, "The program launched nothing on a GPU.")
	case j.Cut:
		fmt.Fprintf(b, "More than %d launches; the first of them are told from.\n", j.Total)
	default:
		fmt.Fprintf(b, "Launches: %d, of kernels: %d.\n", j.Total, len(j.Launches))
	}
	return b.Flush()
}

func stops(w io.Writer, all []Stop, times bool) {
	for _, s := range all {
		if times {
			fmt.Fprintf(w, "  %9.1f µs  %-8s  %s\n", float64(s.NS)/1000, s.Floor, s.Text)
		} else {
			fmt.Fprintf(w, "  %-8s  %s\n", s.Floor, s.Text)
		}
	}
	fmt.Fprintln(w)
}
