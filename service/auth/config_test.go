package auth

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Ensure every mistake in a configuration is named, each with its remedy, and all
// of them at once.
func TestConfigMistakes(t *testing.T) {
	good := Config{HS256Secret: testSecret}
	change := func(f func(*Config)) Config { c := good; f(&c); return c }
	for name, tt := range map[string]struct {
		cfg  Config
		want []string
	}{
		"good":              {good, nil},
		"everything":        {Config{PublicKeyPEM: publicPEM(ecKey()), Issuer: "https://i", Audience: "a", TenantClaim: "sub", Leeway: time.Second}, nil},
		"no key":            {Config{}, []string{"neither an HS256 secret nor a public key"}},
		"two keys":          {change(func(c *Config) { c.PublicKeyPEM = publicPEM(ecKey()) }), []string{"both an HS256 secret and a public key"}},
		"short secret":      {change(func(c *Config) { c.HS256Secret = testSecret[:31] }), []string{"shorter than 32 bytes"}},
		"blank secret":      {change(func(c *Config) { c.HS256Secret = []byte(strings.Repeat(" ", 40)) }), []string{"blank"}},
		"PEM as secret":     {change(func(c *Config) { c.HS256Secret = publicPEM(ecKey()) }), []string{"configure it as the public key"}},
		"blank issuer":      {change(func(c *Config) { c.Issuer = " " }), []string{"issuer is blank"}},
		"blank audience":    {change(func(c *Config) { c.Audience = "\t\n" }), []string{"audience is blank"}},
		"padded audience":   {change(func(c *Config) { c.Audience = "idem\n" }), []string{"audience has spaces around"}},
		"NUL in issuer":     {change(func(c *Config) { c.Issuer = "a\x00b" }), []string{"issuer has control characters"}},
		"long issuer":       {change(func(c *Config) { c.Issuer = strings.Repeat("i", 501) }), []string{"issuer is longer than 500 bytes"}},
		"blank claim":       {change(func(c *Config) { c.TenantClaim = " " }), []string{"tenant claim is blank"}},
		"claim in use":      {change(func(c *Config) { c.TenantClaim = "aud" }), []string{"tenant claim cannot be aud"}},
		"negative leeway":   {change(func(c *Config) { c.Leeway = -1 }), []string{"leeway is -1ns"}},
		"very large leeway": {change(func(c *Config) { c.Leeway = time.Hour }), []string{"leeway is 1h0m0s"}},
		"all at once": {
			Config{HS256Secret: []byte("x"), PublicKeyPEM: []byte("y"), Issuer: " ", Audience: " a", TenantClaim: "exp", Leeway: -1},
			[]string{"both", "shorter", "not in PEM form", "issuer", "audience", "tenant claim", "leeway"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.cfg.Validate()
			if _, verr := NewVerifier(tt.cfg); (verr == nil) != (err == nil) {
				t.Errorf("NewVerifier says %v, Validate says %v", verr, err)
			}
			mustSay(t, err, tt.want)
		})
	}
}

// mustSay ensures that err holds these sentences, one a line, and no more.
func mustSay(t *testing.T, err error, want []string) {
	t.Helper()
	if len(want) == 0 {
		if err != nil {
			t.Errorf("mistakes = %v, want none", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("no mistake found, want %q", want)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Errorf("mistakes = %q, want %d", lines, len(want))
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("mistakes = %q, want one with %q", lines, w)
		}
	}
}

// Ensure a key file is read in each of its forms, and that what must not be in it
// stops the start with a sentence that helps.
func TestKeyFiles(t *testing.T) {
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	small := must(rsa.GenerateKey(rand.Reader, 1024))
	p384 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	x25519 := must(ecdh.X25519().GenerateKey(rand.Reader))
	for name, tt := range map[string]struct {
		file []byte
		want []string
	}{
		"PKIX":               {publicPEM(rsaKey()), nil},
		"PKCS #1":            {block("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey)), nil},
		"certificate":        {certificate(rsaKey()), nil},
		"text around":        {slices.Concat([]byte("subject=CN=id\n"), publicPEM(rsaKey()), []byte("\nend\n")), nil},
		"8 keys":             {slices.Repeat(publicPEM(rsaKey()), 8), nil},
		"9 keys":             {slices.Repeat(publicPEM(rsaKey()), 9), []string{"9 keys, 8 are allowed"}},
		"1024 bits":          {publicPEM(small), []string{"1024 bits, needs at least 2048"}},
		"P-384":              {publicPEM(p384), []string{"on curve P-384: only P-256"}},
		"X25519":             {block("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(x25519.PublicKey()))), []string{"not supported: use RSA, EC P-256 or Ed25519"}},
		"private PKCS #8":    {block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(rsaKey()))), []string{"this is a private key"}},
		"private PKCS #1":    {block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey())), []string{"this is a private key"}},
		"private SEC 1":      {block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(ecKey()))), []string{"this is a private key"}},
		"private, encrypted": {block("ENCRYPTED PRIVATE KEY", []byte("x")), []string{"this is a private key"}},
		"private, OpenSSH":   {block("OPENSSH PRIVATE KEY", []byte("x")), []string{"this is a private key"}},
		"public and private": {slices.Concat(publicPEM(rsaKey()), block("PRIVATE KEY", nil)), []string{"public key 2: this is a private key"}},
		"request":            {block("CERTIFICATE REQUEST", nil), []string{"neither PUBLIC KEY"}},
		"empty block":        {block("PUBLIC KEY", nil), []string{"holds no key that can be read"}},
		"bad certificate":    {block("CERTIFICATE", []byte("x")), []string{"holds no key that can be read"}},
		"kinds confused":     {block("RSA PUBLIC KEY", must(x509.MarshalPKIXPublicKey(rsaKey().Public()))), []string{"holds no key that can be read"}},
		"cut off":            {publicPEM(rsaKey())[:200], []string{"only 0 of 1 blocks"}},
		"second cut off":     {slices.Concat(publicPEM(rsaKey()), publicPEM(ecKey())[:60]), []string{"only 1 of 2 blocks"}},
		"DER":                {must(x509.MarshalPKIXPublicKey(rsaKey().Public())), []string{"not in PEM form"}},
		"JWKS":               {[]byte(`{"keys":[]}`), []string{"not in PEM form"}},
		"two mistakes":       {slices.Concat(publicPEM(small), publicPEM(p384)), []string{"public key 1: the RSA key", "public key 2: the EC key"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{PublicKeyPEM: tt.file}
			mustSay(t, cfg.Validate(), tt.want)
			if len(tt.want) == 0 {
				v, _ := verifierAt(t, cfg)
				accepted(t, v, signed(jwt.SigningMethodRS256, rsaKey(), nil))
			}
		})
	}
}

func certificate(key crypto.Signer) []byte {
	// Long over: the dates of a certificate do not count.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: noon.AddDate(-20, 0, 0)}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Ensure the secret shows in no usual way of printing a configuration, nor in
// what is said about it.
func TestSecretIsNotShown(t *testing.T) {
	cfg := Config{HS256Secret: []byte("hunter2hunter2hunter2hunter2"), Audience: " "}
	shown := []string{
		fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg), fmt.Sprintf("%+v", &cfg),
		string(must(json.Marshal(cfg))), cfg.Validate().Error(),
	}
	for _, text := range shown {
		for _, form := range []string{"hunter2", fmt.Sprintf("%d", 'h'), "0x68", "aHVudGVy"} {
			if strings.Contains(text, form) {
				t.Errorf("%q shows the secret", text)
			}
		}
	}
}

// Ensure a change of the caller's buffer after the start changes no key.
func TestSecretIsCopied(t *testing.T) {
	secret := slices.Clone(testSecret)
	v, _ := verifierAt(t, Config{HS256Secret: secret})
	clear(secret)
	accepted(t, v, signed(jwt.SigningMethodHS256, testSecret, nil))
	refused(t, v, signed(jwt.SigningMethodHS256, secret, nil), badSignature)
}
