"""Object specifications, the objects that they make, and the source files of their classes."""

import sys
from dataclasses import dataclass, field
from importlib import reload
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv import NormalPrior, Prior, Reward, Settings
from matchenv.belief import GamesPlayed
from matchenv.envs.one_player.priors import DrawnPrior, InformativePrior, prior_of
from matchenv.envs.one_player.settings import REWARDS, as_texts
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.registry import policy_named
from matchenv.runtime.object_spec import CodeRefused, only_own_code, spec_of
from matchenv.runtime.provenance import module_digest, module_files

NORMAL = "matchenv:NormalPrior:mean=25,deviation=8.3"

OWN = """
from dataclasses import dataclass
from matchenv import Prior, Reward

@dataclass(frozen=True)
class Leagues(Prior):
    gap: float = 4.0
    wide: bool = False
    label: str = "leagues"
    def draw(self, normals, uniforms):
        return self.gap * (uniforms > 0.5), 1.0 + 0.0 * normals

@dataclass(frozen=True)
class Wins(Reward):
    scale: float = 2.0
    def of(self, games):
        return self.scale * (games.outcomes > 0)

def called():
    raise AssertionError("only subclasses may be called")
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a module into the working folder, which is not on Python's path."""
    (tmp_path / "own_leagues.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("own_leagues", None)


def test_installed_modules_are_found_from_a_deleted_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert prior_of("matchenv:NormalPrior:mean=2").mean == 2


def test_specifications_make_objects_and_back(own_module: Path) -> None:
    made = prior_of("own_leagues:Leagues:gap=3,wide=true,label=x")
    assert (made.gap, made.wide, made.label) == (3, True, "x")
    assert spec_of("prior", made) == "own_leagues:Leagues:gap=3,wide=true,label=x"
    settings = Settings(
        prior="own_leagues:Leagues", reward="own_leagues:Wins:scale=-0.3333333333333333"
    )
    assert settings.reward_type.scale == -0.3333333333333333
    assert settings.description()["prior"] == "own_leagues:Leagues"
    assert spec_of("reward", settings.reward_type) == "own_leagues:Wins:scale=-0.3333333333333333"
    assert spec_of("prior", "informative") == "informative"
    assert (
        spec_of("prior", InformativePrior()) == "matchenv.envs.one_player.priors:InformativePrior"
    )
    assert as_texts({"reward": REWARDS["match_quality"]}) == {"reward": "match_quality"}


@dataclass(frozen=True)
class WithArray(Prior):
    means: Any = None
    hidden: float = field(default=1.0, init=False)

    def draw(self, normals: Any, uniforms: Any) -> Any:
        return normals, np.ones_like(normals)


class Plain(Reward):
    def of(self, games: GamesPlayed) -> Any:
        return games.match_quality


def test_an_object_without_specification_is_refused() -> None:
    changed = WithArray()
    object.__setattr__(changed, "hidden", 2.0)
    # The text "7" would be read back as a number.
    for prior in (WithArray(np.zeros(3)), WithArray("a,b"), WithArray("7"), changed, Plain(),
                  DrawnPrior.of(InformativePrior(), np.random.default_rng(1), 3)):  # fmt: skip
        with pytest.raises(ValueError, match=r"must be .* can be written as key=value.*; got"):
            spec_of("prior", prior)


BAD_TEXTS = {
    "own_leagues:Cups": "is read as module:Class, and there is none.*known names are inform",
    "no_such_module:Leagues": "is read as module:Class, and there is none",
    "own_leagues:called": "must name a subclass of Prior",
    "own_leagues:Wins": "must name a subclass of Prior",
    "subprocess:Popen:args=true": "must name a subclass of Prior",
    "own_leagues:Leagues:width=3": "name=value with a name of gap, label, wide, got 'width'",
    "own_leagues:Leagues:wide=3": "wide of prior .* must be true or false",
    "matchenv:NormalPrior:deviation=-1": "deviation must be positive",
    "matchenv:Prior": "cannot be made",
}


def test_bad_specifications_are_named(own_module: Path) -> None:
    for text, message in BAD_TEXTS.items():
        with pytest.raises(ValueError, match=message):
            Settings(prior=text)


def test_code_of_others_needs_permission(own_module: Path) -> None:
    (own_module / "evil.py").write_text("raise AssertionError('it was imported')")
    with only_own_code():
        for name in ("evil", "pytest", "no_such_module"):
            with pytest.raises(CodeRefused, match=rf"run the code of .* {name}: .*--allow-code"):
                prior_of(f"{name}:Prior")
        assert prior_of(NORMAL) == NormalPrior(25.0, 8.3)
        # Also own code, where any callable would do: a function can import, read and write.
        call = "matchenv.runtime.parallel:import_module:name=evil"
        for text, settings in ((call, Settings()), (f"reservation:policy={call}", QueueSettings())):
            with pytest.raises(CodeRefused, match=r"can run any code.*--allow-code"):
                policy_named(text, settings)
    with only_own_code(allow_code=True):
        assert prior_of("own_leagues:Leagues").gap == 4.0
    assert prior_of("own_leagues:Leagues").gap == 4.0


def test_a_class_has_the_digest_of_its_modules_file(own_module: Path) -> None:
    file = own_module / "own_leagues.py"
    prior_of("own_leagues:Leagues")
    assert module_files("own_leagues:Leagues:gap=3") == [file]
    before = module_digest("own_leagues:Leagues:gap=3")
    file.write_text(f"{OWN}# edited")
    assert module_digest("own_leagues:Leagues") == before  # the imported code still runs
    reload(sys.modules["own_leagues"])
    assert module_digest("own_leagues:Leagues") not in ("", before)


def test_classes_of_this_package_have_no_files() -> None:
    assert module_files("matchenv.runtime.provenance:Policy") == []
    assert module_digest("matchenv.runtime.provenance:Policy") != ""


def test_classes_of_scripts_and_notebooks_have_no_digest(
    own_module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prior_of("own_leagues:Leagues")
    module: Any = sys.modules["own_leagues"]
    assert module_digest("never_imported:Policy") == ""
    monkeypatch.setitem(sys.modules, "__main__", module)
    assert module_digest("__main__:Leagues") == ""
    monkeypatch.delattr(module, "__file__")
    assert module_digest("own_leagues:Leagues") == ""
