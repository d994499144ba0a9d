package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// minRSABits is RFC 7518's (section 3.3).
	minRSABits = 2048
	// maxKeys is enough for any rotation. Every forged token is tried against
	// every key, and a file with more is likely a bundle of authorities whose
	// keys must not become able to sign tokens.
	maxKeys = 8
)

// keySet holds the keys by the algorithm that each may be used with. An
// algorithm that is not in it does not exist: this is what stops a token that
// says HS256 from being checked with the text of a public key.
type keySet map[string][]jwt.VerificationKey

// algorithms is the allow-list.
func (ks keySet) algorithms() []string { return slices.Sorted(maps.Keys(ks)) }

// forToken is the jwt.Keyfunc: all keys that fit the token's algorithm.
func (ks keySet) forToken(t *jwt.Token) (any, error) {
	return jwt.VerificationKeySet{Keys: ks[t.Method.Alg()]}, nil
}

func secretKeys(secret []byte) keySet {
	// Cloned, so that nobody who wipes or reuses the buffer changes the key.
	return keySet{jwt.SigningMethodHS256.Alg(): {bytes.Clone(secret)}}
}

// parsePublicKeys reads all keys of a PEM file. One bad block refuses the file:
// a key silently left out would be found only at the next rotation.
func parsePublicKeys(text []byte) (keySet, error) {
	var (
		keys   = keySet{}
		errs   []error
		blocks int
	)
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		blocks++
		if err := keys.addBlock(block); err != nil {
			errs = append(errs, fmt.Errorf("public key %d: %w", blocks, err))
		}
	}
	switch begun := bytes.Count(text, []byte("-----BEGIN ")); {
	case begun == 0:
		errs = append(errs, errors.New("the public key is not in PEM form: it starts with `-----BEGIN PUBLIC KEY-----`"))
	case begun != blocks:
		// pem.Decode skips what it cannot read.
		errs = append(errs, fmt.Errorf("only %d of %d blocks of the public key file can be read: copy the file again", blocks, begun))
	case blocks > maxKeys:
		errs = append(errs, fmt.Errorf("the public key file has %d keys, %d are allowed: keep those of your issuer", blocks, maxKeys))
	}
	return keys, errors.Join(errs...)
}

func (ks keySet) addBlock(block *pem.Block) error {
	key, err := parseBlock(block)
	if err != nil {
		return err
	}
	algorithms, err := algorithmsFor(key)
	if err != nil {
		return err
	}
	for _, alg := range algorithms {
		ks[alg] = append(ks[alg], key)
	}
	return nil
}

// parseBlock gives the public key of a block. The errors of x509 are left out:
// they describe bytes, not what to do.
func parseBlock(block *pem.Block) (any, error) {
	var (
		key any
		err error
	)
	switch {
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errors.New("this is a private key, which only the issuer should have: extract the public one with `openssl pkey -pubout`")
	case block.Type == "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case block.Type == "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case block.Type == "CERTIFICATE":
		var cert *x509.Certificate
		if cert, err = x509.ParseCertificate(block.Bytes); err == nil {
			key = cert.PublicKey
		}
	default:
		return nil, errors.New("the block is neither PUBLIC KEY, RSA PUBLIC KEY nor CERTIFICATE: give one of these")
	}
	if err != nil {
		return nil, fmt.Errorf("the %s block holds no key that can be read: copy it again", block.Type)
	}
	return key, nil
}

// algorithmsFor ties a key to the algorithms that it may be used with.
func algorithmsFor(key any) ([]string, error) {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSABits {
			return nil, fmt.Errorf("the RSA key has %d bits, needs at least %d (RFC 7518 section 3.3): make a larger one", bits, minRSABits)
		}
		return []string{jwt.SigningMethodRS256.Alg(), jwt.SigningMethodPS256.Alg()}, nil
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() {
			return nil, fmt.Errorf("the EC key is on curve %s: only P-256 (ES256) is supported", key.Params().Name)
		}
		return []string{jwt.SigningMethodES256.Alg()}, nil
	case ed25519.PublicKey:
		return []string{jwt.SigningMethodEdDSA.Alg()}, nil
	}
	return nil, errors.New("this kind of key is not supported: use RSA, EC P-256 or Ed25519")
}
