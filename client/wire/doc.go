// Package wire holds the JSON shapes of the Reprise HTTP API, version 1, as both the service and the SDK use them. It
// imports nothing. The reference is openapi.yaml.
//
// Durations are text such as "30s" (^[0-9]+(ms|s|m|h)$). Times are RFC 3339 in UTC with microseconds. A pointer that
// is nil means that the field is absent, which for every optional field is the same as null.
package wire
