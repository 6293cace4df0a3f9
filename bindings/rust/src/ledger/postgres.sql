CREATE TABLE voice_calling_creates (
    key text COLLATE "C" PRIMARY KEY,
    entry json NOT NULL,   -- function, digests of the arguments, state, claim, times, answer, message
    created_id text,       -- from the answer
    digest bytea NOT NULL  -- of the row, with the secret
);
CREATE INDEX voice_calling_creates_by_id ON voice_calling_creates USING hash (created_id);
