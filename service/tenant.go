package service

import "github.com/reprise-idempotency/reprise/service/auth"

// tenantFor gives the tenant whose keys a call is about: the caller's own, or another one's for the scope ops.
func tenantFor(p auth.Principal, asked *string) (string, error) {
	switch {
	case asked == nil || *asked == p.Tenant():
		return p.Tenant(), nil
	case !p.Has(auth.Ops):
		return "", &Error{Code: CodeForbidden, Detail: "tenant: another tenant than the token's needs the scope " + string(auth.Ops)}
	}
	return *asked, text("tenant", *asked, 1, maxTenant)
}

// maxTenant is what a token's tenant may have.
const maxTenant = 200
