package main

import (
	"fmt"
	"net"
	"strings"
)

// greeting is what is said when the service takes connections: nothing to one that was configured.
func (p *program) greeting(c config) func(address string) error {
	return func(address string) error {
		if !c.auth.hasKey() {
			p.greet(c, address)
		}
		return nil
	}
}

// greet prints what to type next to somebody who tries the service without configuration.
func (p *program) greet(c config, address string) {
	fmt.Fprintf(p.stdout, `
Reprise serves on http://%[1]s with a development secret in %[2]s.
In another terminal, make a token, reserve a key, complete it with a response, and reserve it again:

  TOKEN=$(%[3]s token --tenant demo%[4]s)
  call() { curl -s -w ' %%{http_code}\n' "http://%[1]s/v1/keys/$1" -H "Authorization: Bearer $TOKEN" \
    -H 'Content-Type: application/json' -d "$2"; }
  KEY=order-$(date +%%s)
  RESERVED=$(call reserve '{"operation":"POST /v1/orders","key":"'$KEY'","fingerprint":"amount=100"}')
  LEASE=$(echo "$RESERVED" | sed -n 's/.*"lease":{"token":"\([0-9a-f]*\)".*/\1/p')
  call complete '{"operation":"POST /v1/orders","key":"'$KEY'","lease_token":"'$LEASE'",
    "response":{"status":201,"body":"{\"id\":1}"}}'
  call reserve '{"operation":"POST /v1/orders","key":"'$KEY'","fingerprint":"amount=100"}'

The last answer has "outcome":"replay" and the response that you completed with.
%[3]s try%[4]s explains it step by step; the reference is at http://%[1]s/docs.

`, dialable(address), c.dataDir, p.name, c.dataDirFlag())
}

// dialable gives an address that a caller on this machine can use: one that stands for all addresses is none.
func dialable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// dataDirFlag repeats the data folder where it is not the default one.
func (c config) dataDirFlag() string {
	if c.dataDir == defaultConfig().dataDir {
		return ""
	}
	return fmt.Sprintf(" --data-dir '%s'", strings.ReplaceAll(c.dataDir, "'", `'\''`))
}
