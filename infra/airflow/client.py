"""Airflow's REST API, as far as running the DAGs needs it. Standard library only: both environments use it."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
FINISHED = {"success", "failed"}
SAY_SECONDS = 15.0
ANSWER_SECONDS = 180  # longer than Airflow waits for its database, see airflow.env


class RestError(Exception):
    """The API refused."""

    def __init__(self, status: int, words: str) -> None:
        self.status = status
        super().__init__(f"{status}: {words}")


class Client:
    def __init__(self, url: str, user: str = "", password: str = "") -> None:
        self._url = url
        self._token = ""
        if user:
            self._token = self._ask("POST", "/auth/token", {"username": user, "password": password})["access_token"]

    def health(self) -> dict[str, str]:
        """Status by component."""
        found = self._ask("GET", "/api/v2/monitor/health")
        return {name: part["status"] or "" for name, part in found.items() if part}

    def set_pool(self, name: str, *, slots: int, description: str) -> None:
        pool = {"slots": slots, "description": description, "include_deferred": False}
        try:
            self._ask("POST", "/api/v2/pools", {"name": name, **pool})
        except RestError as error:
            if error.status != 409:
                raise
            self._ask("PATCH", f"/api/v2/pools/{name}", {"pool": name, **pool})

    def set_connection(self, name: str, **connection: Any) -> None:
        """Makes a connection, or changes it: its password is kept encrypted, and in no environment."""
        try:
            self._ask("POST", "/api/v2/connections", {"connection_id": name, **connection})
        except RestError as error:
            if error.status != 409:
                raise
            self._ask("PATCH", f"/api/v2/connections/{name}", {"connection_id": name, **connection})

    def dags(self) -> set[str]:
        return {dag["dag_id"] for dag in self._ask("GET", "/api/v2/dags?limit=100")["dags"]}

    def import_errors(self) -> list[Json]:
        found: list[Json] = self._ask("GET", "/api/v2/importErrors")["import_errors"]
        return found

    def wait_for_dags(self, names: set[str], seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while not names <= (found := self.dags()):
            if time.monotonic() > end:
                raise TimeoutError(f"not parsed: {names - found}; errors: {self.import_errors()}")
            time.sleep(0.5)

    def pause(self, dag: str, is_paused: bool = True) -> None:
        self._ask("PATCH", f"/api/v2/dags/{dag}", {"is_paused": is_paused})

    def unpause(self, *dags: str) -> None:
        for dag in dags:
            self.pause(dag, False)

    def trigger(self, dag: str, conf: Json | None = None) -> str:
        """The new run's id. Without a logical date: winnow's DAGs take their date from the conf or the partition."""
        body = {"logical_date": None, "conf": conf or {}}
        return str(self._ask("POST", f"/api/v2/dags/{dag}/dagRuns", body)["dag_run_id"])

    def runs(self, dag: str) -> list[Json]:
        """All runs, oldest first."""
        found: list[Json] = self._ask("GET", f"/api/v2/dags/{dag}/dagRuns?limit=100&order_by=id")["dag_runs"]
        return found

    def run(self, dag: str, run_id: str) -> Json:
        return self._ask("GET", _run(dag, run_id))

    def tasks(self, dag: str, run_id: str) -> dict[str, Json]:
        """Task instances of a run, by task id; those of a mapped task as `match[0]`."""
        found = self._ask("GET", f"{_run(dag, run_id)}/taskInstances?limit=100")["task_instances"]
        return {_named(task["task_id"], task["map_index"]): task for task in found}

    def fail_task(self, dag: str, run_id: str, task: str) -> None:
        """What the button *Mark as failed* does."""
        name, index = _task(task)
        mapped = f"/{index}" if index >= 0 else ""
        self._ask("PATCH", f"{_run(dag, run_id)}/taskInstances/{name}{mapped}", {"new_state": "failed"})

    def fail_run(self, dag: str, run_id: str) -> None:
        """What *Mark as failed* of a run does: its tasks are stopped."""
        self._ask("PATCH", _run(dag, run_id), {"state": "failed"})

    def clear(self, dag: str, run_id: str) -> None:
        """Run what failed, and what follows it, again.

        SQLite refuses at once to change what the scheduler has changed since it was read, so it is tried three times.
        """
        for is_last in (False, False, True):
            try:
                self._ask("POST", f"{_run(dag, run_id)}/clear", {"dry_run": False, "only_failed": True})
            except RestError as error:
                if is_last or error.status != 500:
                    raise
                time.sleep(2)
            else:
                return

    def xcom(self, dag: str, run_id: str, task: str, key: str = "return_value") -> Any:
        name, index = _task(task)
        return self._ask("GET", f"{_run(dag, run_id)}/taskInstances/{name}/xcomEntries/{key}?map_index={index}")[
            "value"
        ]

    def links(self, dag: str, run_id: str, task: str) -> dict[str, str | None]:
        name, index = _task(task)
        found: dict[str, str | None]
        found = self._ask("GET", f"{_run(dag, run_id)}/taskInstances/{name}/links?map_index={index}")["extra_links"]
        return found

    def page(self, address: str) -> str:
        """What a browser gets that is logged in."""
        request = urllib.request.Request(address, headers={"Cookie": f"_token={self._token}", "Accept": "text/html"})
        with _DIRECT.open(request, timeout=ANSWER_SECONDS) as response:
            return str(response.read().decode())

    def log(self, dag: str, run_id: str, task: str) -> str:
        """The messages of a task's newest try."""
        number, (name, index) = self.tasks(dag, run_id)[task]["try_number"], _task(task)
        path = f"{_run(dag, run_id)}/taskInstances/{name}/logs/{number}?map_index={index}"
        content = self._ask("GET", path)["content"]
        return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in content)

    def events(self, asset: str) -> list[Json]:
        """Events of an asset, oldest first."""
        found = self._ask("GET", "/api/v2/assets/events?limit=100&order_by=timestamp")["asset_events"]
        return [event for event in found if event["name"] == asset]

    def wait(self, dag: str, run_id: str, *, seconds: float, say: Callable[[str], None] | None = None) -> str:
        """The state in which the run ends."""
        return str(self.wait_for(lambda: self._ended(dag, run_id), f"{dag} {run_id}", seconds=seconds, say=say))

    def _ended(self, dag: str, run_id: str) -> tuple[str | None, str]:
        state = self.run(dag, run_id)["state"]
        at_work = [name for name, task in self.tasks(dag, run_id).items() if task["state"] == "running"]
        return (state if state in FINISHED else None), f"{dag}: {', '.join(at_work) or state}"

    def wait_for(
        self,
        look: Callable[[], tuple[Any, str]],
        what: str,
        *,
        seconds: float,
        say: Callable[[str], None] | None = None,
    ) -> Any:
        """What `look` finds, asked until it finds something; its words are said when they change, and now and then."""
        start = said_at = time.monotonic()
        said = ""
        while True:
            found, words = look()
            now = time.monotonic()
            if say and (words != said or now - said_at > SAY_SECONDS):
                say(f"{words} ({now - start:.0f} s)")
                said, said_at = words, now
            if found:
                return found
            if now - start > seconds:
                raise TimeoutError(f"{what}: not within {seconds:.0f} s; last seen: {words}")
            time.sleep(0.5)

    def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self._url + path, data=data, headers=headers, method=method)
        try:
            with _DIRECT.open(request, timeout=ANSWER_SECONDS) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            raise RestError(error.code, error.read().decode(errors="replace")) from None
        answer: Json = json.loads(text) if text else {}
        return answer


def _named(task: str, index: int) -> str:
    return f"{task}[{index}]" if index >= 0 else task


def _task(named: str) -> tuple[str, int]:
    """
    >>> _task("audit[2]"), _task("audit")
    (('audit', 2), ('audit', -1))
    """
    name, _, index = named.removesuffix("]").partition("[")
    return name, int(index or -1)


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback: no proxy in between


def _run(dag: str, run_id: str) -> str:
    return f"/api/v2/dags/{dag}/dagRuns/{urllib.parse.quote(run_id, safe='')}"
