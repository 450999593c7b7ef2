"""The order of things for one request: log, key, fault, act, answer."""

import fcntl
import os
import signal
import sys
from pathlib import Path

from operations.providers.simulated.api import Api
from operations.providers.simulated.events import Events, Settler
from operations.providers.simulated.faults import FaultProgram
from operations.providers.simulated.gates import Gates
from operations.providers.simulated.keys import Keys, Ticket
from operations.providers.simulated.ledger import Ledger
from operations.providers.simulated.messages import Answer, BadField, Request, error
from operations.providers.simulated.plan import Kill, Plan
from operations.providers.simulated.request_log import RequestLog
from operations.providers.simulated.settings import SettingsStore


class Provider:
    """The whole provider, without its sockets. One process at a time may have a data directory."""

    def __init__(self, data: Path, *, keys: str | None = None, worker_pid_file: Path | None = None) -> None:
        data.mkdir(parents=True, exist_ok=True)
        self._lock_file = (data / "lock").open("w")
        fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.settings = SettingsStore(data / "settings.json", keys=keys)
        self.log = RequestLog(data / "requests.jsonl")
        self.ledger = Ledger(data / "ledger.jsonl")
        self.keys = Keys(data / "keys.jsonl", self.settings)
        self.faults = FaultProgram(worker_pid_file)
        self.gates = Gates()
        self.events = Events(self.settings)
        self._settler = Settler(self.ledger, self.events)
        self._api = Api(self.ledger, self.settings)
        self._worker_pid_file = worker_pid_file

    def serve(self, request: Request) -> tuple[Answer | None, Plan]:
        """Carry out one logged request. The answer, None when there is none to give, and how it is to be delivered.

        1. Without credentials nothing happens and no fault is used up.
        2. The first matching fault becomes the plan.
        3. A used key is answered by the key layer; the plan's waiting and delivery still apply.
        4. Otherwise the plan is followed: kill, wait, act, keep the answer under the key, wait, deliver.
        """
        if not authorised(request):
            return error(401, "authentication_error", "missing_credential", "Send a bearer token."), Plan()
        plan = self.faults.take(request)
        try:
            ticket = self.keys.claim(request)
        except BadField as bad:
            return bad.answer(), Plan()
        try:
            self._kill(plan.kill, before=True)
            self._wait(plan.wait_before, plan.hold_before)
            answer = ticket if isinstance(ticket, Answer) else self._act(request, plan, ticket)
        finally:
            if isinstance(ticket, Ticket):
                self.keys.release(ticket)
        self._kill(plan.kill, before=False)
        self._wait(plan.wait_after, plan.hold_after)
        return answer, plan

    def _act(self, request: Request, plan: Plan, ticket: Ticket) -> Answer | None:
        answer = plan.replace
        if plan.acts:
            answer = self._api_answer(request, plan)
            self._follow_up(answer, plan)
            if plan.replace and answer.status < 400:
                answer = plan.replace
        if answer is not None:
            self.keys.finish(ticket, answer)
        return answer

    def _api_answer(self, request: Request, plan: Plan) -> Answer:
        try:
            return self._api.answer(request, plan.effect)
        except BadField as bad:
            return bad.answer()

    def _follow_up(self, answer: Answer, plan: Plan) -> None:
        """What a created payment sets in motion: its final state, and an event that overtakes the answer."""
        value = answer.json()
        stored = self.ledger.payment(str(value.get("id"))) if isinstance(value, dict) else None
        if stored and plan.effect.settle_after is not None:
            self._settler.arm(stored)
        if stored and plan.event_first:
            self.events.send(stored.data)

    def _wait(self, seconds: float, hold: bool) -> None:
        self.gates.pause(seconds)
        if hold:
            self.gates.hold()

    def _kill(self, kill: Kill | None, *, before: bool) -> None:
        if kill is None or kill.before != before:
            return
        try:
            os.kill(kill.pid or int((self._worker_pid_file or Path()).read_text()), signal.SIGKILL)
        except (OSError, ValueError) as problem:
            print(f"kill_caller could not kill: {problem}", file=sys.stderr, flush=True)


def authorised(request: Request) -> bool:
    """Any bearer token will do, but there must be one."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and bool(token.strip())
