-- In the database `atlas`, in a schema of our own: others may have tables there, too.
CREATE SCHEMA IF NOT EXISTS crmeval;

CREATE TABLE IF NOT EXISTS crmeval.sessions (
    id uuid PRIMARY KEY,
    run text NOT NULL,
    learning_key text NOT NULL,
    suite text NOT NULL,
    subject text NOT NULL,
    case_id text NOT NULL,
    position integer NOT NULL,
    held_out boolean NOT NULL,
    learning text NOT NULL,
    mode text NOT NULL,
    entries integer NOT NULL,
    status text NOT NULL DEFAULT 'running', -- running, finished, broken, abandoned
    lesson jsonb,
    started timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended timestamptz
);
CREATE INDEX IF NOT EXISTS sessions_of_run ON crmeval.sessions (run, learning_key, position);

CREATE TABLE IF NOT EXISTS crmeval.attempts (
    session_id uuid NOT NULL REFERENCES crmeval.sessions ON DELETE CASCADE,
    number bigint GENERATED ALWAYS AS IDENTITY,
    turn integer NOT NULL,
    attempt integer NOT NULL,
    calls jsonb NOT NULL,
    review text NOT NULL,
    instead jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE IF NOT EXISTS crmeval.guidance (
    session_id uuid NOT NULL REFERENCES crmeval.sessions ON DELETE CASCADE,
    number bigint GENERATED ALWAYS AS IDENTITY,
    turn integer NOT NULL,
    note text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE IF NOT EXISTS crmeval.rewards (
    session_id uuid NOT NULL REFERENCES crmeval.sessions ON DELETE CASCADE,
    score double precision NOT NULL,
    spread double precision NOT NULL,
    samples jsonb NOT NULL,
    arbiter jsonb,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The history of playbooks: what was added, dropped, refused, noted, and after which conversation.
CREATE TABLE IF NOT EXISTS crmeval.playbook (
    session_id uuid NOT NULL REFERENCES crmeval.sessions ON DELETE CASCADE,
    number bigint GENERATED ALWAYS AS IDENTITY,
    run text NOT NULL,
    learning_key text NOT NULL,
    position integer NOT NULL,
    event text NOT NULL,
    entry_id text NOT NULL,
    content jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Where learning stands: a playbook belongs to one run and one key, and is never looked at by another run.
CREATE TABLE IF NOT EXISTS crmeval.registry (
    run text NOT NULL,
    learning_key text NOT NULL,
    position integer NOT NULL,
    playbook jsonb NOT NULL,
    updated timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run, learning_key)
);
