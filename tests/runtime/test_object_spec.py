"""Object specifications, the objects that they make, and the source files of their classes."""

import os
import py_compile
import shutil
import sys
import sysconfig
from dataclasses import dataclass, field
from importlib import import_module, reload
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import _speedups

from matchenv import NormalPrior, Prior, Reward, Settings
from matchenv.belief import GamesPlayed
from matchenv.envs.one_player.priors import DrawnPrior, InformativePrior, prior_of
from matchenv.envs.one_player.settings import REWARDS, as_texts
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.registry import policy_named
from matchenv.runtime.object_spec import CodeRefused, only_installed_code, spec_of
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


def test_code_that_is_not_installed_needs_permission(
    own_module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_module / "evil.py").write_text("raise AssertionError('it was imported')")
    # A folder whose name begins with that of the installed packages.
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(own_module)[:-1])
    with only_installed_code():
        with pytest.raises(ValueError, match=r"would run the code of .*evil\.py.*--allow-code"):
            prior_of("evil:Prior")
        # Names of the standard library can be files here on other systems.
        (own_module / "winsound.py").write_text("raise AssertionError('it was imported')")
        for text in ("unittest.__main__:Prior", "pytest.__main__:Prior", "winsound:Prior"):
            with pytest.raises(ValueError, match="is no module of an installed package"):
                prior_of(text)
        assert prior_of(NORMAL) == NormalPrior(25.0, 8.3)
        # Also installed code, where any callable would do: a function can import, read and write.
        call = "matchenv.runtime.parallel:import_module:name=evil"
        for text, settings in ((call, Settings()), (f"reservation:policy={call}", QueueSettings())):
            with pytest.raises(CodeRefused, match=r"can run any code.*--allow-code"):
                policy_named(text, settings)
    with only_installed_code(allow_code=True):
        assert prior_of("own_leagues:Leagues").gap == 4.0
    assert prior_of("own_leagues:Leagues").gap == 4.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder of modules with a package, where not all import each other."""
    texts = {
        "mine": "import numpy\nfrom mine_rules import RULE",
        "mine_rules": "RULE = 1\ndef later():\n    from package.below import part",
        "package/__init__": "",
        "package/below/part": "from ..other import PART",
        "package/other": "import mine\nPART = 2",
        "plots": "import mine",
        "broken": "import",
        "packet/__init__": "from .helper import f",
        "packet/helper": "f = 1",
        "helper": "",
        "odd.v2": "",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / ".#mine.py").symlink_to("nowhere")  # an editor's lock
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", "package.below.part", "packet"):
        import_module(name)
    yield tmp_path
    for name in [*sys.modules]:
        if name.startswith(("mine", "pack")):
            sys.modules.pop(name)


def test_a_module_has_the_files_that_it_imports_from_its_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["mine.py", "mine_rules.py", "package/__init__.py", "package/below/part.py",
             "package/other.py"]  # fmt: skip
    for spec in ("mine:Policy:size=3", "package.below.part:Policy"):
        assert module_files(spec) == [folder / name for name in names]
    found = module_files("packet:Policy")
    assert found == [folder / "packet" / "__init__.py", folder / "packet" / "helper.py"]
    # An installed module is its package alone.
    (folder / "mine-1.0.dist-info").mkdir()
    (folder / "package-2.dist-info").mkdir()
    for spec, its in (("mine:Policy:x=1", names[:1]), ("package.below.part:Policy", names[2:])):
        assert module_files(spec) == [folder / name for name in its]
    for spec in ("matchenv.runtime.provenance:Policy", "never_imported:Policy"):
        assert module_files(spec) == []
        assert module_digest(spec) == module_digest(spec)
    # Neither a script's classes nor those without a file, as in a notebook, have a digest.
    mine: Any = sys.modules["mine"]
    assert module_digest("mine:Policy:size=3") != ""
    monkeypatch.setitem(sys.modules, "__main__", mine)
    assert module_digest("__main__:Policy:size=3") == ""
    mine.__file__ = None
    assert module_digest("mine:Policy:size=3") == ""


def test_extension_modules_and_bytecode_are_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = tmp_path / Path(_speedups.__file__).name
    shutil.copy(_speedups.__file__, native)
    for name, text in (("bytes_alone", ""), ("mixed", "import _speedups, bytes_alone")):
        (tmp_path / f"{name}.py").write_text(text)
    alone = tmp_path / "bytes_alone.py"
    py_compile.compile(str(alone), cfile=f"{alone}c")
    alone.unlink()
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mixed", "_speedups", "bytes_alone"):
        import_module(name)
    assert module_files("mixed:Policy") == sorted(
        [native, tmp_path / "mixed.py", Path(f"{alone}c")]
    )
    assert module_files("_speedups:Policy") == [native]
    assert "" not in map(module_digest, ("mixed:Policy", "_speedups:Policy"))
    for name in ("mixed", "_speedups", "bytes_alone"):
        sys.modules.pop(name)


def test_a_changed_file_needs_its_own_module_reloaded(folder: Path) -> None:
    (folder / "mine_rules.py").write_text("RULE = 22\n")
    module_digest("mine:Policy")
    (folder / "mine_rules.py").write_text("RULE = 333\n")
    reload(sys.modules["mine"])
    with pytest.raises(ValueError, match=r"mine_rules\.py must stay as it is after its import"):
        module_digest("mine:Policy")
    reload(sys.modules["mine_rules"])
    module_digest("mine:Policy")


def test_a_file_that_was_edited_between_its_import_and_its_first_use_is_refused(
    tmp_path: Path, monkeypatch: Any
) -> None:
    text = (
        "from contextlib import contextmanager\nfrom dataclasses import dataclass\n\n"
        "@contextmanager\ndef opened():\n    yield\n\n"
        "@dataclass\nclass Early:\n    size: int = 1\n\n"
        "    def act(self):\n        return [each for each in range(RULE)]\n"
    )
    (tmp_path / "early.py").write_text(text.replace("RULE", "1"))
    monkeypatch.syspath_prepend(tmp_path)
    early = import_module("early")
    (tmp_path / "early.py").write_text(text.replace("RULE", "22"))
    with pytest.raises(ValueError, match=r"early\.py must stay as it is after its import"):
        module_digest("early:Early")
    reload(early)
    assert module_digest("early:Early") == module_digest("early:Early")
    sys.modules.pop("early")


@pytest.mark.parametrize("text", ["RULE = {}", "def rule():\n    return {}"])
def test_old_bytecode_of_a_file_of_equal_size_and_time_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(tmp_path)
    for value in (1, 2):
        (tmp_path / "stale.py").write_text(text.format(value))
        os.utime(tmp_path / "stale.py", (1e9, 1e9))
        import_module("stale")
        if value == 2:
            with pytest.raises(ValueError, match=r"stale\.py must .* or delete its __pycache__"):
                module_digest("stale:Policy")
        sys.modules.pop("stale")
