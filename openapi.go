// Package reprise holds what the whole program shares: the description of its API.
package reprise

import _ "embed"

// OpenAPI is openapi.yaml, as the service hands it out.
//
//go:embed openapi.yaml
var OpenAPI []byte
