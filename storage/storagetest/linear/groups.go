package linear

import (
	"cmp"
	"fmt"
	"slices"
)

// inOrder gives their places to calls on one name that happen one after the other. They are of two kinds: the answered
// calls of a group, and repeats of one call that were not answered. Of the latter any may have happened; that the first
// did, whenever any did, is as good, and spares the search from trying them all.
func inOrder(calls []*input) {
	groups := map[string][]*input{}
	for _, c := range calls {
		switch {
		case c.Answer == nil:
			twins := fmt.Sprintf("%T%+v %v", c.Call, c.Call, c.Content)
			groups[twins] = append(groups[twins], c)
		case c.Group != 0:
			groups[fmt.Sprint(c.Group)] = append(groups[fmt.Sprint(c.Group)], c)
		}
	}
	made := 0
	for _, group := range groups {
		if group[0].Answer != nil {
			slices.SortFunc(group, func(a, b *input) int { return cmp.Compare(a.Order, b.Order) })
		}
		for i, c := range group {
			if i == 0 || c.Answer == nil && !group[i-1].mayStandFor(c) {
				made++
				c.group, c.place = made, 1
			} else {
				c.group, c.place = made, group[i-1].place+1
			}
		}
	}
}

// mayStandFor tells whether a call without an answer could have happened whenever its repeat could.
func (c *input) mayStandFor(repeat *input) bool {
	return c.Sent <= repeat.Sent && !repeat.now.from.Before(c.now.from) && !repeat.now.to.After(c.now.to)
}
