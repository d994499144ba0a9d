-- +goose Up

-- The sweeper goes by hour, and within an hour by fence, so that it can page past rows that may not be deleted. The fence
-- is set by each acquisition and left alone by its settlement; and by it, what was acquired since the last look and is
-- still in progress is found without reading the rest.
CREATE INDEX reprise_keys_sweep_fence ON reprise_keys (sweep_hour, fence);
DROP INDEX reprise_keys_sweep;

-- The keys that were still in progress a minute after they were acquired, and what the search for stuck ones reads: few
-- rows, kept by the sweeper. An index on the state would cost each settlement its HOT update.
CREATE TABLE reprise_open (
    tenant     text        COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    operation  text        COLLATE "C" NOT NULL,
    subject    text        COLLATE "C" NOT NULL,
    key        text        COLLATE "C" NOT NULL,
    fence      bigint      NOT NULL,             -- of the acquisition that was found
    PRIMARY KEY (tenant, created_at, operation, subject, key)
);

-- How far the search for open keys came.
CREATE TABLE reprise_progress (
    name  text   COLLATE "C" PRIMARY KEY,
    fence bigint NOT NULL
);

-- What operators did, written in the transaction of the change.
CREATE TABLE reprise_audit (
    tenant         text        COLLATE "C" NOT NULL,
    at             timestamptz NOT NULL,
    id             uuid        NOT NULL,
    action         smallint    NOT NULL,             -- 1 resolve, 2 expire
    operation      text        COLLATE "C" NOT NULL,
    subject        text        COLLATE "C" NOT NULL,
    key            text        COLLATE "C" NOT NULL,
    actor          text        NOT NULL,
    address        text        NOT NULL,
    request_id     text        NOT NULL,
    reason         text        NOT NULL,
    before_state   smallint    NOT NULL,             -- as in reprise_keys, and 5 abandoned, 6 uncertain
    before_version text        NOT NULL,
    before_attempt integer     NOT NULL,
    before_fence   bigint      NOT NULL,
    after_state    smallint    NOT NULL,
    after_version  text        NOT NULL,
    after_attempt  integer     NOT NULL,
    after_fence    bigint      NOT NULL,
    PRIMARY KEY (tenant, at, id, key)
);
