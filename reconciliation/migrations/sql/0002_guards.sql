-- The invariants of the third floor: what was found and settled stays, and nothing is settled without a resolution.

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON reconciliation_lookup
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON reconciliation_lookup
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON reconciliation_resolution
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON reconciliation_resolution
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON reconciliation_case
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_truncated BEFORE TRUNCATE ON reconciliation_case
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();

-- A case and a look-up belong to the tenant of their operation, and a look-up shows its own operation's evidence.
CREATE FUNCTION opsconsole_guard_new_case() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM operations_operation o WHERE o.intent_id = NEW.operation_id AND o.tenant_id = NEW.tenant_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'operation %: not of this tenant', NEW.operation_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'case_same_tenant';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard_insert BEFORE INSERT ON reconciliation_case
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_new_case();

CREATE FUNCTION opsconsole_guard_new_look_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM operations_evidence e WHERE e.id = NEW.evidence_id AND e.operation_id = NEW.operation_id
        AND e.tenant_id = NEW.tenant_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'operation %: not its evidence, or not of this tenant', NEW.operation_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'lookup_same_tenant';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard_insert BEFORE INSERT ON reconciliation_lookup
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_new_look_up();

CREATE FUNCTION opsconsole_guard_case() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.operation_id, NEW.tenant_id, NEW.kind, NEW.why, NEW.opened_at)
       IS DISTINCT FROM (OLD.operation_id, OLD.tenant_id, OLD.kind, OLD.why, OLD.opened_at)
       OR OLD.closed_at IS NOT NULL THEN
        RAISE EXCEPTION 'case %: a case only closes, once', OLD.id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'case_only_closes';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard BEFORE UPDATE ON reconciliation_case
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_case();

-- A resolution: on an open case of the same operation, by an operator of this tenant as of now.
CREATE FUNCTION opsconsole_guard_resolution() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM reconciliation_case c
        WHERE c.id = NEW.case_id AND c.operation_id = NEW.operation_id AND c.tenant_id = NEW.tenant_id
          AND c.closed_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'case %: it is closed or of another operation', NEW.case_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'resolution_of_open_case';
    END IF;
    IF NOT EXISTS (
        SELECT FROM operations_membership m JOIN operations_user u ON u.id = m.user_id AND u.is_active
        WHERE m.tenant_id = NEW.tenant_id AND m.user_id = NEW.by_id AND m.role = 'operator'
    ) THEN
        RAISE EXCEPTION 'case %: this person may not settle it', NEW.case_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'resolution_by_right';
    END IF;
    NEW.resolved_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE TRIGGER guard BEFORE INSERT ON reconciliation_resolution
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_resolution();

-- A settled operation: by a resolution that says so and is newer than its last attempt.
CREATE FUNCTION opsconsole_guard_settlement() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM reconciliation_resolution r
        WHERE r.operation_id = NEW.intent_id
          AND r.verdict = CASE NEW.last_event WHEN 'settled_happened' THEN 'happened'
              WHEN 'settled_did_not' THEN 'did_not_happen' ELSE 'may_retry' END
          AND r.resolved_at > coalesce((SELECT max(a.claimed_at) FROM operations_attempt a
                                        WHERE a.operation_id = NEW.intent_id), '-infinity')
    ) THEN
        RAISE EXCEPTION 'operation %: nobody resolved it that way since its last attempt', NEW.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'settlement_needs_resolution';
    END IF;
    IF NEW.last_event IN ('settled_may_retry', 'settled_did_not') AND clock_timestamp() < (
        SELECT max(a.absence_credible_at) FROM operations_attempt a
        WHERE a.operation_id = NEW.intent_id AND a.outcome <> 'not_sent'
    ) THEN
        RAISE EXCEPTION 'operation %: the last request may still be on its way', NEW.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'absence_said_too_early';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard_settlement BEFORE UPDATE ON operations_operation
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state AND NEW.last_event LIKE 'settled\_%')
    EXECUTE FUNCTION opsconsole_guard_settlement();
