-- The invariants of the second floor: who answered stays answered, and no permit exists without its answers.

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON approvals_decision
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON approvals_decision
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON approvals_approvalround
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_truncated BEFORE TRUNCATE ON approvals_approvalround
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();

CREATE FUNCTION opsconsole_guard_round() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'open' OR NOT EXISTS (
            SELECT FROM operations_intent i JOIN operations_operation o ON o.intent_id = i.operation_id
                JOIN operations_policy p ON p.id = i.policy_id
            WHERE i.operation_id = NEW.operation_id AND i.tenant_id = NEW.tenant_id AND o.state = 'not_started'
              AND i.payload_hash = NEW.payload_hash AND i.policy_version = NEW.policy_version
              AND NEW.quorum >= p.quorum
              AND NEW.expires_at <= clock_timestamp() + make_interval(secs => p.approval_seconds)
        ) THEN
            RAISE EXCEPTION 'operation %: a round asks about its own hash and policy', NEW.operation_id
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'round_asks_own_hash';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.operation_id, NEW.tenant_id, NEW.number, NEW.payload_hash, NEW.policy_version, NEW.quorum, NEW.opened_at,
        NEW.expires_at) IS DISTINCT FROM
       (OLD.operation_id, OLD.tenant_id, OLD.number, OLD.payload_hash, OLD.policy_version, OLD.quorum, OLD.opened_at,
        OLD.expires_at)
       OR OLD.status <> 'open' THEN
        RAISE EXCEPTION 'operation %: a round only closes, once', OLD.operation_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'round_only_closes';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON approvals_approvalround
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_round();

-- A decision: on an open round, before its end by this clock, about its hash, by somebody who has the right now.
CREATE FUNCTION opsconsole_guard_decision() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    asked approvals_approvalround;
BEGIN
    SELECT * INTO asked FROM approvals_approvalround WHERE id = NEW.round_id FOR UPDATE;
    IF asked.status <> 'open' OR clock_timestamp() >= asked.expires_at THEN
        RAISE EXCEPTION 'round %: it is closed or its time is over', NEW.round_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'decision_in_time';
    END IF;
    IF (NEW.operation_id, NEW.tenant_id, NEW.payload_hash)
       IS DISTINCT FROM (asked.operation_id, asked.tenant_id, asked.payload_hash) THEN
        RAISE EXCEPTION 'round %: a decision is about the hash that was asked', NEW.round_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'decision_about_hash';
    END IF;
    IF NOT EXISTS (
        SELECT FROM operations_membership m JOIN operations_user u ON u.id = m.user_id AND u.is_active
        WHERE m.tenant_id = NEW.tenant_id AND m.user_id = NEW.person_id AND m.role = 'approver'
    ) OR EXISTS (
        SELECT FROM operations_intent i JOIN operations_agent a ON a.id = i.agent_id
            JOIN operations_policy p ON p.id = i.policy_id
        WHERE i.operation_id = NEW.operation_id AND a.owner_id = NEW.person_id AND NOT p.owner_may_approve
    ) THEN
        RAISE EXCEPTION 'round %: this person may not decide it', NEW.round_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'decision_by_right';
    END IF;
    NEW.decided_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE TRIGGER guard BEFORE INSERT ON approvals_decision
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_decision();

-- Asking and answering are journalled by the database itself, in the same transaction as the rows.
CREATE FUNCTION opsconsole_journal_round() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO operations_journalentry
        (operation_id, tenant_id, actor, verb, before, after, reason, data, sequence, at, previous_hash, hash)
    VALUES (NEW.operation_id, NEW.tenant_id, 'engine', 'approval_asked', '', '', '',
            '{"payload_hash":"' || NEW.payload_hash || '","quorum":' || NEW.quorum || ',"round":' || NEW.number || '}',
            0, now(), '', '');
    RETURN NULL;
END $$;

CREATE TRIGGER journal AFTER INSERT ON approvals_approvalround
    FOR EACH ROW EXECUTE FUNCTION opsconsole_journal_round();

CREATE FUNCTION opsconsole_journal_decision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO operations_journalentry
        (operation_id, tenant_id, actor, verb, before, after, reason, data, sequence, at, previous_hash, hash)
    SELECT NEW.operation_id, NEW.tenant_id, left(u.name, 100) || ' (approver)', 'decided_' || NEW.verdict, '', '',
           left(NEW.reason, 400),
           '{"display_hash":"' || NEW.display_hash || '","payload_hash":"' || NEW.payload_hash
           || '","separate_effect":' || NEW.separate_effect || '}', 0, now(), '', ''
    FROM operations_user u WHERE u.id = NEW.person_id;
    RETURN NULL;
END $$;

CREATE TRIGGER journal AFTER INSERT ON approvals_decision
    FOR EACH ROW EXECUTE FUNCTION opsconsole_journal_decision();

-- A permit: only from a round that its quorum of distinct people approved and nobody rejected.
CREATE FUNCTION opsconsole_guard_new_permit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.revoked_at IS NOT NULL OR NOT EXISTS (
        SELECT FROM approvals_approvalround r
        WHERE r.operation_id = NEW.operation_id AND r.tenant_id = NEW.tenant_id AND r.number = NEW.round_number
          AND r.payload_hash = NEW.payload_hash AND r.policy_version = NEW.policy_version
          AND NEW.expires_at <= r.expires_at
          AND r.quorum <= (SELECT count(DISTINCT d.person_id) FROM approvals_decision d
                           WHERE d.round_id = r.id AND d.verdict = 'approve' AND d.payload_hash = NEW.payload_hash)
          AND NOT EXISTS (SELECT FROM approvals_decision d WHERE d.round_id = r.id AND d.verdict <> 'approve')
    ) THEN
        RAISE EXCEPTION 'operation %: no permit without its quorum', NEW.operation_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'permit_needs_quorum';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard_insert BEFORE INSERT ON operations_permit
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_new_permit();
