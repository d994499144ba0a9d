package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// usualFolders are where packages put the programs without adding them to PATH: Debian, PGDG's RPMs,
// Homebrew on both kinds of Mac.
var usualFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
}

// programs is a folder with initdb and postgres.
type programs struct {
	folder  string
	version version
}

func (p programs) initdb() string   { return filepath.Join(p.folder, "initdb") }
func (p programs) postgres() string { return filepath.Join(p.folder, "postgres") }

// findPrograms returns the ones the user named, else the newest of this machine, or errAbsent.
func findPrograms() (programs, error) {
	if folder := os.Getenv(ProgramsVariable); folder != "" {
		named, err := inspect(folder)
		if err != nil {
			// Not errAbsent: somebody chose this folder, and a mistyped choice must not become a skip.
			return programs{}, fmt.Errorf("%s: %v", ProgramsVariable, err)
		}
		return named, nil
	}
	return newest(candidateFolders())
}

func candidateFolders() []string {
	var folders []string
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	folders = append(folders, filepath.SplitList(os.Getenv("PATH"))...)
	for _, pattern := range usualFolders {
		matches, _ := filepath.Glob(pattern) // fails only on a malformed pattern
		folders = append(folders, matches...)
	}
	return folders
}

// newest picks the highest version; of equals the first, as the folders come in order of preference.
func newest(folders []string) (programs, error) {
	var found []programs
	var faults []error
	for _, folder := range folders {
		candidate, err := inspect(folder)
		switch {
		case err == nil:
			found = append(found, candidate)
		case !errors.Is(err, errAbsent):
			faults = append(faults, err)
		}
	}
	switch {
	case len(found) > 0:
		return slices.MaxFunc(found, func(a, b programs) int { return a.version.compare(b.version) }), nil
	case len(faults) > 0:
		return programs{}, errors.Join(faults...)
	default:
		return programs{}, fmt.Errorf("%w: no folder with initdb and postgres", errAbsent)
	}
}

// inspect says what a folder offers, or errAbsent if one of the two programs is missing.
func inspect(folder string) (programs, error) {
	p := programs{folder: folder}
	for _, program := range []string{p.initdb(), p.postgres()} {
		if info, err := os.Stat(program); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return programs{}, fmt.Errorf("%w: %s", errAbsent, program)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, p.postgres(), "--version").Output()
	if err != nil {
		return programs{}, fmt.Errorf("asking %s for its version: %w", p.postgres(), err)
	}
	p.version, err = parseVersion(string(out))
	return p, err
}

type version struct{ major, minor int }

func (v version) compare(w version) int {
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor))
}

// versionPattern reads "postgres (PostgreSQL) 17.5 (Debian 17.5-1)" and "… 18beta1".
var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)(?:\.(\d+))?`)

func parseVersion(text string) (version, error) {
	match := versionPattern.FindStringSubmatch(text)
	if match == nil {
		return version{}, fmt.Errorf("no version in %q", text)
	}
	major, _ := strconv.Atoi(match[1])
	minor, _ := strconv.Atoi(match[2]) // absent in a beta: 0
	return version{major, minor}, nil
}

// account is the user who runs the programs and owns their files.
type account struct {
	uid, gid int

	// credential is nil when that is the user who runs the test.
	credential *syscall.Credential
}

// serverAccount is ourselves, except for root, whom initdb and postgres refuse to serve.
func serverAccount() (account, error) {
	if os.Getuid() != 0 {
		return account{uid: os.Getuid(), gid: os.Getgid()}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return account{}, fmt.Errorf("%w: Postgres does not run as root, and there is no user postgres: %v", errAbsent, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("user postgres: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("user postgres: %w", err)
	}
	credential := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return account{uid: int(uid), gid: int(gid), credential: credential}, nil
}
