"""A client of the service that ``matchrank serve`` runs. It needs the standard library alone."""

from __future__ import annotations

import http.client
import json
import selectors
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from .errors import InputTypeError, ParameterError, ServiceError

#: Failed connections after which a request is given up; the first is usually one that the service has closed.
_ATTEMPTS = 2


class Client:
    """Sends requests to the service.

    A client keeps a connection for each thread, and may be used by many threads.

    Args:
        url: Address of the service, such as ``http://127.0.0.1:7878``.
        key: Read key, or write key for changes; not needed on the machine of the service without keys.
        timeout: Seconds to wait for an answer.
        context: TLS settings for addresses with ``https``.
    """

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 30.0, context: ssl.SSLContext | None = None
    ) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError as error:
            raise ParameterError(f"{url!r} is no address: {error}") from error
        if key is not None and (not key.isascii() or not key.isprintable()):
            raise ParameterError("the key has a character that no key has, such as the end of its line; strip it")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError(f"{url!r} is no address; one like http://127.0.0.1:7878 is expected")
        self._scheme, self._host, self._port = parts.scheme, parts.hostname, port
        self._base = parts.path.rstrip("/")
        self._key, self._timeout, self._context = key, timeout, context
        self._local = threading.local()

    def search(
        self,
        query: str,
        top: int | None = None,
        *,
        k: int | None = None,
        model: str | None = None,
        filter: Mapping[str, Any] | None = None,
        first_stage: Sequence[str] | None = None,
        depth: int | None = None,
        explain: bool = False,
    ) -> dict[str, Any]:
        """Returns the best documents of the collection: ``hits`` with ``id``, ``score`` and ``fields``.

        Args:
            query: Text of the query.
            top: Documents to return, at most 1,000; 10 without it.
            k: Another name of ``top``, as models have it.
            model: Name of a model; the default is that of the service.
            filter: Values that stored fields must have, as in ``{"price": {"lt": 50}}``.
            first_stage: Models that propose the documents to rank; an empty list ranks the whole collection.
            depth: Documents that each of them proposes.
            explain: Explains the scores.
        """
        if top is not None and k is not None:
            raise ParameterError("top and k are given, which mean the same; give one of them")
        top = next((number for number in (top, k) if number is not None), 10)
        body = {"query": query, "top": top, "model": model, "filter": filter, "first_stage": first_stage}
        return self._post("/v1/search", {**body, "depth": depth, "explain": explain or None})

    def rank(
        self,
        query: str | None,
        candidates: Iterable[str | Mapping[str, Any]],
        *,
        model: str | None = None,
        top: int | None = None,
        explain: bool = False,
    ) -> dict[str, Any]:
        """Ranks candidates: ids, or dictionaries with ``id``, ``text``, ``fields`` or ``features``.

        Args:
            query: Text of the query; rankers of feature lists need none.
            candidates: The candidates, at most 10,000.
            model: Name of a model; the default is that of the service.
            top: Candidates to return; all without it.
            explain: Explains the scores.
        """
        if isinstance(candidates, (str, Mapping)) or not hasattr(candidates, "__iter__"):
            raise InputTypeError(
                f"candidates is {candidates!r} of type {type(candidates).__name__}; a list of ids or of dictionaries is expected"
            )
        body = {"query": query, "candidates": list(candidates), "model": model, "top": top, "explain": explain or None}
        return self._post("/v1/rank", body)

    def explain(
        self,
        query: str | None,
        document: str | Mapping[str, Any],
        *,
        against: str | Mapping[str, Any] | None = None,
        candidates: Iterable[str | Mapping[str, Any]] | None = None,
        model: str | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Explains the score of a document, or why it stands above or below another."""
        given = None if candidates is None else list(candidates)
        body = {"query": query, "document": document, "against": against, "candidates": given, "model": model}
        return self._post("/v1/explain", {**body, "filter": filter})

    def compare(
        self, query: str, models: Sequence[str], top: int = 10, *, filter: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns the rankings of two to four models for a query."""
        return self._post("/v1/compare", {"query": query, "models": list(models), "top": top, "filter": filter})

    def document(self, id: str) -> dict[str, Any]:
        """Returns a stored document: ``id``, ``is_new`` and ``fields``."""
        return self._request("GET", f"/v1/documents/{quote(id, safe='')}")

    def put_document(self, id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Adds or replaces a document; the next query sees it."""
        return self._request("PUT", f"/v1/documents/{quote(id, safe='')}", dict(fields))

    def delete_document(self, id: str) -> dict[str, Any]:
        """Deletes a document."""
        return self._request("DELETE", f"/v1/documents/{quote(id, safe='')}")

    def change_documents(
        self, put: Mapping[str, Mapping[str, Any]] | None = None, delete: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Adds, replaces and deletes many documents together.

        Args:
            put: Fields of documents by id.
            delete: Ids of documents.
        """
        documents = [{"id": id, "fields": dict(fields)} for id, fields in (put or {}).items()]
        return self._post("/v1/documents", {"put": documents, "delete": list(delete)})

    def events(self, events: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Sends searches, clicks and other actions. They are on disk when this returns.

        Events with an ``id`` may be sent again after a failure: they are counted once.
        """
        return self._post("/v1/events", dict(events) if isinstance(events, Mapping) else list(events))

    def export(self, of: str = "clicks", since: int | str | None = None) -> tuple[Iterator[str], int | None]:
        """Exports the log while the service runs: lines, and the sequence from which the next export goes on.

        Args:
            of: ``clicks``, ``documents``, ``removed``, ``tuples`` or ``lists``.
            since: Sequence, or day, from which on.
        """
        query = urlencode({name: value for name, value in (("of", of), ("since", since)) if value is not None})
        # A connection of its own: other requests of the thread go on while the lines are read.
        connection = self._connect()
        try:
            connection.request("GET", f"{self._base}/v1/events/export?{query}", None, self._headers())
            response = connection.getresponse()
            if response.status >= 400:
                raise _failure(response.status, response.reason, response.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from error
        except ServiceError:
            connection.close()
            raise
        last = response.headers.get("x-last-sequence")
        return self._lines(connection, response), None if last is None else int(last)

    def _lines(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> Iterator[str]:
        try:
            for line in response:
                yield line.decode().rstrip("\n")
            if response.length:
                raise ServiceError(f"{self!r} ended the export {response.length:,} bytes too early; export again")
        except (OSError, http.client.HTTPException) as error:
            raise ServiceError(f"{self!r} broke the export off: {error}; export again") from error
        finally:
            connection.close()

    def models(self) -> dict[str, Any]:
        """Returns the models with their versions."""
        return self._request("GET", "/v1/models")

    def activate(self, name: str, file: str | None = None, *, reason: str | None = None) -> dict[str, Any]:
        """Loads a file as the next version of a model; a version that does not work is refused.

        Args:
            name: Name of the model.
            file: Name of a file beside the first one of the model; the default reads the current file again.
            reason: Reason that the history keeps.
        """
        body = {"file": file, "reason": reason}
        return self._post(f"/v1/models/{quote(name, safe='')}/activate", body)

    def rollback(self, name: str, *, reason: str | None = None) -> dict[str, Any]:
        """Returns to the version of a model before the current one."""
        return self._post(f"/v1/models/{quote(name, safe='')}/rollback", {"reason": reason})

    def is_ready(self) -> bool:
        """True if the service takes requests."""
        try:
            self._send("GET", "/readyz", None)
        except ServiceError:
            return False
        return True

    def metrics(self) -> str:
        """Figures of the service, in the text format of Prometheus."""
        return self._send("GET", "/metrics", None).decode()

    def close(self) -> None:
        """Closes the connection of this thread."""
        connection = self.__dict__["_local"].__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        port = "" if self._port is None else f":{self._port}"
        return f"Client({self._scheme}://{self._host}{port}{self._base})"

    def _post(self, path: str, body: Any) -> dict[str, Any]:
        if isinstance(body, dict):
            body = {name: value for name, value in body.items() if value is not None}
        return self._request("POST", path, body)

    def _request(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        text = self._send(method, path, body)
        return json.loads(text) if text else {}

    def _connect(self) -> http.client.HTTPConnection:
        if self._scheme == "https":
            context = self._context or ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)

    def _connection(self) -> http.client.HTTPConnection:
        connection = self._local.__dict__.get("connection")
        # A kept connection that has something to read was closed by the service.
        if connection is not None and connection.sock is not None and _is_readable(connection.sock):
            self.close()
            connection = None
        if connection is None:
            connection = self._local.connection = self._connect()
        return connection

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _unreachable(self, error: Exception) -> ServiceError:
        return ServiceError(f"{self!r} cannot be reached: {error}; is the service running there?")

    def _send(self, method: str, path: str, body: Any) -> bytes:
        headers = self._headers()
        content = None
        if body is not None:
            try:
                content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
            except (TypeError, ValueError) as error:
                raise InputTypeError(f"the request cannot be written as JSON: {error}") from error
            headers["Content-Type"] = "application/json"
        for attempt in range(_ATTEMPTS):
            connection = self._connection()
            is_new = connection.sock is None
            try:
                connection.request(method, self._base + path, content, headers)
                response = connection.getresponse()
                text = response.read()
                break
            except (OSError, http.client.HTTPException) as error:
                self.close()
                # The service may have closed a kept connection before it read the request. Requests that change
                # something are not sent twice: it may have read them.
                may_repeat = not is_new and (method == "GET" or path in ("/v1/search", "/v1/rank"))
                if attempt + 1 < _ATTEMPTS and may_repeat and not isinstance(error, TimeoutError):
                    continue
                raise self._unreachable(error) from error
            except BaseException:
                # An interrupted answer would be read by the next request.
                self.close()
                raise
        if response.status >= 400:
            raise _failure(response.status, response.reason, text)
        return text


def _is_readable(sock: socket.socket) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _failure(status: int, reason: str, body: bytes) -> ServiceError:
    text = body.decode(errors="replace")
    try:
        details = json.loads(text)
    except ValueError:
        details = text
    message = text
    if isinstance(details, dict) and isinstance(details.get("error"), dict):
        message = details["error"].get("message", text)
    return ServiceError(f"{status}: {message or reason}", status=status, details=details)
