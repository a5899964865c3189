"""The HTTP interface of a pool."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from fault_injection import as_a_process, child
from prometheus_client.parser import text_string_to_metric_families

from matchenv.cli import run_command
from matchenv.service import Game, Pool
from matchenv.service.http import BLOCK_OF_GAMES, BODY_BYTES, create_app, listen
from matchenv.service.schemas import NEW_PLAYERS, PROPOSALS, SPLIT_PLAYERS, WAITING


@pytest.fixture
def pool() -> Pool:
    return Pool()


@pytest.fixture
def client(pool: Pool) -> Iterator[TestClient]:
    with TestClient(create_app(pool)) as client:
        yield client


def test_players_over_http(client: TestClient, pool: Pool) -> None:
    answer = client.post("/players", json={"name": "cid/ö", "mu": 30.0})
    assert (answer.status_code, answer.json()["mu"]) == (201, 30.0)
    assert client.get("/players/cid/ö").json()["games_played"] == 0
    assert client.get("/players/nobody").status_code == 404
    players = [{"name": "ann"}, {"name": "bob", "sigma": 2.0, "region": "eu"}]
    answer = client.post("/players/bulk", json={"players": players})
    assert (answer.status_code, answer.json()) == (201, {"added": 2})
    assert (pool.player("bob").sigma, pool.player("bob").region) == (2.0, "eu")
    # All or none.
    again = client.post("/players/bulk", json={"players": [{"name": "dan"}, {"name": "ann"}]})
    assert (again.status_code, "dan" in pool) == (422, False)
    assert client.delete("/players/cid/ö").status_code == 204
    assert len(pool) == 2


def test_a_new_player_has_exposed_0_over_http() -> None:
    with TestClient(create_app(Pool(drift_per_day=0.5))) as client:
        assert client.post("/players", json={"name": "ann"}).json()["exposed"] == 0.0
        assert client.get("/players/ann").json()["exposed"] == 0.0
        assert client.get("/standings").json()["standings"][0]["exposed"] == 0.0


def test_games_over_http(client: TestClient, pool: Pool) -> None:
    pool.add_many(["ann", "bob"])
    game = {"teams": [["ann"], ["bob"]], "ranks": [1, 2]}
    ratings = client.post("/games", json={"games": [game]}).json()["ratings"]
    same = Pool()
    same.add_many(["ann", "bob"])
    same.rate(Game([["ann"], ["bob"]], [1, 2]))
    assert ratings == {"ann": same["ann"]._asdict(), "bob": same["bob"]._asdict()}
    assert client.get("/standings?limit=1").json()["standings"][0]["name"] == "ann"


def test_a_repeated_request_returns_the_first_answer(tmp_path: Path) -> None:
    file = tmp_path / "pool.db"
    game = {"teams": [["ann"], ["bob"]], "ranks": [1, 2], "id": "first"}
    request = {"games": [game, {**game, "id": "second"}, {**game, "id": "third"}]}
    with Pool.open(file) as pool, TestClient(create_app(pool)) as client:
        pool.add_many(["ann", "bob"])
        answer = client.post("/games", json=request)
        assert answer.json()["ratings"]["ann"] == pool["ann"]._asdict()
        client.post("/games", json={"games": [{**game, "id": "later"}]})
        assert client.post("/games", json=request).content == answer.content
        other = client.post("/games", json={"games": [{**game, "ranks": [2, 1]}]})
        assert (other.status_code, "'first'" in other.json()["detail"]) == (409, True)
        assert pool.games == 4
    with Pool.open(file) as pool, TestClient(create_app(pool)) as client:
        assert client.post("/games", json=request).content == answer.content
        assert pool.games == 4


def test_large_requests_are_rated_in_order_or_not_at_all(client: TestClient, pool: Pool) -> None:
    rng = random.Random(0)
    names = [f"p{i}" for i in range(30)]
    pool.add_many(names)
    same = Pool()
    same.add_many(names)
    bodies = []
    games = []
    for number in range(2 * BLOCK_OF_GAMES + 7):
        one, other = rng.sample(names, 2)
        bodies.append({"teams": [[one], [other]], "ranks": [1, 2], "id": f"game {number}"})
        games.append(Game([[one], [other]], [1, 2]))
    bad = {"teams": [["p0"], ["nobody"]], "ranks": [1, 2]}
    answer = client.post("/games", json={"games": [*bodies, bad]})
    assert (answer.status_code, pool.games) == (404, 0)
    assert f"games[{len(bodies)}]: 'nobody'" in answer.json()["detail"]
    ratings = client.post("/games", json={"games": bodies}).json()["ratings"]
    same.rate(games)
    assert ratings == {name: same[name]._asdict() for name in sorted(names)}
    assert client.post("/games", json={"games": bodies}).json()["ratings"] == ratings
    assert pool.games == len(games)


def test_decisions_over_http(client: TestClient, pool: Pool) -> None:
    pool.add_many(["ann", "bob", "cid", "dan"])
    proposals = client.post("/proposals", json={"player": "cid", "k": 2}).json()["proposals"]
    assert proposals == [meeting._asdict() for meeting in pool.propose("cid", 2)]
    required = {"ann": 0.1, "bob": 0.1, "dan": 0.1, "cid": 0.1}
    for waiting in (required, list(required)):
        assert len(client.post("/matches", json={"waiting": waiting}).json()["matches"]) == 2
    body = {"players": list(required), "sides": 2, "together": [["ann", "bob"]]}
    teams = client.post("/splits", json=body).json()["teams"]
    assert sorted(sorted(team) for team in teams) == [["ann", "bob"], ["cid", "dan"]]
    pair = {"one": "ann", "other": "bob"}
    assert client.post("/blocks", json=pair).status_code == 204
    assert "bob" not in {meeting.opponent for meeting in pool.propose("ann", 9)}
    assert client.post("/blocks/lifted", json=pair).status_code == 204
    assert "bob" in {meeting.opponent for meeting in pool.propose("ann", 9)}


def test_health_and_backup(tmp_path: Path) -> None:
    file = tmp_path / "pool.db"
    with Pool.open(file) as pool, TestClient(create_app(pool)) as client:
        pool.add("ann")
        assert client.get("/health").json() == {"status": "ok", "players": 1, "games": 0}
        assert client.head("/health").status_code == 200
        copy = tmp_path / "copy.db"
        copy.write_bytes(client.get("/backup").content)
        with Pool.open(copy) as restored:
            assert restored.standings() == pool.standings()
        file.unlink()
        answer = client.get("/health")
        assert answer.status_code == client.head("/health").status_code == 503
        assert answer.json()["status"] == "the pool's file has been moved or removed"
        assert client.post("/players", json={"name": "bob"}).status_code == 503


def test_metrics_have_declared_labels(client: TestClient, pool: Pool) -> None:
    """Names of players, or methods that a client makes up, would be unbounded."""
    client.post("/players", json={"name": "ann"})
    assert client.get("/players/nobody").status_code == 404
    assert client.request("NO-METHOD", "/health").status_code == 405
    values = {}
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for sample in family.samples:
            values[sample.name, *sample.labels.values()] = sample.value
    assert values["matchenv_players",] == 1
    assert values["matchenv_games",] == 0
    assert values["matchenv_request_seconds_count", "POST", "/players", "201"] == 1
    assert values["matchenv_request_seconds_count", "GET", "/players/{name:path}", "404"] == 1
    assert values["matchenv_request_seconds_count", "other", "other", "405"] == 1


def test_answers_are_typed_and_the_documentation_works_offline(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    models = described["components"]["schemas"]
    for path, methods in described["paths"].items():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                if status in ("200", "201") and path not in ("/metrics", "/backup"):
                    reference = response["content"]["application/json"]["schema"]["$ref"]
                    assert models[reference.split("/")[-1]]["properties"]
    assert models["Player"]["properties"]["games_played"]["type"] == "integer"
    waiting = models["MatchesBody"]["properties"]["waiting"]["anyOf"]
    assert waiting[0]["maxItems"] == waiting[1]["maxProperties"] == WAITING
    raw = described["paths"]["/backup"]["get"]["responses"]["200"]["content"]
    assert list(raw) == ["application/vnd.sqlite3"]
    links = re.findall(r"""(?:src|href|url)[=:]\s*["']([^"']+)""", client.get("/docs").text)
    assert len(links) >= 3
    for link in links:
        assert client.get(link).status_code == 200  # fails for links to other hosts


def test_decisions_leave_threads_to_other_requests(client: TestClient, pool: Pool) -> None:
    pool.add_many(["ann", "bob"])
    decided = threading.Event()
    pool._rule = lambda *_: 0 if decided.wait(60) else 1
    with ThreadPoolExecutor(60) as clients:
        asked = []
        for _ in range(50):
            asked.append(clients.submit(client.post, "/proposals", json={"player": "ann"}))
        try:
            time.sleep(0.5)
            for path in ("/health", "/players/ann"):
                assert clients.submit(client.get, path).result(timeout=30).status_code == 200
        finally:
            decided.set()
    assert {proposal.result().status_code for proposal in asked} == {200}


def test_an_app_runs_in_several_event_loops(pool: Pool) -> None:
    pool.add_many(["ann", "bob"])
    app = create_app(pool)

    async def ask() -> set[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            asked = [client.post("/proposals", json={"player": "ann"}) for _ in range(6)]
            return {answer.status_code for answer in await asyncio.gather(*asked)}

    assert [asyncio.run(ask()) for _ in range(2)] == [{200}, {200}]


SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/proposals",
    "query_string": b"",
    "headers": [(b"content-type", b"application/json"), (b"host", b"localhost")],
    "root_path": "",
    "http_version": "1.1",
}


def test_requests_that_a_stopping_service_cuts_off_are_answered(pool: Pool) -> None:
    sent = list[Any]()

    async def receive() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    async def stop() -> None:
        task = asyncio.create_task(create_app(pool)(SCOPE.copy(), receive, send))
        await asyncio.sleep(0.1)
        task.cancel()
        await task

    asyncio.run(stop())
    assert sent[0]["status"] == 503


def test_decisions_for_clients_that_have_left_are_not_computed(pool: Pool) -> None:
    received = iter([{"type": "http.request", "body": b'{"player": "nobody"}'}])
    sent = list[Any]()

    async def receive() -> Any:
        return next(received, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(create_app(pool)(SCOPE.copy(), receive, send))
    assert [message.get("status") for message in sent] == [499, None]


def test_backups_that_are_not_read_take_little_memory(pool: Pool) -> None:
    scope = {**SCOPE, "method": "GET", "path": "/backup", "headers": []}
    begun = list[Any]()
    read = asyncio.Event()
    app = create_app(pool)

    async def download() -> bytes:
        chunks = list[bytes]()

        async def send(message: Any) -> None:
            if message.get("body"):
                begun.append(message)
                await read.wait()
                chunks.append(message["body"])

        await app(scope, asyncio.Event().wait, send)
        return b"".join(chunks)

    async def download_several() -> list[bytes]:
        downloads = [asyncio.create_task(download()) for _ in range(4)]
        await asyncio.wait(downloads, timeout=0.5)
        assert len(begun) == 2  # at the same time
        read.set()
        return await asyncio.gather(*downloads)

    assert asyncio.run(download_several()) == [pool.backup()] * 4


def many(count: int) -> list[str]:
    return list(map(str, range(count)))


BAD_REQUESTS: list[tuple[str, Any, int, str]] = [
    ("/players", {"name": "ann"}, 422, "ann"),
    ("/players", {"name": "new", "colour": 1}, 422, "colour"),
    ("/players", '{"name": "new", "mu": NaN}', 422, "mu"),
    ("/players", {"name": "new", "mu": True}, 422, "mu"),
    ("/proposals", {"player": "ann", "k": "1"}, 422, "k"),
    ("/games", {"games": [1] * 300_000}, 422, "games.0"),
    ("/proposals", {"player": "ann", "among": [*many(90_000), "1"]}, 422, "'1' twice"),
    ("/players", "{", 422, "JSON"),
    ("/games", {"games": [{"teams": [["ann"], ["eve"]], "ranks": [1, 2]}]}, 404, "eve"),
    ("/games", {"games": [{"teams": [["ann"]], "ranks": [1]}]}, 422, "sides, got [['ann']]"),
    ("/games", "[" * 100_000, 400, "body"),
    ("/players", " " * (BODY_BYTES + 1), 413, ""),
    ("/players/bulk", {"players": [{"name": "x"}] * (NEW_PLAYERS + 1)}, 422, "players"),
    ("/games", {"games": [{"teams": [["ann"], ["bob"]], "ranks": [1, 2], "id": 7}]}, 422, "id"),
    ("/splits", {"players": many(SPLIT_PLAYERS + 1)}, 422, "players"),
    ("/matches", {"waiting": many(WAITING + 1)}, 422, "waiting"),
    ("/matches", {"waiting": dict.fromkeys(many(WAITING + 1), 0.5)}, 422, "waiting"),
    ("/proposals", {"player": "ann", "k": PROPOSALS + 1}, 422, "k:"),
]


def test_bad_requests_are_explained_and_change_nothing(client: TestClient, pool: Pool) -> None:
    pool.add_many(["ann", "bob"])
    before = pool.standings()
    for path, body, status, word in BAD_REQUESTS:
        content = body
        if not isinstance(body, str):
            content = json.dumps(body)
        answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == status, (path, word)
        assert word in answer.text
        assert len(answer.text) < 1100
        assert (pool.standings(), pool.games) == (before, 0)


def test_a_served_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Start from ratings and a fit, without standard output; SIGTERM loses nothing.

    Half-sent requests do not block others, and time out. A second service on the same port fails
    with one line, and creates no pool.
    """
    importlib.import_module("matchenv.benchmarks.replay.fits")  # imported before the fork
    monkeypatch.setattr("matchenv.service.http.CONNECTIONS", 10)
    monkeypatch.setattr("matchenv.service.http.REQUEST_SECONDS", 1)
    head = b"POST /games HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
    file = tmp_path / "pool.db"
    ratings = tmp_path / "ratings.csv"
    fit = tmp_path / "fit.json"
    ratings.write_text("player,mu,sigma,games\nann,30.5,2.25,7\nbob,25,8,1\n'@cid,25,8,1\n")
    fit.write_text(json.dumps({"parameters": {"beta": 3.5, "time_drift": 0.25, "advantage": 1.0}}))
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    service = f"http://127.0.0.1:{port}"
    words = ["serve", "--ratings", str(ratings), "--fitted", str(fit), "--port", str(port)]
    words += ["--pool"]
    halves: list[socket.socket] = []

    def without_output() -> int:
        sys.stdout = None  # type: ignore[assignment]
        return as_a_process([*words, str(file)], tmp_path)()

    with child(without_output) as running:
        while running.process.is_alive():
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            running.process.join(0.02)
        with ExitStack() as opened:
            for sent in (b"", head[:-5], head + b"\r\n{") * 9:
                half = socket.create_connection(("127.0.0.1", port), timeout=60)
                halves.append(opened.enter_context(half))
                half.sendall(sent)
            named = {"Host": f"evil.example:{port}"}  # a web page's name for 127.0.0.1
            assert httpx.get(f"{service}/health", headers=named, timeout=60).status_code == 400
            assert httpx.get(f"{service}/players/ann", timeout=60).json()["mu"] == 30.5
            # Without the spreadsheet's apostrophe.
            assert httpx.get(f"{service}/players/@cid", timeout=60).json()["mu"] == 25.0
            for half in halves[-3:]:
                with suppress(ConnectionError):
                    assert half.recv(1) == b""
        game = {"teams": [["ann"], ["bob"]], "ranks": [0, 0]}
        for _ in range(10):
            answer = httpx.post(f"{service}/games", json={"games": [game]}, timeout=60)
            assert answer.status_code == 200
        assert run_command([*words, str(tmp_path / "new.db")]) == 1
        out, error = capsys.readouterr()
        assert (out, error.count("\n")) == ("", 1)
        assert f"cannot listen at 127.0.0.1:{port}: Address already in use" in error
        assert not (tmp_path / "new.db").exists()
        os.kill(running.process.pid, signal.SIGTERM)
        ended = running.ended()
    assert (ended.status, ended.error) == (143, f"terminated; {file} has all acknowledged games\n")
    with Pool.open(file) as pool:
        assert pool.games == pool.player("ann").games_played == 10
        assert (pool.settings.beta, pool.settings.drift_per_day) == (3.5, 0.25)


def test_a_large_request_does_not_hold_up_others(tmp_path: Path) -> None:
    """The bound is a ratio, since shared machines are slow: others wait for one block, not all."""
    names = [f"p{i}" for i in range(500)]
    rng = random.Random(0)
    games = []
    for number in range(12000):
        one, other = rng.sample(names, 2)
        games.append({"teams": [[one], [other]], "ranks": [1, 2], "id": f"game {number}"})
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    words = ["serve", "--pool", "pool.db", "--port", str(port)]
    command = [sys.executable, "-m", "matchenv", *words, "--quiet"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    try:
        service = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        while process.poll() is None:
            with suppress(httpx.ConnectError):
                service.get("/health")
                break
            time.sleep(0.05)
        new = [{"name": name} for name in names]
        assert service.post("/players/bulk", json={"players": new}).status_code == 201
        body = json.dumps({"games": games})

        def post_all() -> float:
            start = time.perf_counter()
            headers = {"Content-Type": "application/json"}
            large = httpx.post(
                f"{service.base_url}/games", content=body, headers=headers, timeout=60
            )
            assert large.status_code == 200
            return time.perf_counter() - start

        waits = []
        with ThreadPoolExecutor(1) as thread:
            posting = thread.submit(post_all)
            while not posting.done():
                start = time.perf_counter()
                assert service.get("/players/p0").status_code == 200
                small = {"games": [{"teams": [["p0"], ["p1"]], "ranks": [1, 2]}]}
                assert service.post("/games", json=small).status_code == 200
                waits.append(time.perf_counter() - start)
        assert len(waits) > 5
        assert max(waits) < posting.result() / 2
    finally:
        process.terminate()
        process.communicate()


BAD_OPTIONS = [
    ("name,mu\nann,1\n", "--beta 1", "player"),
    ("player,mu,sigma\nann,1,2\nann,1,2\n", "--beta 1", "twice"),
    ("player,mu,sigma\n", "--fitted none", "fitted must be a folder"),
    ("player,mu,sigma\n", "--fitted fit.json --beta 1", "--fitted has its own, got --beta"),
    ("player,mu,sigma\n", "--fitted fit.json --mu 9", "--fitted has its own, got --mu"),
]


def test_bad_ratings_and_fits_are_refused_before_a_pool_is_created(typed: Any) -> None:
    parameters = {"beta": 3.5, "draw_probability": 0.0}
    Path("fit.json").write_text(json.dumps({"parameters": parameters}))
    for table, options, word in BAD_OPTIONS:
        Path("ratings.csv").write_text(table)
        ended = typed(f"serve {options} --pool pool.db --port 0 --ratings ratings.csv")
        assert word in ended.refusal
        assert sorted(os.listdir()) == ["fit.json", "ratings.csv"]


def test_a_service_is_started_again_by_the_same_command(
    typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fitted 0 of a log without draws can be set; what a pool does not have is said."""
    served = list[tuple[int, float, float]]()

    def note_settings(pool: Pool, *_: Any) -> None:
        served.append((len(pool), pool.settings.beta, pool.settings.draw_probability))

    monkeypatch.setattr("matchenv.service.http.serve", note_settings)
    Path("ratings.csv").write_text("player,mu,sigma,games\nann,30.5,2.25,7\n")
    parameters = {"beta": 3.5, "draw_probability": 0.0, "team_exponent": 0.5}
    Path("fit.json").write_text(json.dumps({"parameters": parameters, "verdict": "worse"}))
    words = "serve --pool pool.db --port 0 --ratings ratings.csv --fitted fit.json"
    warnings = ["a pool rates without the fitted team_exponent", "so those of .* are not added"]
    for warning in warnings:
        with pytest.warns(match=warning):
            assert typed(f"{words} --draw-probability 0.2").status == 0
    assert served == [(1, 3.5, 0.2)] * 2
