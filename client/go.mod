module github.com/reprise-idempotency/reprise/client

go 1.26
