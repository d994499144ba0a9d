package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	storeSQLite   = "sqlite"
	storePostgres = "postgres"
)

// lab is what the experiments share: a folder that is removed at the end, the built program, and a secret.
type lab struct {
	folder string
	binary string
	secret string
	token  string // of a caller who may read and write
}

// newLab builds the program as it is released: without the race detector, which would change its timing.
func newLab(ctx context.Context) (*lab, error) {
	folder, err := os.MkdirTemp("", "reprise-crash-")
	if err != nil {
		return nil, err
	}
	l := &lab{folder: folder, binary: filepath.Join(folder, "reprise"), secret: rand.Text() + rand.Text()}
	build := exec.CommandContext(ctx, "go", "build", "-o", l.binary, "github.com/reprise-idempotency/reprise/cmd/reprise")
	if out, err := build.CombinedOutput(); err != nil {
		l.close()
		return nil, fmt.Errorf("building the program: %w\n%s", err, out)
	}
	out, err := l.command(ctx, "token", "--tenant", "crash", "--scope", "keys:read keys:write keys:body", "--ttl", "2h").Output()
	if err != nil {
		l.close()
		return nil, fmt.Errorf("making a token: %w", err)
	}
	l.token = strings.TrimSpace(string(out))
	return l, nil
}

func (l *lab) close() { os.RemoveAll(l.folder) }

// command runs the program with our settings and none of the surroundings'.
func (l *lab) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.binary, args...)
	cmd.Dir = l.folder
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "REPRISE_") && !strings.HasPrefix(variable, "PG") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "REPRISE_AUTH_HS256_SECRET="+l.secret)
	return cmd
}

// migrate makes the tables of a Postgres database.
func (l *lab) migrate(ctx context.Context, databaseURL string) error {
	if out, err := l.command(ctx, "migrate", "up", "--database-url", databaseURL).CombinedOutput(); err != nil {
		return fmt.Errorf("making the tables: %w\n%s", err, out)
	}
	return nil
}
