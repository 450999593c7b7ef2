-- The invariants of the ground floor, where no Python can forget them. ARCHITECTURE.md lists which rule stands where
-- and which test attacks it with raw SQL.

-- 1. Rows that are only ever inserted -----------------------------------------------------------------------------

CREATE FUNCTION opsconsole_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON operations_intent
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON operations_intent
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON operations_evidence
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON operations_evidence
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON operations_journalentry
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON operations_journalentry
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON operations_policy
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON operations_policy
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON operations_operation
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_truncated BEFORE TRUNCATE ON operations_operation
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON operations_attempt
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_truncated BEFORE TRUNCATE ON operations_attempt
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON operations_permit
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_truncated BEFORE TRUNCATE ON operations_permit
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();

-- 2. The hash is the hash of the bytes ----------------------------------------------------------------------------

CREATE FUNCTION opsconsole_hash(raw bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    $$ SELECT 'sha256:' || encode(sha256(raw), 'hex') $$;

ALTER TABLE operations_intent
    ADD CONSTRAINT intent_hash_is_of_bytes CHECK (payload_hash = 'sha256:' || encode(sha256(canonical), 'hex'));

-- 3. States move along the table only -----------------------------------------------------------------------------

CREATE FUNCTION opsconsole_transitions() RETURNS TABLE (from_state text, event text, to_state text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ VALUES
    ('not_started', 'claimed', 'in_progress'),
    ('not_started', 'withdrawn', 'cancelled'),
    ('not_started', 'marked_disputed', 'disputed'),
    ('in_progress', 'not_sent', 'not_started'),
    ('in_progress', 'confirmed', 'succeeded'),
    ('in_progress', 'acknowledged', 'pending'),
    ('in_progress', 'refused', 'failed'),
    ('in_progress', 'lost', 'unknown'),
    ('in_progress', 'found', 'succeeded'),
    ('in_progress', 'found_refused', 'failed'),
    ('in_progress', 'found_pending', 'pending'),
    ('in_progress', 'contradicted', 'disputed'),
    ('pending', 'found', 'succeeded'),
    ('pending', 'found_refused', 'failed'),
    ('pending', 'contradicted', 'disputed'),
    ('pending', 'lost', 'unknown'),
    ('pending', 'marked_disputed', 'disputed'),
    ('unknown', 'found', 'succeeded'),
    ('unknown', 'found_refused', 'failed'),
    ('unknown', 'found_pending', 'pending'),
    ('unknown', 'contradicted', 'disputed'),
    ('unknown', 'proved_absent', 'not_started'),
    ('unknown', 'settled_happened', 'succeeded'),
    ('unknown', 'settled_did_not', 'failed'),
    ('unknown', 'settled_may_retry', 'not_started'),
    ('unknown', 'marked_disputed', 'disputed'),
    ('disputed', 'settled_happened', 'succeeded'),
    ('disputed', 'settled_did_not', 'failed'),
    ('disputed', 'settled_may_retry', 'not_started'),
    ('succeeded', 'marked_disputed', 'disputed'),
    ('failed', 'marked_disputed', 'disputed'),
    ('cancelled', 'marked_disputed', 'disputed') $$;

-- What a claim needs: a live permit for the very bytes that are stored, under the policy in force now.
CREATE FUNCTION opsconsole_guard_claim(op operations_operation) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    meant operations_intent;
BEGIN
    SELECT * INTO STRICT meant FROM operations_intent WHERE operation_id = op.intent_id;
    IF NOT EXISTS (
        SELECT FROM operations_permit p
        WHERE p.operation_id = op.intent_id AND p.revoked_at IS NULL AND p.expires_at > clock_timestamp()
          AND p.payload_hash = opsconsole_hash(meant.canonical) AND p.policy_version = meant.policy_version
    ) THEN
        RAISE EXCEPTION 'operation %: no live permit for the stored bytes', op.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'claim_needs_permit';
    END IF;
    IF EXISTS (
        SELECT FROM operations_policy newer JOIN operations_policy mine ON mine.id = meant.policy_id
        WHERE newer.tenant_id = mine.tenant_id AND newer.action = mine.action AND newer.version > mine.version
    ) THEN
        RAISE EXCEPTION 'operation %: its policy is no longer in force', op.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'claim_needs_policy_in_force';
    END IF;
    IF op.lease_until IS NULL OR op.lease_until <= clock_timestamp() OR op.first_sent_at IS NULL THEN
        RAISE EXCEPTION 'operation %: a claim needs a lease in the future', op.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'claim_needs_lease';
    END IF;
END $$;

-- What leads back to a state from which a call may begin.
CREATE FUNCTION opsconsole_guard_return(op operations_operation) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    last operations_attempt;
BEGIN
    SELECT * INTO last FROM operations_attempt WHERE operation_id = op.intent_id ORDER BY number DESC LIMIT 1;
    IF op.last_event = 'not_sent' AND last.outcome IS DISTINCT FROM 'not_sent' THEN
        RAISE EXCEPTION 'operation %: its last attempt is not recorded as not sent', op.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'return_needs_not_sent';
    END IF;
    IF op.last_event = 'proved_absent' AND (
        last.id IS NULL OR (
            SELECT count(DISTINCT e.asked_at) FROM operations_evidence e
            WHERE e.operation_id = op.intent_id AND e.source = 'look_up' AND e.verdict = 'absent'
              AND e.asked_at >= last.absence_credible_at AND e.attempt_number = last.number
        ) < last.absences_needed
    ) THEN
        RAISE EXCEPTION 'operation %: no evidence of absence that is newer than its last attempt', op.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'return_needs_absence';
    END IF;
END $$;

-- What a final state needs: an evidence row about this operation that proves just that.
CREATE FUNCTION opsconsole_guard_fact(op operations_operation) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    needed text := CASE op.last_event
        WHEN 'confirmed' THEN 'happened' WHEN 'found' THEN 'happened'
        WHEN 'refused' THEN 'refused' WHEN 'found_refused' THEN 'refused'
        WHEN 'withdrawn' THEN 'withdrawn'
        WHEN 'settled_happened' THEN 'happened' WHEN 'settled_did_not' THEN 'did_not_happen' END;
BEGIN
    IF NOT EXISTS (
        SELECT FROM operations_evidence e
        WHERE e.id = op.fact_id AND e.operation_id = op.intent_id AND e.verdict = needed
          AND (op.last_event NOT LIKE 'settled_%' OR e.source = 'operator')
    ) THEN
        RAISE EXCEPTION 'operation %: % needs evidence that says %', op.intent_id, op.last_event, needed
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'final_needs_fact';
    END IF;
END $$;

CREATE FUNCTION opsconsole_guard_operation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.intent_id, NEW.tenant_id, NEW.connection_id, NEW.created_at, NEW.creates_object)
       IS DISTINCT FROM (OLD.intent_id, OLD.tenant_id, OLD.connection_id, OLD.created_at, OLD.creates_object) THEN
        RAISE EXCEPTION 'operation %: what it belongs to cannot change', OLD.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'operation_identity';
    END IF;
    IF NEW.first_sent_at IS DISTINCT FROM OLD.first_sent_at AND (
        OLD.first_sent_at IS NOT NULL OR NEW.state = OLD.state OR NEW.last_event <> 'claimed'
        OR NEW.first_sent_at IS NULL OR NEW.first_sent_at > clock_timestamp()
    ) THEN
        RAISE EXCEPTION 'operation %: the first send is a fact of its claim', OLD.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'operation_first_sent_once';
    END IF;
    IF NEW.state = 'in_progress' AND NEW.next_step_at IS NULL THEN
        RAISE EXCEPTION 'operation %: a call under way is always looked at again', OLD.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'in_progress_has_next_step';
    END IF;
    IF NEW.state = OLD.state THEN
        IF (NEW.last_event, NEW.last_actor, NEW.claim_token, NEW.lease_until, NEW.fact_id, NEW.attempts_made,
            NEW.reason, NEW.external_id)
           IS DISTINCT FROM
           (OLD.last_event, OLD.last_actor, OLD.claim_token, OLD.lease_until, OLD.fact_id, OLD.attempts_made,
            OLD.reason, OLD.external_id) THEN
            RAISE EXCEPTION 'operation %: only a change of state may set these', OLD.intent_id
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'operation_moves_with_state';
        END IF;
        NEW.changed_at := OLD.changed_at;
        RETURN NEW;
    END IF;
    NEW.changed_at := clock_timestamp();
    IF NOT EXISTS (
        SELECT FROM opsconsole_transitions() t
        WHERE t.from_state = OLD.state AND t.event = NEW.last_event AND t.to_state = NEW.state
    ) THEN
        RAISE EXCEPTION 'operation %: no way from % by % to %', OLD.intent_id, OLD.state, NEW.last_event, NEW.state
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'operation_transition';
    END IF;
    IF NEW.last_event <> 'claimed' AND (NEW.claim_token, NEW.attempts_made)
       IS DISTINCT FROM (OLD.claim_token, OLD.attempts_made) THEN
        RAISE EXCEPTION 'operation %: only a claim sets the claim', OLD.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'operation_claim_by_claim';
    END IF;
    IF NEW.last_event = 'claimed' THEN
        IF NEW.claim_token IS NOT DISTINCT FROM OLD.claim_token OR NEW.attempts_made <> OLD.attempts_made + 1 THEN
            RAISE EXCEPTION 'operation %: a claim needs a new token and the next number', OLD.intent_id
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'claim_is_new';
        END IF;
        -- If anything says that it may be there, only a later word of a person opens the way again.
        IF EXISTS (
            SELECT FROM operations_evidence e WHERE e.operation_id = NEW.intent_id
              AND (e.verdict IN ('happened', 'accepted', 'several', 'different') OR e.reason = 'unknown_status_word')
              AND e.recorded_at > coalesce((SELECT max(word.recorded_at) FROM operations_evidence word
                  WHERE word.operation_id = NEW.intent_id AND word.source = 'operator'
                    AND word.verdict = 'may_retry'), '-infinity')
        ) THEN
            RAISE EXCEPTION 'operation %: evidence says that it may be there already', NEW.intent_id
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'claim_against_evidence';
        END IF;
        PERFORM opsconsole_guard_claim(NEW);
    ELSIF NEW.state = 'not_started' THEN
        PERFORM opsconsole_guard_return(NEW);
    ELSIF NEW.state IN ('succeeded', 'failed', 'cancelled') THEN
        PERFORM opsconsole_guard_fact(NEW);
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard BEFORE UPDATE ON operations_operation
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_operation();

CREATE FUNCTION opsconsole_guard_new_operation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> 'not_started' OR NEW.claim_token IS NOT NULL OR NEW.attempts_made <> 0 OR NEW.last_event <> ''
       OR NEW.first_sent_at IS NOT NULL
       OR NOT EXISTS (SELECT FROM operations_intent i WHERE i.operation_id = NEW.intent_id
                      AND i.tenant_id = NEW.tenant_id AND i.connection_id = NEW.connection_id) THEN
        RAISE EXCEPTION 'operation %: it begins not started, for its own tenant', NEW.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'operation_begins_not_started';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard_insert BEFORE INSERT ON operations_operation
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_new_operation();

-- One object at the provider belongs to one operation, where the effect creates an object.
CREATE UNIQUE INDEX operation_one_object ON operations_operation (connection_id, external_id)
    WHERE creates_object AND external_id <> '';

-- 4. Attempts: committed with the claim, finished once ------------------------------------------------------------

-- No claim can be committed without its attempt row.
ALTER TABLE operations_operation ADD CONSTRAINT claim_has_attempt
    FOREIGN KEY (intent_id, claim_token) REFERENCES operations_attempt (operation_id, claim_token)
    DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION opsconsole_guard_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT EXISTS (
            SELECT FROM operations_operation o JOIN operations_permit p ON p.id = NEW.permit_id
            WHERE o.intent_id = NEW.operation_id AND o.state = 'in_progress' AND o.claim_token = NEW.claim_token
              AND o.attempts_made = NEW.number AND o.tenant_id = NEW.tenant_id
              AND p.operation_id = o.intent_id AND p.revoked_at IS NULL AND NEW.absence_credible_at >= o.lease_until
        ) OR NEW.absences_needed < 1 OR NEW.outcome <> '' OR NEW.finished_at IS NOT NULL THEN
            RAISE EXCEPTION 'operation %: an attempt belongs to the claim that makes it', NEW.operation_id
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'attempt_needs_claim';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.operation_id, NEW.tenant_id, NEW.number, NEW.claim_token, NEW.worker, NEW.permit_id, NEW.request_digest,
        NEW.claimed_at, NEW.absence_credible_at, NEW.absences_needed) IS DISTINCT FROM
       (OLD.operation_id, OLD.tenant_id, OLD.number, OLD.claim_token, OLD.worker, OLD.permit_id, OLD.request_digest,
        OLD.claimed_at, OLD.absence_credible_at, OLD.absences_needed)
       OR OLD.outcome <> '' THEN
        RAISE EXCEPTION 'operation %: what an attempt was cannot change', OLD.operation_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'attempt_is_a_fact';
    END IF;
    -- How far a request got is a fact too: what may have left can never become "not sent".
    IF (OLD.phase <> '' AND NEW.phase <> OLD.phase)
       OR (NEW.outcome = 'not_sent' AND NEW.phase NOT IN ('', 'connecting')) THEN
        RAISE EXCEPTION 'operation %: its request may have left', OLD.operation_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'attempt_may_have_left';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON operations_attempt
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_attempt();

-- 5. Permits: only taken back, never changed ----------------------------------------------------------------------

CREATE FUNCTION opsconsole_guard_permit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.operation_id, NEW.tenant_id, NEW.round_number, NEW.payload_hash, NEW.policy_version, NEW.granted_by,
        NEW.granted_at, NEW.expires_at) IS DISTINCT FROM
       (OLD.operation_id, OLD.tenant_id, OLD.round_number, OLD.payload_hash, OLD.policy_version, OLD.granted_by,
        OLD.granted_at, OLD.expires_at)
       OR OLD.revoked_at IS NOT NULL THEN
        RAISE EXCEPTION 'operation %: a permit can only be revoked', OLD.operation_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'permit_only_revoked';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard BEFORE UPDATE ON operations_permit
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_permit();

-- A connection is one account at one provider. Another account is another connection: what was sent through the one
-- cannot be looked up through the other.
CREATE FUNCTION opsconsole_guard_connection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.tenant_id, NEW.name, NEW.provider, NEW.credential_reference)
       IS DISTINCT FROM (OLD.tenant_id, OLD.name, OLD.provider, OLD.credential_reference) THEN
        RAISE EXCEPTION 'connection %: it stays one account at one provider', OLD.name
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'connection_is_one_account';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard BEFORE UPDATE ON operations_connection
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_connection();

-- 6. Evidence keeps the database's own time -----------------------------------------------------------------------

CREATE FUNCTION opsconsole_stamp_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM operations_operation o WHERE o.intent_id = NEW.operation_id AND o.tenant_id = NEW.tenant_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'operation %: not of this tenant', NEW.operation_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'evidence_same_tenant';
    END IF;
    NEW.recorded_at := clock_timestamp();
    IF NEW.asked_at IS NULL OR NEW.asked_at > NEW.recorded_at THEN
        NEW.asked_at := NEW.recorded_at;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER stamp BEFORE INSERT ON operations_evidence
    FOR EACH ROW EXECUTE FUNCTION opsconsole_stamp_evidence();

-- 7. The journal: numbered and chained by the database, written by every change of state --------------------------

CREATE FUNCTION opsconsole_netstring(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT octet_length(coalesce(value, '')) || ':' || coalesce(value, '') || ',' $$;

-- The hash of one entry, over its fields as netstrings; docs/decisions names the recipe for offline verifiers.
CREATE FUNCTION opsconsole_journal_hash(e operations_journalentry) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN opsconsole_hash(convert_to(
        opsconsole_netstring('opsconsole.journal.v1') || opsconsole_netstring(e.previous_hash)
        || opsconsole_netstring(e.operation_id) || opsconsole_netstring(e.sequence::text)
        || opsconsole_netstring(to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
        || opsconsole_netstring(e.actor) || opsconsole_netstring(e.verb) || opsconsole_netstring(e.before)
        || opsconsole_netstring(e.after) || opsconsole_netstring(e.reason) || opsconsole_netstring(e.data), 'UTF8'));
END $$;

CREATE FUNCTION opsconsole_chain_journal() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    last_sequence integer;
    last_hash text;
BEGIN
    -- One writer at a time per operation, so that the chain has no fork.
    PERFORM FROM operations_operation WHERE intent_id = NEW.operation_id AND tenant_id = NEW.tenant_id
        FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'operation %: not of this tenant', NEW.operation_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'journal_same_tenant';
    END IF;
    SELECT sequence, hash INTO last_sequence, last_hash FROM operations_journalentry
        WHERE operation_id = NEW.operation_id ORDER BY sequence DESC LIMIT 1;
    NEW.sequence := coalesce(last_sequence, 0) + 1;
    NEW.previous_hash := coalesce(last_hash, 'sha256:' || repeat('0', 64));
    NEW.at := clock_timestamp();
    NEW.hash := opsconsole_journal_hash(NEW);
    RETURN NEW;
END $$;

CREATE TRIGGER chain BEFORE INSERT ON operations_journalentry
    FOR EACH ROW EXECUTE FUNCTION opsconsole_chain_journal();

CREATE FUNCTION opsconsole_journal_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO operations_journalentry
        (operation_id, tenant_id, actor, verb, before, after, reason, data, sequence, at, previous_hash, hash)
    VALUES (NEW.intent_id, NEW.tenant_id, NEW.last_actor, NEW.last_event, OLD.state, NEW.state, NEW.reason,
            CASE WHEN NEW.fact_id IS NULL THEN '{}' ELSE '{"fact":' || NEW.fact_id || '}' END, 0, now(), '', '');
    RETURN NULL;
END $$;

CREATE FUNCTION opsconsole_journal_prepared() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO operations_journalentry
        (operation_id, tenant_id, actor, verb, before, after, reason, data, sequence, at, previous_hash, hash)
    SELECT NEW.intent_id, NEW.tenant_id, NEW.last_actor, 'prepared', '', NEW.state, '',
           '{"payload_hash":"' || i.payload_hash || '"}', 0, now(), '', ''
    FROM operations_intent i WHERE i.operation_id = NEW.intent_id;
    RETURN NULL;
END $$;

CREATE TRIGGER journal_prepared AFTER INSERT ON operations_operation
    FOR EACH ROW EXECUTE FUNCTION opsconsole_journal_prepared();

CREATE TRIGGER journal AFTER UPDATE ON operations_operation
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION opsconsole_journal_transition();
