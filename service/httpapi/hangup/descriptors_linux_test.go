package hangup_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/reprise-idempotency/reprise/service/httpapi/hangup"
)

const inChild = "REPRISE_TEST_WITHOUT_DESCRIPTORS"

// Ensure that a process which had no descriptor left can watch connections when it has some again. It is a process of
// its own, in which nothing was watched before.
func TestDescriptorsComeBack(t *testing.T) {
	if os.Getenv(inChild) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestDescriptorsComeBack$", "-test.v")
		child.Env = append(os.Environ(), inChild+"=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	if hangup.Possible() {
		t.Error("it is possible without a descriptor")
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !hangup.Possible() {
		t.Error("it is not possible any more")
	}
}
