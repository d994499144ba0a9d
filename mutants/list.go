package main

// Where the tests are that must notice.
var (
	rules    = []string{"./storage/life"}
	sqlite   = []string{"./storage/sqlite"}
	postgres = []string{"./storage/postgres"}
	loop     = []string{"./storage/cas"}
	service  = []string{"./service", "./service/httpapi"}
	api      = []string{"./service/httpapi"}
	waiting  = []string{"./service/waiting"}
	sweeping = []string{"./service/sweeper"}
)

// mutants are the known ways to break a promise. Each stands for a fault that somebody's idempotency layer really had.
var mutants = []mutant{
	// Who owns a record.
	{"complete: token not compared", "storage/life/holder.go", "	case r == nil || !r.Token.Equal(c.Token):\n		return storage.OutcomeLeaseLost, nil\n	case owns(r, c.Token):\n		return storage.OutcomeSettled, settle", "	case r == nil:\n		return storage.OutcomeLeaseLost, nil\n	case r.State == storage.InProgress:\n		return storage.OutcomeSettled, settle", rules},
	{"release: token not compared", "storage/life/holder.go", "	case r == nil || !r.Token.Equal(c.Token):\n		return storage.OutcomeLeaseLost, nil\n	case owns(r, c.Token):\n		return storage.OutcomeReleased", "	case r == nil:\n		return storage.OutcomeLeaseLost, nil\n	case r.State == storage.InProgress:\n		return storage.OutcomeReleased", rules},
	{"heartbeat: token not compared", "storage/life/holder.go", "if r == nil || !owns(r, c.Token) {", "if r == nil || r.State != storage.InProgress {", rules},
	{"heartbeat: a settled record is renewed", "storage/life/life.go", "return r.State == storage.InProgress && r.Token.Equal(t)", "return r.Token.Equal(t)", rules},
	{"token: only the first half is compared", "storage/token.go", "subtle.ConstantTimeCompare(t[:], o[:]) == 1", "subtle.ConstantTimeCompare(t[8:], o[8:]) == 1", append(rules, sqlite...)},

	// Time.
	{"lease: not over at its very end", "storage/record.go", "now.Before(r.LeaseExpiresAt) {", "!now.After(r.LeaseExpiresAt) {", rules},
	{"record: not over at its very end", "storage/record.go", "return ok && !now.Before(at)", "return ok && now.After(at)", rules},
	{"record: held ones expire too", "storage/record.go", "if r.State == InProgress && r.OnLapse == Hold {\n		return time.Time{}, false", "if false {\n		return time.Time{}, false", rules},
	{"retention: counted from the lease's end after a settlement", "storage/life/holder.go", "	endsAt(next, now.Add(next.Retention))\n	return next\n}\n\nfunc release", "	endsAt(next, r.LeaseExpiresAt.Add(next.Retention))\n	return next\n}\n\nfunc release", rules},
	{"lease: a heartbeat may shorten it", "storage/life/holder.go", `later := end.After(r.LeaseExpiresAt)`, `later := !end.IsZero()`, rules},
	{"sweep hour: rounded down", "storage/record.go", "	if us%hour > 0 {\n		h++\n	}\n", "", rules},
	{"postgres: end of the record not checked", "storage/postgres/statements.go", " AND now() < c.valid_before", " AND c.valid_before IS NOT NULL", postgres},
	{"sqlite: end of the record not checked", "storage/sqlite/save.go", "if !c.ValidBefore.IsZero() && !now.Before(c.ValidBefore) {", "if !c.ValidBefore.IsZero() && now.IsZero() {", sqlite},
	{"loop: changes outlive the record", "storage/cas/cas.go", `			change.ValidBefore = end`, `			_ = end`, loop},
	{"loop: a decision may be old when it is written", "storage/cas/cas.go", `ValidBefore: now.Add(decisionLife)`, `ValidBefore: now.Add(1000 * decisionLife)`, loop},
	{"reserve: half a lease is not asked for", "service/reserve.go", "time.Until(a.GoodUntil) < a.Record.Lease/2", "time.Until(a.GoodUntil) < a.Record.Lease*-1000", service},

	// Acquisitions.
	{"fence: not raised", "storage/life/reserve.go", `next.Fence = max(r.Fence+1, now.UnixMicro())`, `next.Fence = max(r.Fence, now.UnixMicro()-now.UnixMicro()%60_000_000)`, rules},
	{"fence: the old one is forgotten", "storage/life/reserve.go", `next.Fence = max(r.Fence+1, now.UnixMicro())`, `next.Fence = now.UnixMicro()`, rules},
	{"reserve: fingerprint only compared once it is settled", "storage/life/reserve.go", "case !fits(present, c.Fingerprint):", "case present.State.Settled() && !fits(present, c.Fingerprint):", rules},
	{"reserve: fingerprint not compared on a takeover", "storage/life/reserve.go", "case !fits(present, c.Fingerprint):", "case state != storage.Abandoned && !fits(present, c.Fingerprint):", rules},
	{"reserve: attempt_id ignored after a lapse", "storage/life/reserve.go", "case present.State == storage.InProgress && repeatsLatest(present, c):", "case state == storage.InProgress && repeatsLatest(present, c):", rules},
	{"reserve: no attempt_id counts as the same one", "storage/life/reserve.go", "return c.AttemptID != \"\" && c.AttemptID == r.AttemptID\n", "return c.AttemptID == r.AttemptID\n", rules},
	{"reserve: a released record is taken by its stray duplicate", "storage/life/reserve.go", "(state == storage.Abandoned || state == storage.Released) && isStray", "state == storage.Abandoned && isStray", rules},
	{"reserve: three attempt ids are kept, not four", "storage/record.go", "const KeptAttemptIDs = 4", "const KeptAttemptIDs = 3", append(rules, sqlite...)},
	{"reserve: an uncertain record is taken over", "storage/life/reserve.go", "	case state == storage.Uncertain:\n		return storage.OutcomeUncertain, nil\n	case state == storage.Abandoned, ", "	case state == storage.Uncertain, state == storage.Abandoned, ", rules},
	{"reserve: takeover not marked", "storage/life/reserve.go", "next.Takeover = takeover", "next.Takeover = false", rules},
	{"reserve: a dropped body is replayed as none", "storage/life/reserve.go", "case present.Response != nil && present.Response.BodyDropped:", "case false:", rules},
	{"reserve: an expired row keeps its old response", "storage/life/reserve.go", `blank.Fence, blank.Revision = stored.Fence, stored.Revision`, `*blank = *stored
		blank.Attempt = 0`, rules},

	// Settlements.
	{"complete: settled hash ignored", "storage/life/holder.go", "r.State.Settled() && r.ResultHash != nil && bytes.Equal(r.ResultHash, c.ResultHash):", "r.State.Settled() && (r.ResultHash != nil || bytes.Equal(nil, nil)):", rules},
	{"complete: a released record is settled again", "storage/life/holder.go", "	case owns(r, c.Token):\n		return storage.OutcomeSettled, settle", "	case owns(r, c.Token), r.State == storage.Released:\n		return storage.OutcomeSettled, settle", rules},
	{"result hash: the body is left out", "service/response.go", "		number(1)\n		part(r.Body)\n", "		number(1)\n", service},
	{"result hash: the lines are left out", "service/response.go", "		part([]byte(line[1]))\n", "", service},
	{"heartbeat: a lower checkpoint is taken", "storage/life/holder.go", "c.Checkpoint.Seq > r.Checkpoint.Seq", "c.Checkpoint.Seq != r.Checkpoint.Seq", rules},
	{"heartbeat: hold is taken back", "storage/life/holder.go", "	if holds {\n		next.OnLapse = storage.Hold\n	}", "	next.OnLapse = storage.Retry\n	if c.Hold {\n		next.OnLapse = storage.Hold\n	}", rules},
	{"release: forget forgets nothing", "storage/life/holder.go", "if c.Forget {", "if false {", rules},
	{"version: a checkpoint does not change it", "storage/life/holder.go", `changed(r, now, progress || holds || revived)`, `changed(r, now, holds || revived)`, rules},

	// Groups, and rivals in between.
	{"loop: groups are not sorted", "storage/cas/cas.go", "	slices.SortFunc(turns, func(x, y turn) int { return x.name.Compare(y.name) })\n", "	slices.Reverse(turns)\n", loop},
	{"loop: names are sorted by half of the key", "storage/name.go", "		strings.Compare(n.Key, o.Key),\n", "", loop},
	{"loop: what was not saved is answered all the same", "storage/cas/late.go", "		case !saved[i]:", "		case !saved[i] && i < 0:", loop},
	{"loop: a late settlement keeps its end", "storage/cas/late.go", `time.Since(a.started) > r.Retention/8`, `time.Since(a.started) > 1000*r.Retention`, loop},
	{"loop: a poisoned call fails its group", "storage/cas/cas.go", "	case len(turns) > 1:\n", "	case len(turns) > 1 && turns == nil:\n", loop},
	{"postgres: the token is no guard", "storage/postgres/statements.go", "k.token = c.prev_token AND k.revision", "c.prev_token IS NOT NULL AND k.revision", postgres},
	{"postgres: the revision is no guard", "storage/postgres/statements.go", "k.revision = c.prev_revision", "c.prev_revision IS NOT NULL", postgres},
	{"postgres: tenant left out", "storage/postgres/statements.go", "`k.tenant = c.tenant AND ", "`c.tenant IS NOT NULL AND ", postgres},
	{"postgres: subject left out", "storage/postgres/statements.go", "k.subject = c.subject AND ", "c.subject IS NOT NULL AND ", postgres},
	{"postgres: a lost answer is called an outage", "storage/postgres/errors.go", "	case !ok:\n		return fmt.Errorf(\"%w: %w\", storage.ErrOutcomeUnknown, err)", "	case !ok:\n		return unavailable(err)", postgres},
	{"postgres: a write ends with its caller", "storage/postgres/save.go", "context.WithTimeout(context.WithoutCancel(ctx), s.writeTimeout)", "context.WithTimeout(ctx, s.writeTimeout)", postgres},
	{"postgres: synchronous_commit off is served", "storage/postgres/ready.go", "case commit != \"off\":", "case commit != \"never\":", postgres},
	{"sqlite: the token is no guard", "storage/sqlite/statements.go", "AND token = ? AND revision = ?", "AND ? IS NOT NULL AND revision = ?", sqlite},
	{"sqlite: the revision is no guard", "storage/sqlite/statements.go", "AND token = ? AND revision = ?", "AND token = ? AND ? IS NOT NULL", sqlite},
	{"sqlite: tenant left out", "storage/sqlite/statements.go", "\"tenant = ? AND ", "\"? IS NOT NULL AND ", sqlite},
	{"sqlite: subject left out", "storage/sqlite/statements.go", "subject = ? AND", "? IS NOT NULL AND", sqlite},
	{"sqlite: a commit is not flushed", "storage/sqlite/sqlite.go", "_pragma=synchronous(FULL)", "_pragma=synchronous(NORMAL)", sqlite},
	{"sqlite: an empty body becomes none", "storage/sqlite/load.go", "if hasBody && body == nil {", "if false {", sqlite},

	// What callers see.
	{"mismatch: the record is shown", "service/errors.go", "if a.Record != nil && a.Outcome != storage.OutcomeFingerprintMismatch {", "if a.Record != nil {", api},
	{"lookup: bodies are shown to everybody", "service/lookup.go", "if r.Response == nil || p.Has(auth.KeysBody) {", "if r.Response == nil || p.Tenant() != \"\" {", api},
	{"lookup: needs no right", "service/lookup.go", "if err := allow(p, auth.KeysRead); err != nil {", "if err := allow(p, auth.KeysRead); err != nil && p.Tenant() == \"\" {", api},
	{"name: control characters are taken", "service/validate.go", "strings.ContainsFunc(s, isControl)", "strings.ContainsFunc(s, func(r rune) bool { return r == 0 })", api},
	{"reserve: a misspelt field is ignored", "service/httpapi/decode.go", "json.RejectUnknownMembers(true)", "json.RejectUnknownMembers(false)", api},
	{"complete: an unknown field is refused", "service/httpapi/lenient.go", "	refusal := tolerant(body, into)\n", "	refusal := strict(body, into)\n", api},
	{"replay: binary bodies travel as text", "service/httpapi/values.go", "if utf8.Valid(b) && !strings.ContainsRune(string(b), 0) {", "if len(b) >= 0 && (utf8.Valid(b) || true) && !strings.ContainsRune(\"\", 0) {", api},
	{"retry-after: not bounded", "service/errors.go", "e.RetryAfter = min(a.Record.LeaseExpiresAt.Sub(a.Now), maxRetryAfter)", "e.RetryAfter = max(a.Record.LeaseExpiresAt.Sub(a.Now), maxRetryAfter)", api},

	{"close: a connection that hangs is awaited", "storage/postgres/postgres.go", "case <-time.After(closeTimeout):", "case <-time.After(closeTimeout + 1<<40):", postgres},

	// Operators.
	{"resolve: version not compared", "storage/life/operator.go", "	case r.VersionText() != c.Version:\n		return storage.OutcomeVersionConflict, nil\n	case r.State != storage.InProgress:", "	case r.State != storage.InProgress:", sqlite},
	{"resolve: a live lease needs no force", "storage/life/operator.go", "case r.StateAt(now) == storage.InProgress && !c.Force:", "case r.StateAt(now) == storage.Completed && !c.Force:", sqlite},
	{"resolve: a released key keeps its holder's token", "storage/life/operator.go", "		next.Token = c.Token\n", "", sqlite},
	{"expire: the fence may be forgotten early", "storage/life/operator.go", "	next.ExpiresAt = now\n", "	endsAt(next, now)\n", sqlite},
	{"audit: an act that was not done is kept, sqlite", "storage/sqlite/save.go", "		if saved[i] {\n", "		if len(c.Acts) > 0 {\n", sqlite},
	{"audit: an act that was not done is kept, postgres", "storage/postgres/act.go", "			if saved[i] {\n", "			if saved[i] || len(c.Acts) > 0 {\n", postgres},
	{"operators: every tenant is everybody's", "service/tenant.go", "if !p.Has(auth.Ops) {", "if p.Tenant() == \"\" {", api},

	// Sweeping, lists and waiting.
	{"sweep: a renewed row is deleted, sqlite", "storage/sqlite/sweep.go", "AND fence = ?7 AND revision = ?8", "AND ?7 IS NOT NULL AND ?8 IS NOT NULL", sqlite},
	{"sweep: a renewed row is deleted, postgres", "storage/postgres/sweep.go", " AND k.fence = c.fence AND k.revision = c.revision\n", " AND c.fence IS NOT NULL AND c.revision IS NOT NULL\n", postgres},
	{"sweep: uncertain keys are deleted", "storage/sqlite/sweep.go", "const due = `NOT (state = 1 AND on_lapse = 1) AND ", "const due = `", sqlite},
	{"sweep: one poisoned row stops all", "service/sweeper/sweeper.go", "if len(rows) > 1 && p.failing", "if len(rows) > 1_000_000 && p.failing", sweeping},
	{"sweep: a locked row ends the pass", "storage/postgres/sweep.go", "\"XX001\", \"55P03\", \"57014\"", "\"XX001\"", sweeping},
	{"sweep: a failure keeps open keys from being noted", "service/sweeper/sweeper.go", "err = p.deleteDue(ctx); ctx.Err() != nil {", "err = p.deleteDue(ctx); err != nil {", sweeping},
	{"list: a page ends without a next one at its bound", "storage/browse/list.go", "s.To, p.Next = *bound, bound", "s.To = *bound", sqlite},
	{"list: a cursor of another list is taken", "service/cursor.go", "if c.Filters != filters {", "if c.Filters == \"\" {", api},
	{"wait: a lapsed lease still holds", "storage/sqlite/list.go", "WHERE k.state = 1 AND k.lease_expires_at > ?2`", "WHERE k.state = 1 AND ?2 IS NOT NULL`", sqlite},
	{"wait: who is not served is sent away", "service/waiting/answer.go", "case answers[i].Outcome != storage.OutcomeInProgress:", "case answers[i].Outcome != storage.OutcomeNotFound:", waiting},
	{"wait: one tenant takes all places", "service/waiting/room.go", " && r.byTenant[tenant] < r.limits.PerTenant\n", "\n", waiting},
	{"wait: a lease that comes with the end of the wait is lost", "service/waiting/answer.go", "case answers[i].Outcome != storage.OutcomeInProgress:", "case answers[i].Outcome != storage.OutcomeInProgress && w.left == \"\":", waiting},
	{"wait: a place is given back twice", "service/waiting/answer.go", "		if w.left == \"\" {\n			r.freePlace(w)", "		if w != nil {\n			r.freePlace(w)", waiting},
	{"wait: who is asked for is told twice", "service/waiting/room.go", "	return i >= 0\n", "	return true\n", waiting},
	{"park: a hang-up is not noticed", "service/httpapi/park.go", "hangup.Watch(p.conn, hangUp)", "hangup.Watch(p.conn, func() {})", api},
	{"park: the connection seems to stay", "service/httpapi/park.go", "Close: true", "Close: false", api},
	{"park: nobody awaits it", "service/httpapi/park.go", "		a.parked.Wait()\n", "", api},
	{"park: who finds no place loses the connection", "service/httpapi/park.go", "!w.waiting.HasPlace() || ", "", api},
	{"park: counted when the server has forgotten it", "service/httpapi/park.go", "	conn, _, err := c.Response().Hijack()", "	a.parked.Done()\n	conn, _, err := c.Response().Hijack()\n	a.parked.Add(1)", api},
	{"park: slow readers are cut off", "service/httpapi/park.go", "lingering+size*time.Second/slowest", "lingering+0*size", api},
	{"park: an answer is cut off by what was not read", "service/httpapi/park.go", "		_, _ = io.Copy(io.Discard, p.conn)\n", "", api},
	{"batch: a call needs no right of its own", "service/batch.go", "		call, err := r.call(s, p)\n		if err != nil {", "		call, err := r.call(s, p)\n		if err != nil && call == nil && p.Tenant() == \"\" {", api},
	{"batch: its answer has no bound", "service/httpapi/batch.go", "b.full = b.shown > 0 &&", "b.full = b.shown < 0 &&", api},
	{"batch: calls past the limit are read", "service/httpapi/batch.go", "case len(*calls) == most:", "case len(*calls) == 1<<30:", api},
	{"query: a parameter that there is not is ignored", "service/httpapi/call.go", "		if !slices.Contains(known, name) {", "		if len(known) > 0 && !slices.Contains(known, name) {", api},
	{"loop: a late release is decided anew", "storage/cas/late.go", "} else if move.Prev.State == storage.Released {", "} else if move.Prev.State == storage.Completed {", loop},
	{"stats: keys that may be missing are not told", "storage/browse/stats.go", "if bound != nil || !t.OpenIsComplete() {", "if bound != nil {", postgres},
	{"audit: an act is not written with its change", "storage/cas/cas.go", "ValidBefore: now.Add(decisionLife), Acts: acts}", "ValidBefore: now.Add(decisionLife)}", loop},
	{"expire: an end that came by an operator is moved", "storage/cas/late.go", "r.ExpiresAt.After(r.UpdatedAt) && r.State", "r.State", loop},
	{"audit: another tenant's acts are shown", "storage/sqlite/act.go", "WHERE tenant = ?1 AND (at, id)", "WHERE tenant > '' AND ?1 > '' AND (at, id)", sqlite},
	{"sweep: no minute is waited", "storage/sqlite/sweep.go", "before = now.Add(-storage.SweepDelay).UnixMicro()", "before = now.UnixMicro()", sqlite},
	{"open keys: an old fence replaces a new one", "storage/postgres/open.go", "DO UPDATE SET fence = greatest(reprise_open.fence, excluded.fence)", "DO UPDATE SET fence = excluded.fence", postgres},
	{"list: the older half of a page is read anew", "storage/browse/list.go", "q.After, q.Limit = p.Next, q.Limit-len(p.Records)", "q.Limit -= len(p.Records)", postgres},
	{"list: the first instant does not count", "storage/browse/browse.go", "s.To.CreatedAt = q.CreatedFrom", "s.To.CreatedAt = q.CreatedFrom.Add(1000)", sqlite},
	{"stats: a bound is not told", "storage/browse/stats.go", "c.AtLeast = true", "c.AtLeast = false", sqlite},
	{"list: a prefix is a pattern, postgres", "storage/postgres/list.go", "starts_with(k.key, $13)", "k.key LIKE $13 || '%'", postgres},
	{"list: a prefix is a pattern, sqlite", "storage/sqlite/list.go", "substr(key, 1, length(?14)) = ?14", "key LIKE ?14 || '%'", sqlite},
}
