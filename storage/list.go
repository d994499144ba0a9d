package storage

import "time"

// ListQuery asks for records of a tenant, newest first by the position of each.
type ListQuery struct {
	Tenant        string
	Operation     string    // empty: any
	Subject       *string   // nil: any
	Key           string    // empty: any
	KeyPrefix     string    // empty: any
	State         State     // derived ones included; zero: any
	CreatedFrom   time.Time // zero: any; else the first instant that counts
	CreatedBefore time.Time // zero: any; else the first instant that does not
	Limit         int       // at least 1
	After         *Position // where the page before ended; nil for the first page
}

// Position is a record's place in the order of lists: by its creation, then by its name, the newest first.
type Position struct {
	CreatedAt time.Time
	Operation string
	Subject   string
	Key       string
	Open      bool // what is older than this was looked for among the open records alone
}

// Compare orders positions as a list does not: the oldest first.
func (p Position) Compare(o Position) int {
	if c := p.CreatedAt.Compare(o.CreatedAt); c != 0 {
		return c
	}
	return Name{Operation: p.Operation, Subject: p.Subject, Key: p.Key}.Compare(Name{Operation: o.Operation, Subject: o.Subject, Key: o.Key})
}

// PositionOf gives a record's place.
func PositionOf(r *Record) Position {
	return Position{CreatedAt: r.CreatedAt, Operation: r.Operation, Subject: r.Subject, Key: r.Key}
}

// Page is a part of a list.
type Page struct {
	Records []*Record // without the bodies of their responses
	Now     time.Time // the store's clock: what derived states are reckoned by
	Next    *Position // where to go on; nil at the end
}

// Stats counts the records of a tenant.
type Stats struct {
	Now    time.Time
	States map[State]Count // of all six states, those that occur
}

// Count is how many records are in a state.
type Count struct {
	N       int
	AtLeast bool    // there may be more: counting stopped at a bound, or not all open records are noted
	Oldest  *Record // by creation: only its name, creation and lease are set; of the open states alone
}

// IsOpen tells a state in which somebody still has to do something: in progress, abandoned or uncertain.
func (s State) IsOpen() bool { return s == InProgress || s == Abandoned || s == Uncertain }
