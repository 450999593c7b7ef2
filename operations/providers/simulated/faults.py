"""The fault program: which fault meets which request, in the order they were posted."""

import os
import threading
from dataclasses import dataclass
from pathlib import Path

from operations.providers.simulated import checks
from operations.providers.simulated.catalogue import FAULTS, build_plan
from operations.providers.simulated.messages import BadField, Json, Request
from operations.providers.simulated.plan import Plan

COMMON: dict[str, checks.Check] = {
    "fault": checks.one_of(*FAULTS),
    "method": checks.one_of("GET", "POST", "PATCH", "PUT", "DELETE", "*"),
    "path": checks.text,
    "reference": checks.optional(checks.text),
    "times": checks.whole(0),
    "skip": checks.whole(0),
}


@dataclass
class Fault:
    """One posted fault with what is left of it. ``left`` is None for a fault that never ends."""

    id: int
    name: str
    method: str
    path: str
    reference: str | None
    parameters: Json
    plan: Plan
    left: int | None
    skip: int
    fired: int = 0

    def matches(self, request: Request) -> bool:
        """Whether this request is meant: method, path by prefix, reference anywhere in path, query or body."""
        meant = self.method in ("*", request.method) and request.path.startswith(self.path)
        where = f"{request.path}?{request.query}\n{request.text}"
        return meant and (self.reference is None or self.reference in where)

    def shown(self) -> Json:
        """The fault as the admin address shows it."""
        return {
            "id": self.id,
            "fault": self.name,
            "method": self.method,
            "path": self.path,
            "reference": self.reference,
            "left": self.left,
            "skip": self.skip,
            "fired": self.fired,
            **self.parameters,
        }


class FaultProgram:
    """Faults are consumed in the order of posting; the first that matches and is not skipped wins."""

    def __init__(self, worker_pid_file: Path | None) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._posted = 0
        self._worker_pid_file = worker_pid_file

    def post(self, order: Json) -> Json:
        """Add a fault, or raise BadField naming the field that is wrong."""
        common = {name: value for name, value in order.items() if name in COMMON}
        if "fault" not in common:
            raise BadField("fault", "fault is required.")
        checks.demand(COMMON, common)
        name, method = common["fault"], common.get("method", "POST")
        if FAULTS[name].creates and method != "POST":
            raise BadField("method", f"{name} is about creating payments; it goes with POST only.")
        plan, parameters = build_plan(name, {key: value for key, value in order.items() if key not in COMMON})
        if plan.kill and plan.kill.pid == os.getpid():
            raise BadField("pid", "This process does not kill itself.")
        if plan.kill and plan.kill.pid is None and self._worker_pid_file is None:
            raise BadField("pid", "Give a pid, or start with --worker-pid-file.")
        times = common.get("times", 1)
        with self._lock:
            self._posted += 1
            fault = Fault(
                id=self._posted,
                name=name,
                method=method,
                path=common.get("path", "/v1/payments" if FAULTS[name].creates else "/v1"),
                reference=common.get("reference"),
                parameters=parameters,
                plan=plan,
                left=times or None,
                skip=common.get("skip", 0),
            )
            self._faults.append(fault)
            return fault.shown()

    def take(self, request: Request) -> Plan:
        """The plan for this request, using up what it uses up."""
        with self._lock:
            for fault in self._faults:
                if fault.left == 0 or not fault.matches(request):
                    continue
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.fired += 1
                if fault.left is not None:
                    fault.left -= 1
                return fault.plan
        return Plan()

    def shown(self) -> list[Json]:
        """All posted faults, those used up as well."""
        with self._lock:
            return [fault.shown() for fault in self._faults]

    def clear(self) -> None:
        """Forget all faults."""
        with self._lock:
            self._faults.clear()
