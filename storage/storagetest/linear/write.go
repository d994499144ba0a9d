package linear

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// visualLimit bounds the second search, for the picture: it is for looking at, and may show less.
const visualLimit = 20 * time.Second

// Write makes two files in a folder of its own: the history as text, and the picture of porcupine, for a browser, of how
// far an order could be found. It gives the folder.
func (f Finding) Write() (folder string, err error) {
	folder, err = os.MkdirTemp("", "reprise-linear-")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(folder, "history.txt"), []byte(f.String()), 0o600); err != nil {
		return folder, err
	}
	_, info := porcupine.CheckOperationsVerbose(model, f.history, visualLimit)
	return folder, porcupine.VisualizePath(model, info, filepath.Join(folder, "history.html"))
}

// String writes the history, a line for each call.
func (f Finding) String() string {
	var b strings.Builder
	verdict := "no order of these calls explains all answers"
	if f.Undecided {
		verdict = "no order was found in time"
	}
	fmt.Fprintf(&b, "%q: %s\n", f.Name, verdict)
	for _, o := range f.Ops {
		returned := "?"
		if o.Answer != nil {
			returned = o.Returned.String()
		}
		fmt.Fprintf(&b, "  %v-%s client %d", o.Sent, returned, o.Client)
		if o.Group != 0 {
			fmt.Fprintf(&b, " group %d.%d", o.Group, o.Order)
		}
		fmt.Fprintf(&b, " at %s to %s: %v → %v\n", clock(o.Earliest), clock(o.Latest), o, o.Answer)
	}
	return b.String()
}
