"""The service over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from matchenv.cli import run_command
from matchenv.service import Game, Pool

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

import uvicorn
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from matchenv.service.http import (
    BODY_BYTES,
    PROPOSALS,
    SPLIT_PLAYERS,
    WAITING,
    LimitedConnection,
    create_app,
    listen,
)


@pytest.fixture
def pool() -> Pool:
    return Pool()


@pytest.fixture
def client(pool: Pool) -> Iterator[TestClient]:
    with TestClient(create_app(pool)) as client:
        yield client


def test_a_round_through_all_routes(client: TestClient, pool: Pool) -> None:
    for name in ("ann", "bob", "cid/ö", "dan"):
        assert client.post("/players", json={"name": name}).status_code == 201
    game = {"teams": [["ann"], ["bob"]], "ranks": [1, 2]}
    rated = client.post("/games", json={"games": [game]}).json()["ratings"]
    same = Pool()
    same.add_many(["ann", "bob"])
    same.rate(Game([["ann"], ["bob"]], [1, 2]))
    assert rated["ann"]["mu"] == same["ann"].mu
    assert client.get("/players/cid/ö").json()["games_played"] == 0
    proposals = client.post("/proposals", json={"player": "cid/ö", "k": 2}).json()["proposals"]
    assert [each["opponent"] for each in proposals] == [
        each.opponent for each in pool.propose("cid/ö", 2)
    ]
    waiting = {"ann": 0.1, "bob": 0.1, "dan": 0.1, "cid/ö": 0.1}
    assert len(client.post("/matches", json={"waiting": waiting}).json()["matches"]) == 2
    assert len(client.post("/matches", json={"waiting": list(waiting)}).json()["matches"]) == 2
    split = {"players": list(waiting), "sides": 2, "together": [["ann", "bob"]]}
    assert sorted(map(sorted, client.post("/splits", json=split).json()["teams"])) == [
        ["ann", "bob"],
        ["cid/ö", "dan"],
    ]
    assert client.get("/standings?limit=1").json()["standings"][0]["name"] == "ann"
    pair = {"one": "ann", "other": "bob"}
    assert client.post("/blocks", json=pair).status_code == 204
    assert "bob" not in {each.opponent for each in pool.propose("ann", 9)}
    assert client.post("/blocks/lifted", json=pair).status_code == 204
    assert "bob" in {each.opponent for each in pool.propose("ann", 9)}
    assert client.delete("/players/dan").status_code == 204
    assert client.get("/health").json() == {"status": "ok", "players": 3, "games": 1}
    assert {"/games", "/proposals", "/splits"} <= set(client.get("/openapi.json").json()["paths"])


def test_metrics_are_prometheus_text(client: TestClient) -> None:
    client.post("/players", json={"name": "ann"})
    client.get("/players/nobody")
    families = text_string_to_metric_families(client.get("/metrics").text)
    samples = [sample for family in families for sample in family.samples]
    found = {(name, *labels.values()): value for name, labels, value, *_ in samples}
    assert found["matchenv_players",] == 1
    assert found["matchenv_games_total",] == 0
    assert found["matchenv_request_seconds_count", "POST", "/players", "201"] == 1
    # Labels are routes: names of players would be numbers without end.
    assert found["matchenv_request_seconds_count", "GET", "/players/{name:path}", "404"] == 1


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("/players", {"name": "ann"}, 422, "ann"),
        ("/players", {"name": "a\nb"}, 422, "control"),
        ("/players", {"name": ""}, 422, "name"),
        ("/players", {"name": "new", "sigma": 0}, 422, "sigma"),
        ("/players", {"name": "new", "colour": 1}, 422, "colour"),
        ("/players", '{"name": "new", "mu": NaN}', 422, "mu"),
        ("/players", "{", 422, "JSON"),
        ("/games", {"games": []}, 422, "games"),
        ("/games", {"games": [{"teams": [["ann"], ["eve"]], "ranks": [1, 2]}]}, 404, "eve"),
        ("/games", {"games": [{"teams": [["ann"], ["ann"]], "ranks": [1, 2]}]}, 422, "ann"),
        ("/games", {"games": [{"teams": [["ann"], []], "ranks": [1, 2]}]}, 422, "teams"),
        ("/games", '{"games": [{"teams": [["ann"], ["bob"]], "ranks": [1, NaN]}]}', 422, "ranks"),
        ("/proposals", {"player": "eve"}, 404, "eve"),
        ("/proposals", {"player": "ann", "k": 0}, 422, "k must"),
        ("/matches", {"waiting": ["ann", "ann"]}, 422, "ann"),
        ("/splits", {"players": ["ann"]}, 422, "players"),
        ("/blocks", {"one": "ann", "other": "ann"}, 422, "other"),
    ],
)
def test_bad_requests_say_why_and_change_nothing(
    client: TestClient, pool: Pool, path: str, body: Any, status: int, word: str
) -> None:
    pool.add_many(["ann", "bob"])
    before = pool.standings()
    text = body if isinstance(body, str) else json.dumps(body)
    answer = client.post(path, content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert word in answer.json()["detail"]
    assert pool.standings() == before
    assert pool.games == 0


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("/players", b" " * (BODY_BYTES + 1), 413, ""),
        ("/splits", {"players": ["ann"] * (SPLIT_PLAYERS + 1)}, 422, "players"),
        ("/matches", {"waiting": dict.fromkeys(map(str, range(WAITING + 1)), 0.5)}, 422, "waiting"),
        ("/proposals", {"player": "ann", "k": PROPOSALS + 1}, 422, "k:"),
        ("/games", b"[" * 100_000, 400, "body"),
    ],
)
def test_a_request_that_asks_for_too_much_is_refused(
    client: TestClient, path: str, body: Any, status: int, word: str
) -> None:
    text = body if isinstance(body, bytes) else json.dumps(body)
    answer = client.post(path, content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert word in answer.text


def test_every_answer_has_a_type(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    models = described["components"]["schemas"]
    for path, methods in described["paths"].items():
        for operation in methods.values():
            for status, found in operation["responses"].items():
                if status in ("200", "201") and path not in ("/metrics", "/backup"):
                    model = found["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
                    assert models[model]["properties"]
    assert models["Player"]["properties"]["games_played"]["type"] == "integer"


def test_the_page_needs_no_other_host(client: TestClient) -> None:
    page = client.get("/docs").text
    links = re.findall(r"""(?:src|href|url)[=:]\s*["']([^"']+)""", page)
    assert len(links) >= 3
    for link in links:
        assert client.get(link).status_code == 200  # of another host, it would not be


def test_a_backup_is_a_pool(tmp_path: Path) -> None:
    with Pool.open(tmp_path / "pool.db") as pool, TestClient(create_app(pool)) as client:
        pool.add_many(["ann", "bob"])
        pool.rate(Game([["ann"], ["bob"]], [1, 2]))
        (tmp_path / "copy.db").write_bytes(client.get("/backup").content)
        with Pool.open(tmp_path / "copy.db") as copy:
            assert copy.standings() == pool.standings()
            assert copy.games == 1
    with TestClient(create_app(Pool())) as client:
        assert client.get("/backup").status_code == 422


def ask(port: int, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


class Service(NamedTuple):
    """A running ``matchenv serve``."""

    process: subprocess.Popen[str]
    file: Path
    port: int


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    file, ratings = tmp_path / "pool.db", tmp_path / "ratings.csv"
    ratings.write_text("player,mu,sigma,games\nann,30.5,2.25,7\nbob,25,8,1\n")
    # Few descriptors, so that the connections of a test are more.
    command = f'ulimit -n 128; exec "{sys.executable}" -m matchenv serve --port 0'
    process = subprocess.Popen(
        ["/bin/sh", "-c", f'{command} --pool "{file}" --ratings "{ratings}"'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = re.search(r"2 players at http://127.0.0.1:(\d+)/docs", process.stdout.readline())
        assert said is not None, process.communicate()[1]
        yield Service(process, file, int(said[1]))
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM")
def test_a_process_that_is_asked_to_stop_loses_nothing(service: Service) -> None:
    game = {"teams": [["ann"], ["bob"]], "ranks": [0, 0]}
    for _ in range(20):
        ask(service.port, "/games", {"games": [game]})
    service.process.send_signal(signal.SIGTERM)
    said = service.process.communicate(timeout=60)[1]
    assert service.process.returncode == 143
    assert len(said.splitlines()) == 1
    assert str(service.file) in said
    with Pool.open(service.file) as pool:
        assert pool.games == 20
        assert pool.player("ann").games_played == 20


@pytest.mark.skipif(os.name == "nt", reason="no ulimit")
def test_half_sent_requests_keep_nobody_out(service: Service) -> None:
    with ExitStack() as opened:
        for _ in range(300):
            half = socket.create_connection(("127.0.0.1", service.port), timeout=60)
            opened.enter_context(half).sendall(b"POST /games HTTP/1.1\r\nContent-Le")
        assert ask(service.port, "/players/ann")["mu"] == 30.5
    service.process.send_signal(signal.SIGTERM)
    assert len(service.process.communicate(timeout=60)[1].splitlines()) == 1


def test_a_request_that_does_not_arrive_ends_its_connection() -> None:
    async def closes(sent: bytes) -> bytes:
        app = create_app(Pool())
        config = uvicorn.Config(app, http=LimitedConnection, log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        listener = listen("127.0.0.1", 0)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(sent)
        with suppress(ConnectionError):
            answered = await reader.read()
        server.should_exit = True
        writer.close()
        await running
        return answered

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matchenv.service.http.REQUEST_SECONDS", 0.05)
        head = b"POST /games HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n"
        for sent in (b"", head, head + b"\r\n{"):
            assert asyncio.run(closes(sent)) == b""


def test_a_taken_port_is_one_line_and_leaves_no_new_pool(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        words = ["serve", "--pool", str(tmp_path / "pool.db"), "--port", str(port)]
        done = subprocess.run(
            [sys.executable, "-m", "matchenv", *words], capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"cannot listen at 127.0.0.1:{port}: Address already in use" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("table", "word"),
    [("name,mu\nann,1\n", "player"), ("player,mu,sigma\nann,x,1\n", "line 2"),
     ("player,mu,sigma\nann,1,0\n", "sigma"), ("player,mu,sigma\nann,1,2\nann,1,2\n", "twice")],
)  # fmt: skip
def test_bad_ratings_are_refused_before_a_pool_is_made(
    tmp_path: Path, table: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ratings, pool = tmp_path / "ratings.csv", tmp_path / "pool.db"
    ratings.write_text(table)
    words = ["serve", "--pool", str(pool), "--port", "0", "--ratings", str(ratings)]
    assert run_command(words) == 2
    assert word in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [ratings]
