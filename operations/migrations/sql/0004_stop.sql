-- The emergency stop, where the claim and the last look before sending read it.

CREATE FUNCTION opsconsole_is_stopped(op text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM operations_stop WHERE lifted_at IS NULL) THEN
        RETURN false;
    END IF;
    RETURN EXISTS (
        SELECT FROM operations_intent i
        JOIN operations_connection c ON c.id = i.connection_id
        JOIN operations_agent a ON a.id = i.agent_id
        JOIN operations_stop s ON s.tenant_id = i.tenant_id AND s.lifted_at IS NULL
        WHERE i.operation_id = op AND CASE s.scope
            WHEN 'action' THEN s.subject = i.action
            WHEN 'provider' THEN s.subject = c.provider
            WHEN 'agent' THEN s.subject = a.name
            ELSE true END
    );
END $$;

CREATE FUNCTION opsconsole_guard_stopped_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF opsconsole_is_stopped(NEW.intent_id) THEN
        RAISE EXCEPTION 'operation %: an emergency stop holds it', NEW.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'claim_while_stopped';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard_stopped BEFORE UPDATE ON operations_operation
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state AND NEW.last_event = 'claimed')
    EXECUTE FUNCTION opsconsole_guard_stopped_claim();

-- A stop is set by somebody of the tenant who may, is asked to be lifted, is lifted by a second person; nothing else.
CREATE FUNCTION opsconsole_guard_stop() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    acting bigint := coalesce(NEW.lifted_by_id, NEW.lift_asked_by_id, NEW.set_by_id);
BEGIN
    IF NOT EXISTS (
        SELECT FROM operations_membership m JOIN operations_user u ON u.id = m.user_id AND u.is_active
        WHERE m.tenant_id = NEW.tenant_id AND m.user_id = acting
          AND m.role IN ('approver', 'operator', 'administrator')
    ) THEN
        RAISE EXCEPTION 'this person may neither set nor lift a stop'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'stop_by_right';
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.lift_asked_by_id IS NOT NULL OR NEW.lifted_by_id IS NOT NULL THEN
            RAISE EXCEPTION 'a stop begins holding'
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'stop_begins_holding';
        END IF;
        NEW.set_at := clock_timestamp();
        RETURN NEW;
    END IF;
    IF (NEW.tenant_id, NEW.scope, NEW.subject, NEW.reason, NEW.set_by_id, NEW.set_at)
       IS DISTINCT FROM (OLD.tenant_id, OLD.scope, OLD.subject, OLD.reason, OLD.set_by_id, OLD.set_at)
       OR OLD.lifted_at IS NOT NULL
       OR (OLD.lift_asked_by_id IS NULL AND NEW.lifted_by_id IS NOT NULL)
       OR (OLD.lift_asked_by_id IS NOT NULL AND NEW.lift_asked_by_id IS DISTINCT FROM OLD.lift_asked_by_id) THEN
        RAISE EXCEPTION 'stop %: it is only lifted, by two people one after the other', OLD.id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'stop_only_lifted';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON operations_stop
    FOR EACH ROW EXECUTE FUNCTION opsconsole_guard_stop();
CREATE TRIGGER never_deleted BEFORE DELETE ON operations_stop
    FOR EACH ROW EXECUTE FUNCTION opsconsole_refuse_change();
CREATE TRIGGER never_truncated BEFORE TRUNCATE ON operations_stop
    FOR EACH STATEMENT EXECUTE FUNCTION opsconsole_refuse_change();
