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
	"unicode"
	"unicode/utf8"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// secretFile holds the development secret, in the data folder.
const secretFile = "development-secret"

// developmentSecret reads the secret, or makes it. It is linked into place whole, so that two programs that start at
// once agree on one.
func developmentSecret(dir string) (string, error) {
	secret, err := readSecret(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := makeSecret(dir, filepath.Join(dir, secretFile)); err != nil {
		return "", fmt.Errorf("making the development secret: %w", err)
	}
	return readSecret(dir)
}

// readSecret reads the secret that is there, or fails with fs.ErrNotExist.
func readSecret(dir string) (string, error) {
	path := filepath.Join(dir, secretFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the development secret: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("the development secret may be read or written by others, who could make tokens for any tenant: "+
			"remove %s and start reprise serve again, which makes another", path)
	}
	secret := strings.TrimSpace(string(raw))
	if !isText(secret) || (auth.Config{HS256Secret: []byte(secret), TenantClaim: auth.DefaultTenantClaim}).Validate() != nil {
		return "", fmt.Errorf("the development secret is damaged (it is a line of text of at least 32 bytes): "+
			"remove %s and start reprise serve again, which makes another; tokens of the old one are then refused", path)
	}
	return secret, nil
}

// isText tells whether a person could have typed it on one line.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
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

// tokenConfig gives what a service verifies tokens with: what was configured or, on the embedded store, the development
// secret, which it makes if there is none.
func (c config) tokenConfig() (auth.Config, error) { return c.keyOr(developmentSecret) }

// signingConfig gives what tokens for a running service are made with. It makes no secret: the service would not know it.
func (c config) signingConfig() (auth.Config, error) {
	signing, err := c.keyOr(readSecret)
	if errors.Is(err, fs.ErrNotExist) {
		return signing, fmt.Errorf("there is no development secret in %s: start reprise serve first, with the same --data-dir, "+
			"or set REPRISE_AUTH_HS256_SECRET to the secret of the service", c.dataDir)
	}
	return signing, err
}

// keyOr gives the configured key, or else the development secret.
func (c config) keyOr(secret func(dir string) (string, error)) (_ auth.Config, err error) {
	if !c.auth.hasKey() {
		if c.auth.hs256Secret, err = secret(c.dataDir); err != nil {
			return auth.Config{}, err
		}
	}
	return c.auth.verifierConfig()
}
