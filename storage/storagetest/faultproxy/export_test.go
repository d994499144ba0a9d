package faultproxy

import "io"

// InPieces makes what both sides send come in otherwise than it does, on connections that are made from now on.
func (p *Proxy) InPieces(pieces func(io.Reader) io.Reader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pieces = pieces
}
