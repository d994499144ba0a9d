package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// secretFile holds the development secret, in the data folder.
const secretFile = "development-secret"

// developmentSecret reads the secret, or makes it. It is linked into place whole, so that two programs that start at
// once agree on one.
func developmentSecret(dir string) (string, error) {
	path := filepath.Join(dir, secretFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSecret(dir, path); err != nil {
			return "", fmt.Errorf("making the development secret: %w", err)
		}
		raw, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("reading the development secret: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("the development secret may be read or written by others, who could make tokens for any tenant: "+
			"remove %s and start again", path)
	}
	return strings.TrimSpace(string(raw)), nil
}

func makeSecret(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, secretFile+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	secret := make([]byte, 32)
	rand.Read(secret)
	_, err = fmt.Fprintln(f, hex.EncodeToString(secret))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// tokenConfig gives what tokens are verified with: what was configured or, on the embedded store, the development secret.
func (p *program) tokenConfig(c config) (auth.Config, error) {
	if c.auth.hasKey() {
		return c.auth.verifierConfig()
	}
	secret, err := developmentSecret(c.dataDir)
	if err != nil {
		return auth.Config{}, err
	}
	c.auth.hs256Secret = secret
	return c.auth.verifierConfig()
}
