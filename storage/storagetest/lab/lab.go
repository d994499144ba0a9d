// Package lab is the laboratory of the programs that try the whole service: the built program, a Postgres that writes as
// production does, and the service as a process.
//
//	l, err := lab.New(ctx, "crash")
//	...
//	defer l.Close()
//	return lab.AsTest(func(tb testing.TB) error {
//		cluster, err := l.Postgres(ctx, tb)
//		...
//		service, err := lab.Start(l.Command(ctx, "serve", "--listen", "127.0.0.1:0", "--database-url", cluster.URL("postgres")), use)
//		...
//		return service.Stop()
//	})
//
// It needs the go command, and runs in a folder of this repository.
package lab

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// Lab is the built program with a secret, in a folder of its own.
type Lab struct {
	Folder string // for whatever the experiments write; it is removed at the end

	binary string
	secret string
}

// New builds the program as it is released: without the race detector, which would change its timing. The name is for
// those who look at the temporary folder.
func New(ctx context.Context, name string) (*Lab, error) {
	folder, err := os.MkdirTemp("", "reprise-"+name+"-")
	if err != nil {
		return nil, err
	}
	l := &Lab{Folder: folder, binary: filepath.Join(folder, "reprise"), secret: rand.Text() + rand.Text()}
	build := exec.CommandContext(ctx, "go", "build", "-o", l.binary, "github.com/reprise-idempotency/reprise/cmd/reprise")
	if out, err := build.CombinedOutput(); err != nil {
		l.Close()
		return nil, fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return l, nil
}

// Close removes the folder. Processes are ended by those who started them, before.
func (l *Lab) Close() { os.RemoveAll(l.Folder) }

// Command runs the program with our settings and none of the surroundings'. It is killed when ctx ends.
func (l *Lab) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.binary, args...)
	cmd.Dir = l.Folder
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "REPRISE_") && !strings.HasPrefix(variable, "PG") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "REPRISE_AUTH_HS256_SECRET="+l.secret)
	return cmd
}

// Token is that of a caller who may read and write keys with their bodies, and has the scopes in more. It is good for two
// hours.
func (l *Lab) Token(ctx context.Context, tenant string, more ...string) (string, error) {
	scopes := strings.Join(append([]string{"keys:read", "keys:write", "keys:body"}, more...), " ")
	out, err := l.Command(ctx, "token", "--tenant", tenant, "--scope", scopes, "--ttl", "2h").Output()
	if err != nil {
		return "", fmt.Errorf("making a token: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Migrate makes the tables of a database.
func (l *Lab) Migrate(ctx context.Context, databaseURL string) error {
	if out, err := l.Command(ctx, "migrate", "up", "--database-url", databaseURL).CombinedOutput(); err != nil {
		return fmt.Errorf("making the tables: %w\n%s", err, out)
	}
	return nil
}

// Postgres starts a server that really writes to the disk, as production does, with the tables in its database
// "postgres". It is removed with tb, for which see [AsTest].
func (l *Lab) Postgres(ctx context.Context, tb testing.TB, more ...pgtest.Option) (*pgtest.Server, error) {
	durable := []pgtest.Option{pgtest.Setting("fsync", "on"), pgtest.Setting("full_page_writes", "on")}
	cluster := pgtest.NewServer(tb, slices.Concat(durable, more)...)
	return cluster, l.Migrate(ctx, cluster.URL("postgres"))
}
