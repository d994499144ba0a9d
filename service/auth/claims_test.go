package auth

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Ensure the tenant comes from the exact claim, as a usable string, or not at all.
func TestTenant(t *testing.T) {
	const no = "token has no usable tenant_id claim: it "
	v, _ := verifierAt(t, Config{HS256Secret: testSecret})
	for name, tt := range map[string]struct{ members, tenant, reason string }{
		"plain":                     {`"tenant_id":"acme"`, "acme", ""},
		"as it is":                  {`"tenant_id":" Acme/é%2F "`, " Acme/é%2F ", ""},
		"escaped":                   {`"tenant_id":"\u0061cme \ud83d\ude00 \\ud800"`, `acme 😀 \ud800`, ""},
		"escaped name":              {`"tenant\u005fid":"acme"`, "acme", ""},
		"200 bytes":                 {`"tenant_id":"` + strings.Repeat("é", 100) + `"`, strings.Repeat("é", 100), ""},
		"201 bytes":                 {`"tenant_id":"` + strings.Repeat("é", 100) + `a"`, "", no + "is too long"},
		"missing":                   {`"sub":"a"`, "", no + "is missing"},
		"empty":                     {`"tenant_id":""`, "", no + "is blank"},
		"spaces":                    {`"tenant_id":" \t\u00a0\u2003"`, "", no + "is blank"},
		"zero-width":                {`"tenant_id":"\u200b\u2060"`, "", no + "is blank"},
		"null":                      {`"tenant_id":null`, "", no + "is not a string"},
		"number":                    {`"tenant_id":7`, "", no + "is not a string"},
		"true":                      {`"tenant_id":true`, "", no + "is not a string"},
		"list":                      {`"tenant_id":["acme"]`, "", no + "is not a string"},
		"object":                    {`"tenant_id":{"id":"acme"}`, "", no + "is not a string"},
		"NUL":                       {`"tenant_id":"a\u0000cme"`, "", no + "contains a control character"},
		"trailing NUL":              {`"tenant_id":"acme\u0000"`, "", no + "contains a control character"},
		"line break":                {`"tenant_id":"acme\n"`, "", no + "contains a control character"},
		"DEL":                       {`"tenant_id":"acme\u007f"`, "", no + "contains a control character"},
		"C1 control":                {`"tenant_id":"acme\u0085"`, "", no + "contains a control character"},
		"other case after":          {`"tenant_id":"acme","TENANT_ID":"evil"`, "acme", ""},
		"other case before":         {`"Tenant_Id":"evil","tenant_id":"acme"`, "acme", ""},
		"long s, folds to s":        {`"tenant_id":"acme","\u017fub":"evil"`, "acme", ""},
		"other case alone":          {`"TENANT_ID":"evil"`, "", no + "is missing"},
		"nested":                    {`"x":{"tenant_id":"evil"}`, "", no + "is missing"},
		"other name":                {`"tenant":"evil","tid":"evil"`, "", no + "is missing"},
		"twice":                     {`"tenant_id":"acme","tenant_id":"evil"`, "", "token's payload has a name twice in one object"},
		"twice the same":            {`"tenant_id":"acme","tenant_id":"acme"`, "", "token's payload has a name twice in one object"},
		"twice, escaped":            {`"tenant_id":"acme","tenant\u005fid":"evil"`, "", "token's payload has a name twice in one object"},
		"something else twice":      {`"tenant_id":"acme","x":1,"x":2`, "", "token's payload has a name twice in one object"},
		"twice inside":              {`"tenant_id":"acme","x":[{"a":1,"a":2}]`, "", "token's payload has a name twice in one object"},
		"high half":                 {`"tenant_id":"a\ud800"`, "", "token's payload has half a surrogate pair"},
		"low half":                  {`"tenant_id":"a\udc00"`, "", "token's payload has half a surrogate pair"},
		"halves swapped":            {`"tenant_id":"\udc00\ud800"`, "", "token's payload has half a surrogate pair"},
		"half before text":          {`"tenant_id":"\ud800acme-inc"`, "", "token's payload has half a surrogate pair"},
		"two high halves":           {`"tenant_id":"\ud800\ud800\udc00"`, "", "token's payload has half a surrogate pair"},
		"half in a name":            {`"tenant_id":"acme","\uDFFF":1`, "", "token's payload has half a surrogate pair"},
		"half after backslash":      {`"tenant_id":"\\\ud800"`, "", "token's payload has half a surrogate pair"},
		"raw surrogate":             {"\"tenant_id\":\"\xed\xa0\x80\"", "", "token's payload is not valid UTF-8"},
		"not UTF-8":                 {"\"tenant_id\":\"a\xff\"", "", "token's payload is not valid UTF-8"},
		"trailing data in payload":  {`"tenant_id":"acme"}{"tenant_id":"evil"`, "", "token is malformed"},
		"raw NUL":                   {"\"tenant_id\":\"a\x00\"", "", "token is malformed"},
		"number too large for us":   {`"tenant_id":"acme","x":1e999`, "acme", ""},
		"subject is not a string":   {`"tenant_id":"acme","sub":7`, "", "token's sub claim is not a string"},
		"subject with NUL":          {`"tenant_id":"acme","sub":"a\u0000"`, "", "token's sub claim contains a control character"},
		"subject of 513 bytes":      {`"tenant_id":"acme","sub":"` + strings.Repeat("s", 513) + `"`, "", "token's sub claim is too long"},
		"subject of 512 bytes":      {`"tenant_id":"acme","sub":"` + strings.Repeat("s", 512) + `"`, "acme", ""},
		"subject empty, as missing": {`"tenant_id":"acme","sub":""`, "acme", ""},
	} {
		t.Run(name, func(t *testing.T) {
			token := hs256Text(fmt.Sprintf(`{"exp":%d,%s}`, noon.Add(time.Hour).Unix(), tt.members))
			if tt.reason != "" {
				refused(t, v, token, tt.reason)
				return
			}
			if got := accepted(t, v, token).Tenant(); got != tt.tenant {
				t.Errorf("tenant = %q, want %q", got, tt.tenant)
			}
		})
	}
}

// Ensure a payload that is no object is refused and not taken for an empty one.
func TestPayloadIsAnObject(t *testing.T) {
	v, _ := verifierAt(t, Config{HS256Secret: testSecret})
	for payload, reason := range map[string]string{
		`null`:   "token has no exp claim",
		`{}`:     "token has no exp claim",
		`[]`:     "token's payload is not a JSON object",
		`"acme"`: "token's payload is not a JSON object",
		`7`:      "token's payload is not a JSON object",
		`{"a":}`: "token is malformed",
		`{a:1}`:  "token is malformed",
		" ":      "token is malformed",
	} {
		t.Run(payload, func(t *testing.T) { refused(t, v, hs256Text(payload), reason) })
	}
}

// Ensure another configured claim holds the tenant, and then only that one.
func TestTenantClaimIsConfigurable(t *testing.T) {
	v, _ := verifierAt(t, Config{HS256Secret: testSecret, TenantClaim: "https://example.com/team"})
	token := signed(jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"https://example.com/team": "blue", "tenant_id": "evil"})
	if got := accepted(t, v, token).Tenant(); got != "blue" {
		t.Errorf("tenant = %q, want blue", got)
	}
	refused(t, v, signed(jwt.SigningMethodHS256, testSecret, nil),
		"token has no usable https://example.com/team claim: it is missing")
}

// Ensure exp is required, and exp, nbf and iat hold with 30 s leeway, to the second.
func TestDates(t *testing.T) {
	const (
		expired = "token is expired"
		early   = "token is not valid yet"
		future  = "token was issued in the future"
		noDate  = " claim is not a date between 1970 and 9999"
	)
	at := func(d time.Duration) int64 { return noon.Add(d).Unix() }
	v, _ := verifierAt(t, Config{HS256Secret: testSecret})
	for name, tt := range map[string]struct {
		over   string
		reason string
	}{
		"exp now":           {fmt.Sprintf(`"exp":%d`, at(0)), ""},
		"exp 29 s ago":      {fmt.Sprintf(`"exp":%d`, at(-29*time.Second)), ""},
		"exp 29.5 s ago":    {fmt.Sprintf(`"exp":%d.5`, at(-30*time.Second)), ""},
		"exp 30 s ago":      {fmt.Sprintf(`"exp":%d`, at(-30*time.Second)), expired},
		"exp long ago":      {`"exp":1`, expired},
		"exp zero":          {`"exp":0`, expired},
		"exp as 1e10":       {`"exp":1e10`, ""},
		"exp year 9999":     {`"exp":253402300799`, ""},
		"exp year 10000":    {`"exp":253402300800`, "token's exp" + noDate},
		"exp 1e300":         {`"exp":1e300`, "token's exp" + noDate},
		"exp 1e999":         {`"exp":1e999`, "token's exp" + noDate},
		"exp negative":      {`"exp":-1`, "token's exp" + noDate},
		"exp missing":       {`"x":1`, "token has no exp claim"},
		"exp other case":    {fmt.Sprintf(`"EXP":%d`, at(time.Hour)), "token has no exp claim"},
		"exp null":          {`"exp":null`, "token's exp claim is not a number"},
		"exp string":        {fmt.Sprintf(`"exp":"%d"`, at(time.Hour)), "token's exp claim is not a number"},
		"exp list":          {fmt.Sprintf(`"exp":[%d]`, at(time.Hour)), "token's exp claim is not a number"},
		"nbf in 20 s":       {fmt.Sprintf(`"exp":%d,"nbf":%d`, at(time.Hour), at(20*time.Second)), ""},
		"nbf in 30 s":       {fmt.Sprintf(`"exp":%d,"nbf":%d`, at(time.Hour), at(30*time.Second)), ""},
		"nbf in 31 s":       {fmt.Sprintf(`"exp":%d,"nbf":%d`, at(time.Hour), at(31*time.Second)), early},
		"nbf 1e300":         {fmt.Sprintf(`"exp":%d,"nbf":1e300`, at(time.Hour)), "token's nbf" + noDate},
		"nbf zero":          {fmt.Sprintf(`"exp":%d,"nbf":0`, at(time.Hour)), ""},
		"nbf string":        {fmt.Sprintf(`"exp":%d,"nbf":"0"`, at(time.Hour)), "token's nbf claim is not a number"},
		"nbf null":          {fmt.Sprintf(`"exp":%d,"nbf":null`, at(time.Hour)), "token's nbf claim is not a number"},
		"iat in 30 s":       {fmt.Sprintf(`"exp":%d,"iat":%d`, at(time.Hour), at(30*time.Second)), ""},
		"iat in 300 s":      {fmt.Sprintf(`"exp":%d,"iat":%d`, at(time.Hour), at(300*time.Second)), future},
		"iat long ago":      {fmt.Sprintf(`"exp":%d,"iat":1`, at(time.Hour)), ""},
		"iat string":        {fmt.Sprintf(`"exp":%d,"iat":"x"`, at(time.Hour)), "token's iat claim is not a number"},
		"expired and early": {fmt.Sprintf(`"exp":1,"nbf":%d`, at(time.Hour)), expired},
	} {
		t.Run(name, func(t *testing.T) {
			token := hs256Text(`{"tenant_id":"acme",` + tt.over + `}`)
			if tt.reason == "" {
				accepted(t, v, token)
				return
			}
			refused(t, v, token, tt.reason)
		})
	}
}

// Ensure a configured issuer and audience are required and compared exactly, and
// that aud may be a list.
func TestIssuerAndAudience(t *testing.T) {
	const (
		otherAud, noAud = "token is for another audience", "token has no usable aud claim"
		otherIss, noIss = "token is from another issuer", "token has no usable iss claim"
		empty           = "token has an empty iss or aud claim"
	)
	v, _ := verifierAt(t, Config{PublicKeyPEM: publicPEM(ecKey()), Issuer: "https://id.example/", Audience: "idem"})
	for name, tt := range map[string]struct {
		iss, aud any
		reason   string
	}{
		"both":              {"https://id.example/", "idem", ""},
		"list":              {"https://id.example/", []string{"x", "idem"}, ""},
		"list of one":       {"https://id.example/", []string{"idem"}, ""},
		"aud missing":       {"https://id.example/", absent, noAud},
		"aud null":          {"https://id.example/", nil, noAud},
		"aud number":        {"https://id.example/", 7, noAud},
		"aud object":        {"https://id.example/", map[string]any{"idem": "idem"}, noAud},
		"aud list, number":  {"https://id.example/", []any{"idem", 7}, noAud},
		"aud list, list":    {"https://id.example/", []any{[]any{"idem"}}, noAud},
		"aud empty list":    {"https://id.example/", []string{}, empty},
		"aud empty":         {"https://id.example/", "", empty},
		"aud longer":        {"https://id.example/", "idem2", otherAud},
		"aud shorter":       {"https://id.example/", "ide", otherAud},
		"aud other case":    {"https://id.example/", "Idem", otherAud},
		"aud padded":        {"https://id.example/", "idem ", otherAud},
		"aud in one string": {"https://id.example/", "x idem", otherAud},
		"aud list, others":  {"https://id.example/", []string{"x", "idem2"}, otherAud},
		"iss missing":       {absent, "idem", noIss},
		"iss null":          {nil, "idem", noIss},
		"iss list":          {[]string{"https://id.example/"}, "idem", noIss},
		"iss empty":         {"", "idem", empty},
		"iss without slash": {"https://id.example", "idem", otherIss},
		"iss other case":    {"https://ID.example/", "idem", otherIss},
	} {
		t.Run(name, func(t *testing.T) {
			token := signed(jwt.SigningMethodES256, ecKey(), jwt.MapClaims{"iss": tt.iss, "aud": tt.aud})
			if tt.reason == "" {
				accepted(t, v, token)
				return
			}
			refused(t, v, token, tt.reason)
		})
	}
	t.Run("not configured", func(t *testing.T) {
		open, _ := verifierAt(t, Config{PublicKeyPEM: publicPEM(ecKey())})
		accepted(t, open, signed(jwt.SigningMethodES256, ecKey(), jwt.MapClaims{"iss": 7, "aud": "x"}))
	})
}

// Ensure scopes are read from scope or scp, unknown ones left out, and claims of a
// wrong type refused rather than read as no scopes.
func TestScopes(t *testing.T) {
	const badScp = "token's scp claim is neither a string nor a list of strings"
	v, _ := verifierAt(t, Config{HS256Secret: testSecret})
	for name, tt := range map[string]struct {
		scope, scp any
		want       []Scope
		reason     string
	}{
		"scope":            {"keys:write keys:read", absent, []Scope{KeysWrite, KeysRead}, ""},
		"scp list":         {absent, []string{"keys:body", "keys:admin"}, []Scope{KeysBody, KeysAdmin}, ""},
		"scp string":       {absent, "keys:read ops", []Scope{KeysRead, Ops}, ""},
		"neither":          {absent, absent, nil, ""},
		"empty":            {"", absent, nil, ""},
		"unknown":          {"openid keys:write keys:* keys", absent, []Scope{KeysWrite}, ""},
		"repeated, spaces": {" keys:read  keys:read ", absent, []Scope{KeysRead}, ""},
		"other case":       {"KEYS:WRITE Ops", absent, nil, ""},
		"tab":              {"keys:read\tkeys:write", absent, nil, ""},
		"comma":            {"keys:read,keys:write", absent, nil, ""},
		"list, one string": {absent, []string{"keys:read keys:write"}, nil, ""},
		"scope wins":       {"keys:read", []string{"keys:admin"}, []Scope{KeysRead}, ""},
		"empty scope wins": {"", []string{"keys:admin"}, nil, ""},
		"scope list":       {[]string{"keys:read"}, absent, nil, "token's scope claim is not a string"},
		"scope null":       {nil, absent, nil, "token's scope claim is not a string"},
		"scope number":     {7, absent, nil, "token's scope claim is not a string"},
		"scp null":         {absent, nil, nil, badScp},
		"scp object":       {absent, map[string]any{}, nil, badScp},
		"scp with number":  {absent, []any{"keys:read", 7}, nil, badScp},
		"scope, bad scp":   {"keys:read", 7, nil, badScp},
	} {
		t.Run(name, func(t *testing.T) {
			token := signed(jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"scope": tt.scope, "scp": tt.scp})
			if tt.reason != "" {
				refused(t, v, token, tt.reason)
				return
			}
			if got := accepted(t, v, token).Scopes(); !slices.Equal(got, tt.want) {
				t.Errorf("scopes = %q, want %q", got, tt.want)
			}
		})
	}
}

// Ensure what a principal says is what the token says.
func TestPrincipalOfAToken(t *testing.T) {
	v, _ := verifierAt(t, Config{HS256Secret: testSecret})
	caller := accepted(t, v, signed(jwt.SigningMethodHS256, testSecret, nil))
	if caller.Tenant() != "acme" || caller.Subject() != "orders" || !caller.ExpiresAt().Equal(noon.Add(time.Hour)) {
		t.Errorf("tenant, subject, expiry = %q, %q, %s", caller.Tenant(), caller.Subject(), caller.ExpiresAt())
	}
	if !caller.Has(KeysWrite) || !caller.Has(KeysRead) || caller.Has(KeysBody) || caller.Has(Ops) || caller.Has("nonsense") {
		t.Errorf("scopes = %q, and Has disagrees", caller.Scopes())
	}
}
