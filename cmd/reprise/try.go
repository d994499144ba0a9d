package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

func (p *program) tryCommand() *cobra.Command {
	var address, token string
	cmd := &cobra.Command{
		Use:   "try",
		Short: "Take a guided tour of a running service: each call is shown, checked and explained",
		Long: "Take a guided tour of a running service: a first call and its retry, another request under the same key, two at\n" +
			"once, a crash, a takeover, and a key of which nobody knows whether it happened. Each call is shown, checked and\n" +
			"explained. It makes a few keys under a tenant of its own, unless --token names another.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load(cmd)
			if err != nil {
				return err
			}
			url, err := serviceURL(address, c)
			if err != nil {
				return err
			}
			if token == "" {
				if token, err = p.tourToken(c); err != nil {
					return err
				}
			}
			t := newTour(p.stdout, url, token)
			return t.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "address of the service (default: where the configuration says that it listens)")
	cmd.Flags().StringVar(&token, "token", "", "bearer token with keys:read, keys:write, keys:body and keys:admin (default: one made with the configured secret)")
	return cmd
}

// tourToken makes a token for a tenant that nobody else uses.
func (p *program) tourToken(c config) (string, error) {
	if c.auth.publicKeyFile != "" {
		return "", usageError{errors.New("try: the service verifies with a public key: give a --token")}
	}
	signing, err := c.signingConfig()
	if err != nil {
		return "", err
	}
	return sign(signing, "the tour", "try-"+storage.NewToken().String()[:8], []auth.Scope{auth.KeysRead, auth.KeysWrite, auth.KeysBody, auth.KeysAdmin}, 10*time.Minute)
}

// stop is a station of the tour.
type stop struct {
	title string
	walk  func(t *tour)
}

var stops = []stop{
	{"The first call", (*tour).firstCall},
	{"Its retry", (*tour).retry},
	{"Another request under the same key", (*tour).otherRequest},
	{"Two at once", (*tour).twoAtOnce},
	{"A crash before complete, and the takeover", (*tour).crash},
	{"Nobody knows whether it happened", (*tour).uncertain},
	{"What an operator sees", (*tour).overview},
}

func (t *tour) firstCall() {
	t.say("A caller reserves a key before it does something that must not happen twice.")
	lease := t.reserve("order", 1, nil).acquired()
	t.say("201: the key was free, and the caller holds it until its lease ends. It charges the card, and says how that ended:")
	t.call("complete", t.fields("order", object{"lease_token": lease.Token, "response": object{"status": 201, "body": `{"id":1}`}})).wants(200, "")
	t.say("200: the response is on disk. From now on everybody who asks gets it.")
}

func (t *tour) retry() {
	t.say("The answer was lost on the way, and the caller tries again:")
	t.reserve("order", 2, nil).replays(`{"id":1}`)
	t.say("200 replay: the card is not charged again; the first response comes back, byte by byte.")
}

func (t *tour) otherRequest() {
	t.say("Somebody uses the same key for something else, by mistake:")
	t.call("reserve", t.fields("order", object{"fingerprint": "amount=999"})).wants(422, "fingerprint_mismatch")
	t.say("422: the key belongs to another request. Nothing of that is shown.")
}

func (t *tour) twoAtOnce() {
	t.say("Two workers get the same message. The first one is quicker:")
	lease := t.reserve("message", 1, nil).acquired()
	t.reserve("message", 2, nil).wants(409, "in_progress")
	t.say("409: the second one is told to come back. Or it waits, while the first one finishes:")
	second := t.meanwhile("reserve", t.fields("message", object{"fingerprint": "amount=100", "attempt_id": t.attemptID(2), "wait": "10s"}))
	t.call("complete", t.fields("message", object{"lease_token": lease.Token, "response": object{"body": "sent"}})).wants(200, "")
	second().replays("sent")
	t.say("200 replay, at once: whoever waits is woken when the holder is done. The message was sent once.")
}

func (t *tour) crash() {
	t.say("A worker reserves a key with a short lease, and dies before it completes:")
	dead := t.reserve("invoice", 1, object{"lease": "500ms"}).acquired()
	t.say("Another one waits for it:")
	lease := t.reserve("invoice", 2, object{"wait": "10s"}).acquired()
	if !lease.Takeover || lease.Fence <= dead.Fence {
		t.fail("the second lease must be a takeover with a higher fence")
	}
	t.say("201 with takeover: the lease ran out, and the second one holds the key now, with a higher fence (%d > %d).", lease.Fence, dead.Fence)
	t.say("The first one was not dead, only slow. Now it wants to complete:")
	t.call("complete", t.fields("invoice", object{"lease_token": dead.Token})).wants(409, "lease_lost")
	t.say("409 lease_lost: a stale owner cannot overwrite the result of the one that counts.")
	t.call("complete", t.fields("invoice", object{"lease_token": lease.Token, "resource_id": "invoice-7"})).wants(200, "")
}

func (t *tour) uncertain() {
	t.say("Some things must not be tried again when nobody knows whether they happened. Just before the point of no return")
	t.say("the holder says so:")
	lease := t.reserve("payout", 1, object{"lease": "500ms"}).acquired()
	t.call("heartbeat", t.fields("payout", object{"lease_token": lease.Token, "on_lapse": "hold"})).wants(200, "")
	t.say("… and dies. The next one waits for it:")
	a := t.reserve("payout", 2, object{"wait": "10s"}).wants(409, "uncertain")
	t.say("409 uncertain: nobody runs it again. An operator asks the bank, finds that the money went out, and resolves the key:")
	resolve := t.fields("payout", object{"to": "completed", "version": a.version(), "reason": "the bank confirmed it",
		"response": object{"body": "paid"}})
	delete(resolve, "fingerprint")
	if !t.admin("resolve", resolve).done() {
		t.call("complete", t.fields("payout", object{"lease_token": lease.Token})).wants(200, "")
		t.say("Its holder was not dead after all, and its token is still good: so nothing is left open.")
		return
	}
	t.reserve("payout", 3, nil).replays("paid")
	t.say("200 replay: retries get what the operator said. Who resolved it, when and why is in the audit log.")
}

func (t *tour) overview() {
	t.get("/v1/stats").wants(200, "")
	t.say("Counts by state of this tenant; GET /v1/keys lists the keys, GET /v1/admin/audit what operators did.")
}
