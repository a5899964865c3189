"""The service over HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matchenv.service import Game, Pool

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from matchenv.service.http import create_app


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


def ask(port: int, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM")
def test_a_process_that_is_asked_to_stop_loses_nothing(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = tmp_path / "pool.db"
    words = ["serve", "--pool", str(file), "--port", str(port), "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "matchenv", *words], stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in range(600):
            try:
                ask(port, "/health")
                break
            except (urllib.error.URLError, ConnectionError):
                assert process.poll() is None, process.communicate()[1]
                time.sleep(0.1)
        for name in ("ann", "bob"):
            ask(port, "/players", {"name": name})
        game = {"teams": [["ann"], ["bob"]], "ranks": [0, 0]}
        for _ in range(20):
            ask(port, "/games", {"games": [game]})
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == 143
    assert len(said.splitlines()) == 1
    assert str(file) in said
    with Pool.open(file) as pool:
        assert pool.games == 20
        assert pool.player("ann").games_played == 20
