"""The adapter that a contract file drives. It adds the credential and nothing else to what was rendered."""

from operations.core.contract import Contract, LookUpWay
from operations.core.intent import Json
from operations.core.outcomes import Answer, Phase
from operations.core.render import RenderedRequest, Unrenderable, read_request
from operations.providers.http import send
from operations.providers.ports import Limits


class _HttpDoor:
    def __init__(self, target: str, secret: str, contract: Contract) -> None:
        self._target, self._secret, self._contract = target, secret, contract

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._contract.cited}>"

    def _credential(self) -> dict[str, str]:
        credential = self._contract.credential
        return {credential.header: credential.value.replace("{credential}", self._secret)}


class HttpWriter(_HttpDoor):
    """Submits one rendered request once."""

    def submit(self, request: RenderedRequest, *, limits: Limits) -> Answer:
        """See `ports.Writer.submit`."""
        return send(self._target, request, self._credential(), limits=limits)


class HttpReader(_HttpDoor):
    """Reads by one of the contract's ways."""

    def look_up(self, way: LookUpWay, values: dict[str, Json], *, limits: Limits) -> Answer:
        """See `ports.Reader.look_up`."""
        try:
            request = read_request(way, values)
        except Unrenderable as error:
            return Answer(phase=Phase.CONNECTING, error=str(error))
        return send(self._target, request, self._credential(), limits=limits)
