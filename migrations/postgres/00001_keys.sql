-- +goose Up

-- One row for each key. The order of the columns, the fill factor and the body inside the row were chosen by
-- measurement (docs/storage.md): what a settlement leaves alone comes first, so that the log of an update holds the
-- rest alone; 70 % of each page is left free, so that a settlement with a response finds room on the page of its
-- reservation and touches no index (a HOT update).
CREATE TABLE reprise_keys (
    tenant              text        COLLATE "C" NOT NULL,
    operation           text        COLLATE "C" NOT NULL,
    subject             text        COLLATE "C" NOT NULL,
    key                 text        COLLATE "C" NOT NULL,
    fingerprint         text        COLLATE "C" NOT NULL, -- empty: forgotten, any fits
    attempt_id          text        COLLATE "C" NOT NULL, -- empty: none was given
    earlier_attempt_ids text        COLLATE "C" NOT NULL, -- separated by a space, the latest first
    holder              text        COLLATE "C" NOT NULL,
    token               uuid        NOT NULL,             -- 128 random bits, new for each acquisition
    created_at          timestamptz NOT NULL,
    fence               bigint      NOT NULL,
    lease_ms            bigint      NOT NULL,
    retention_ms        bigint      NOT NULL,
    attempt             integer     NOT NULL,
    sweep_hour          integer     NOT NULL,             -- hours since 1970, rounded up: coarse, so that its index moves seldom
    takeover            boolean     NOT NULL,
    on_lapse            smallint    NOT NULL,             -- 0 retry, 1 hold
    state               smallint    NOT NULL,             -- 1 in_progress, 2 completed, 3 failed, 4 released
    revision            integer     NOT NULL,             -- rises with every write: what a writer compares
    version             integer     NOT NULL,             -- rises with every change that a caller can see
    updated_at          timestamptz NOT NULL,
    lease_expires_at    timestamptz NOT NULL,
    expires_at          timestamptz NOT NULL,             -- without meaning while a record is held in progress
    settled_at          timestamptz,
    checkpoint_seq      bigint,
    checkpoint          bytea,
    last_error          text        COLLATE "C" NOT NULL,
    resource_id         text        COLLATE "C" NOT NULL,
    result_hash         bytea,                            -- SHA-256 of what the holder settled; null when it did not
    body_dropped        boolean     NOT NULL,
    status              smallint,
    headers             bytea,                            -- JSON; null when no response was given
    body                bytea,                            -- the very bytes; null when there was none or it was dropped
    PRIMARY KEY (tenant, operation, subject, key)
) WITH (fillfactor = 30);

-- For the sweeper.
CREATE INDEX reprise_keys_sweep ON reprise_keys (sweep_hour);

-- For pages of a tenant's keys, newest first. Its condition is always true; only a query that repeats it can use the
-- index. On an empty table it would otherwise look as good as the primary key for finding a row by its name, and such a
-- plan, kept while the table grows, walks all keys of the tenant for each name.
CREATE INDEX reprise_keys_created ON reprise_keys (tenant, created_at) WHERE created_at > '-infinity';

