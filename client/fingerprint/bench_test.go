package fingerprint

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// order1KiB is an order of about 1 KiB, as a client's serialiser writes it:
// members in the order of a struct, nested objects, some escapes.
func order1KiB() []byte {
	var b bytes.Buffer
	b.WriteString(`{"order_id":"3f0c2a9e-7d5b-4f0e-9a41-b1c6d2e8f7a0","customer":{"name":"Zo\u00eb O'Neil","email":"zoe@example.com","address":{"street":"1 \"Quay\" Road","city":"Cork","country":"IE"}},"lines":[`)
	for i := range 8 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sku":"SKU-%05d","quantity":%d,"unit_price":"%d.99","tags":["new","gift"]}`, i*977, i+1, i*10)
	}
	b.WriteString(`],"currency":"EUR","total":12345.60,"note":"` + strings.Repeat("n", 130) + `"}`)
	return b.Bytes()
}

func BenchmarkOf(b *testing.B) {
	body := order1KiB()
	sorted, _ := Canonical(body)
	for _, bench := range []struct {
		name, contentType string
		body              []byte
	}{
		{"json", "application/json", body},
		{"json in order", "application/json", sorted},
		{"raw", "application/octet-stream", body},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := Request{Method: "POST", Target: "/v1/orders", ContentType: bench.contentType, Body: bench.body}
			b.SetBytes(int64(len(bench.body)))
			b.ReportAllocs()
			for b.Loop() {
				Of(r)
			}
		})
	}
}

// BenchmarkHostile holds the documents that a quadratic step would show in.
func BenchmarkHostile(b *testing.B) {
	for name, body := range hostile(4 << 20) {
		b.Run(name, func(b *testing.B) {
			r := Request{ContentType: "application/json", Body: body}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				Of(r)
			}
		})
	}
}
