module github.com/reprise-idempotency/reprise

go 1.26

// Until the first tag of the client, the client in this tree is the one that is built.
replace github.com/reprise-idempotency/reprise/client => ./client
