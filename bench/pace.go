package main

import "time"

// pace is a steady rate. What is late is caught up with; a ticker would drop it, and the rate would be a lower one on a
// busy machine.
type pace struct {
	due  time.Time
	each time.Duration
}

// paced begins a rate, by the second.
func paced(rate int) *pace { return &pace{time.Now(), time.Second / time.Duration(rate)} }

// next comes back when the next one is due.
func (p *pace) next() {
	time.Sleep(time.Until(p.due))
	p.due = p.due.Add(p.each)
}
