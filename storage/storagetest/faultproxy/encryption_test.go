package faultproxy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// raw dials the proxy without a word.
func (l *lab) raw() *net.TCPConn {
	l.t.Helper()
	socket, err := net.Dial("tcp", l.proxy.Addr())
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = socket.Close() })
	_ = socket.SetDeadline(time.Now().Add(hang))
	return socket.(*net.TCPConn)
}

// askFor sends a request for encryption, and gives the answer, a bare letter.
func (l *lab) askFor(socket net.Conn, code uint32) byte {
	l.t.Helper()
	if _, err := socket.Write(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, code)); err != nil {
		l.t.Fatal(err)
	}
	answer := make([]byte, 2)
	n, err := socket.Read(answer)
	if err != nil || n != 1 {
		l.t.Fatalf("the answer to a request for encryption: got %q, %v; want one letter", answer[:n], err)
	}
	return answer[0]
}

// Ensure that a request for TLS passes with its answer, and that what follows a refusal is read as before.
func TestRefusedEncryption(t *testing.T) {
	server := pgtest.NewServer(t, pgtest.Setting("ssl", "off"))
	l := &lab{t: t}
	var err error
	if l.proxy, err = faultproxy.New(server.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	defer l.proxy.Close()
	socket := l.raw()
	if answer := l.askFor(socket, 80877103); answer != 'N' {
		t.Fatalf("got %q, want N", answer)
	}
	frontend := pgproto3.NewFrontend(socket, socket)
	frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber,
		Parameters: map[string]string{"user": "postgres"}})
	if err := frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	if m, err := frontend.Receive(); err != nil {
		t.Fatalf("got %v, %v; want a question for the password", m, err)
	}
	l.same("messages", names(l.proxy.Conns()[0], faultproxy.Frontend, "SSLRequest"), []string{"SSLRequest", "StartupMessage"})
	l.same("messages", names(l.proxy.Conns()[0], faultproxy.Backend, "SSLResponse"), []string{"SSLResponse", "Authentication"})
}

// Ensure that a request for GSSAPI passes with its answer. A server that was built with it always agrees.
func TestGSSAPI(t *testing.T) {
	l := newLab(t)
	answer := l.askFor(l.raw(), 80877104)
	conn := l.proxy.Conns()[0]
	l.same("messages", names(conn, faultproxy.Frontend, "GSSENCRequest"), []string{"GSSENCRequest"})
	l.same("messages", names(conn, faultproxy.Backend, "GSSENCResponse"), []string{"GSSENCResponse"})
	if conn.Opaque() != (answer == 'G') {
		t.Errorf("answer %q, and the connection is opaque: %v", answer, conn.Opaque())
	}
}

// Ensure that a connection that came to be encrypted passes, and is said not to be understood.
func TestEncryptedConnections(t *testing.T) {
	server := pgtest.NewServer(t)
	l := &lab{t: t, database: server.URL("postgres")}
	var err error
	if l.proxy, err = faultproxy.New(l.database); err != nil {
		t.Fatal(err)
	}
	defer l.proxy.Close()
	l.observer = l.dial(l.database, nil)
	l.encrypt()
	encrypted := strings.Replace(l.database, "sslmode=disable", "sslmode=require", 1)
	address, err := l.proxy.URL(encrypted)
	if err != nil {
		t.Fatal(err)
	}
	l.dial(address, nil) // in the clear
	armed := l.proxy.Arm(faultproxy.Fault{Message: 2})
	client := l.dial(strings.Replace(address, "sslmode=disable", "sslmode=require", 1), nil)
	var is bool
	err = client.QueryRow(l.ctx(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&is)
	if err != nil || !is {
		t.Errorf("the connection is encrypted: %v, %v", is, err)
	}
	conns := l.proxy.Conns()
	if len(conns) != 2 || conns[0].Opaque() || !conns[1].Opaque() {
		t.Fatalf("got %d connections; want one that is understood, and one that is not", len(conns))
	}
	if got := conns[1].Trace(); len(got) != 2 || got[0].Name != "SSLRequest" || got[1].Name != "SSLResponse" || got[1].Type != 'S' {
		t.Errorf("got %v; want the request and its answer", got)
	}
	select {
	case <-armed.Fired():
		t.Error("a fault happened where nothing can be read")
	default:
	}
}

// encrypt makes the server take encrypted connections, with a certificate that it writes itself: nobody else may own the
// files.
func (l *lab) encrypt() {
	l.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		l.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		l.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		l.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{"server.key": {Type: "PRIVATE KEY", Bytes: private},
		"server.crt": {Type: "CERTIFICATE", Bytes: certificate}} {
		lines := strings.ReplaceAll(strings.TrimSpace(string(pem.EncodeToMemory(block))), "\n", "','")
		l.exec(l.observer, fmt.Sprintf(`COPY (SELECT unnest(ARRAY['%s'])) TO PROGRAM 'umask 077; cat > %s'`, lines, file))
	}
	l.exec(l.observer, "ALTER SYSTEM SET ssl = on")
	l.exec(l.observer, "SELECT pg_reload_conf()")
	l.eventually("the server takes encrypted connections", func() bool { return ask[string](l, "SHOW ssl") == "on" })
}

// Ensure that the request to cancel a statement passes, as the only message of its connection.
func TestCancelRequest(t *testing.T) {
	l := newLab(t)
	conn := l.dial(l.url, nil)
	answered := begin(func() error {
		_, err := conn.Exec(l.ctx(), "SELECT pg_sleep(3600)")
		return err
	})
	l.sleeps(int(conn.PgConn().PID()))
	if err := conn.PgConn().CancelRequest(l.ctx()); err != nil {
		t.Fatal(err)
	}
	if err := wait(t, "the cancelled statement", answered); sqlState(err) != "57014" {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	var requests []faultproxy.Message
	for _, m := range l.proxy.Trace() {
		if m.Conn == 2 {
			requests = append(requests, m)
		}
	}
	if len(requests) != 1 || requests[0].Name != "CancelRequest" || requests[0].Length != 16 {
		t.Errorf("got %v; want one CancelRequest of 16 bytes", requests)
	}
}
