-- +goose Up

-- The sweeper goes by hour, and within an hour by fence, so that it can page past rows that may not be deleted.
CREATE INDEX reprise_keys_sweep_fence ON reprise_keys (sweep_hour, fence);
DROP INDEX reprise_keys_sweep;

-- What the search for stuck keys reads.
CREATE INDEX reprise_keys_open ON reprise_keys (tenant, created_at) WHERE state = 1;

-- What operators did, written in the transaction of the change.
CREATE TABLE reprise_audit (
    tenant         TEXT    NOT NULL,
    at             INTEGER NOT NULL,
    id             TEXT    NOT NULL,
    action         INTEGER NOT NULL, -- 1 resolve, 2 expire
    operation      TEXT    NOT NULL,
    subject        TEXT    NOT NULL,
    key            TEXT    NOT NULL,
    actor          TEXT    NOT NULL,
    address        TEXT    NOT NULL,
    request_id     TEXT    NOT NULL,
    reason         TEXT    NOT NULL,
    before_state   INTEGER NOT NULL, -- as in reprise_keys, and 5 abandoned, 6 uncertain
    before_version TEXT    NOT NULL,
    before_attempt INTEGER NOT NULL,
    before_fence   INTEGER NOT NULL,
    after_state    INTEGER NOT NULL,
    after_version  TEXT    NOT NULL,
    after_attempt  INTEGER NOT NULL,
    after_fence    INTEGER NOT NULL,
    PRIMARY KEY (tenant, at, id, key)
) STRICT;
