package storage

import (
	"cmp"
	"strings"
)

// Name identifies a record. All four parts are compared byte by byte: nothing is trimmed, folded or normalised.
// The tenant leads, so that no statement can forget it.
type Name struct {
	Tenant    string
	Operation string
	Subject   string
	Key       string
}

// Compare orders names by their bytes, part after part. It is the order in which every backend touches the rows of a
// group: two groups that lock the same rows in one order cannot deadlock.
func (n Name) Compare(o Name) int {
	return cmp.Or(
		strings.Compare(n.Tenant, o.Tenant),
		strings.Compare(n.Operation, o.Operation),
		strings.Compare(n.Subject, o.Subject),
		strings.Compare(n.Key, o.Key),
	)
}
