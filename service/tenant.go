package service

import "github.com/reprise-idempotency/reprise/service/auth"

// tenantFor gives the tenant whose keys a call is about: the caller's own, or another one's for the scope ops.
func tenantFor(p auth.Principal, asked *string) (string, error) {
	if asked == nil || *asked == p.Tenant() {
		return p.Tenant(), nil
	}
	if err := auth.CheckTenant(*asked); err != nil {
		return "", Invalid("tenant", "%v", err)
	}
	if !p.Has(auth.Ops) {
		return "", &Error{Code: CodeForbidden, Detail: "tenant: another tenant than the token's needs the scope " + string(auth.Ops)}
	}
	return *asked, nil
}
