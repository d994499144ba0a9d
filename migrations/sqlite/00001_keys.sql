-- +goose Up

-- One row for each key: the same columns as in Postgres. Times are whole microseconds since 1970 (UTC), durations whole
-- milliseconds.
CREATE TABLE reprise_keys (
    tenant              TEXT    NOT NULL,
    operation           TEXT    NOT NULL,
    subject             TEXT    NOT NULL,
    key                 TEXT    NOT NULL,
    fingerprint         TEXT    NOT NULL, -- empty: forgotten, any fits
    attempt_id          TEXT    NOT NULL, -- empty: none was given
    earlier_attempt_ids TEXT    NOT NULL, -- separated by a space, the latest first
    holder              TEXT    NOT NULL,
    token               BLOB    NOT NULL, -- 128 random bits, new for each acquisition
    created_at          INTEGER NOT NULL,
    fence               INTEGER NOT NULL,
    lease_ms            INTEGER NOT NULL,
    retention_ms        INTEGER NOT NULL,
    attempt             INTEGER NOT NULL,
    sweep_hour          INTEGER NOT NULL, -- hours since 1970, rounded up: coarse, so that its index moves seldom
    takeover            INTEGER NOT NULL,
    on_lapse            INTEGER NOT NULL, -- 0 retry, 1 hold
    state               INTEGER NOT NULL, -- 1 in_progress, 2 completed, 3 failed, 4 released
    revision            INTEGER NOT NULL, -- rises with every write: what a writer compares
    version             INTEGER NOT NULL, -- rises with every change that a caller can see
    updated_at          INTEGER NOT NULL,
    lease_expires_at    INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL, -- without meaning while a record is held in progress
    settled_at          INTEGER,
    checkpoint_seq      INTEGER,
    checkpoint          BLOB,
    last_error          TEXT    NOT NULL,
    resource_id         TEXT    NOT NULL,
    result_hash         BLOB,             -- SHA-256 of what the holder settled; null when it did not
    body_dropped        INTEGER NOT NULL,
    status              INTEGER,
    headers             BLOB,             -- JSON; null when no response was given
    body                BLOB,             -- the very bytes; null when there was none or it was dropped
    PRIMARY KEY (tenant, operation, subject, key)
) STRICT;

-- For the sweeper.
CREATE INDEX reprise_keys_sweep ON reprise_keys (sweep_hour);

-- For pages of a tenant's keys, newest first.
CREATE INDEX reprise_keys_created ON reprise_keys (tenant, created_at);

