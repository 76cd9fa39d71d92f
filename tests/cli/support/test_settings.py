"""Settings from a file and from environment variables: which wins, what is refused, and what a dry run says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of settings that is found without a flag."""
    return tmp_path / "twinset.toml"


def threshold(call: Call, corpus: Path, *words: str) -> Any:
    return call("pairs", corpus, "--dry-run", "--json", *words).json["options"]["threshold"]


def test_a_flag_wins_over_a_variable_and_a_variable_over_the_file(
    call: Call, corpus: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert threshold(call, corpus) == 0.8
    file.write_text("[common]\nthreshold = 0.5\n")
    assert threshold(call, corpus) == 0.5
    file.write_text("[common]\nthreshold = 0.5\n[pairs]\nthreshold = 0.6\n[dedup]\nthreshold = 0.55\n")
    assert threshold(call, corpus) == 0.6
    monkeypatch.setenv("TWINSET_COMMON_THRESHOLD", "0.65")
    assert threshold(call, corpus) == 0.65
    monkeypatch.setenv("TWINSET_PAIRS_THRESHOLD", "0.7")
    assert threshold(call, corpus) == 0.7
    assert threshold(call, corpus, "--threshold", "0.9") == 0.9


def test_a_named_file_takes_the_place_of_the_one_in_the_folder(
    call: Call, corpus: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("[pairs]\nthreshold = 0.6\n")
    other = tmp_path / "other.toml"
    other.write_text("[pairs]\nhashes = 64\n")
    options = call("pairs", corpus, "--dry-run", "--json", "--config", other).json["options"]
    assert (options["threshold"], options["n_hashes"]) == (0.8, 64)
    monkeypatch.setenv("TWINSET_PAIRS_CONFIG", str(other))
    assert threshold(call, corpus) == 0.8
    assert "cannot read the settings none.toml" in call("pairs", corpus, "--config", "none.toml").refusal


def test_switches_lists_and_sizes(
    call: Call, corpus: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('[pairs]\nno-lowercase = true\nmemory = "1GB"\ninclude = ["a*", "b c"]\nexclude = "x"\n')
    plan = call("pairs", corpus, "--dry-run", "--json").json
    assert plan["memory"] == 10**9
    assert plan["options"]["lowercase"] is False
    assert (plan["options"]["include"], plan["options"]["exclude"]) == (["a*", "b c"], ["x"])
    monkeypatch.setenv("TWINSET_PAIRS_NO_LOWERCASE", "0")
    monkeypatch.setenv("TWINSET_PAIRS_INCLUDE", "d 'e f'")
    options = call("pairs", corpus, "--dry-run", "--json").json["options"]
    assert options["lowercase"] is True
    assert options["include"] == ["d", "e f"]


def test_a_command_below_a_group_has_a_table_below_a_table(call: Call, corpus: Path, file: Path) -> None:
    file.write_text("[index.create]\nthreshold = 0.6\n")
    assert call("index", "create", "x.twinset", "--json").json["plan"]["threshold"] == 0.6


def test_a_setting_of_other_commands_does_no_harm(call: Call, file: Path) -> None:
    file.write_text('[common]\nthreads = 1\nkeep = "longest"\n[dedup]\nnonsense = 1\n')
    assert call("plan").code == 0
    assert call("compare", "--string", "a b", "--string", "a c").code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[pairs]\ntreshold = 0.5\n", "'treshold' in [pairs] is not a setting; did you mean threshold?"),
        ("[common]\nmemroy = 1\n", "'memroy' in [common] is not a setting; did you mean memory?"),
        ("[pears]\nthreshold = 0.5\n", "unknown table [pears]; did you mean [pairs]?"),
        ("threshold = 0.5\n", "'threshold' is outside a table; write it below [common] or [pairs]"),
        ("[pairs]\nthreshold = 7\n", "--threshold is 7; allowed: a number above 0 and up to 1; threshold is set in"),
        ("[pairs]\nthreshold = [0.5]\n", "'threshold' in [pairs] needs one value, not a list"),
        ("[pairs\n", "not a TOML file"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(call: Call, corpus: Path, file: Path, text: str, message: str) -> None:
    file.write_text(text)
    refusal = call("pairs", corpus).refusal
    assert message in refusal
    assert "twinset.toml" in refusal


def test_a_wrong_variable_is_refused(call: Call, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWINSET_PAIRS_TRESHOLD", "0.5")
    assert "TWINSET_PAIRS_TRESHOLD is not a setting; did you mean TWINSET_PAIRS_THRESHOLD?" in (
        call("pairs", corpus).refusal
    )
    monkeypatch.delenv("TWINSET_PAIRS_TRESHOLD")
    monkeypatch.setenv("TWINSET_COMMON_THRESHOLD", "much")
    assert "--threshold is 'much'; allowed: a number above 0 and up to 1" in call("pairs", corpus).refusal


@pytest.mark.parametrize(("flag", "value"), [("threshold", "abc"), ("threads", "many"), ("on-error", "ignore")])
def test_a_wrong_value_has_its_origin_in_the_error(
    call: Call, corpus: Path, file: Path, monkeypatch: pytest.MonkeyPatch, flag: str, value: str
) -> None:
    file.write_text(f"[common]\n{flag} = '{value}'\n")
    assert call("pairs", corpus).refusal.endswith(f"; {flag} is set in twinset.toml [common]")
    file.write_text("")
    name = f"TWINSET_PAIRS_{flag.upper().replace('-', '_')}"
    monkeypatch.setenv(name, value)
    assert call("pairs", corpus).refusal.endswith(f"; {flag} is set in {name}")
    assert "is set in" not in call("pairs", corpus, f"--{flag}", "nonsense").refusal


def test_a_switch_and_a_missing_column_have_their_origin_too(
    call: Call, corpus: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("[pairs]\ntext = 'body'\n")
    assert call("pairs", corpus).refusal.endswith("; text is set in twinset.toml [pairs]")
    file.write_text("")
    monkeypatch.setenv("TWINSET_PAIRS_BAG", "perhaps")
    said = call("pairs", corpus).refusal
    assert "bag is set in TWINSET_PAIRS_BAG" in said
    assert "allowed: 1, true, yes or on, and 0, false, no or off" in said


def test_a_variable_without_a_table_is_refused(call: Call, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWINSET_THRESHOLD", "0.3")
    hint = "did you mean TWINSET_PAIRS_THRESHOLD, or TWINSET_COMMON_THRESHOLD for all commands?"
    assert call("pairs", corpus).refusal.endswith(f"TWINSET_THRESHOLD is not a setting; {hint}")
    assert call("index", "stats", "x").refusal.endswith("did you mean TWINSET_COMMON_THRESHOLD for all commands?")
    monkeypatch.delenv("TWINSET_THRESHOLD")
    monkeypatch.setenv("TWINSET_INDEX_ADD_TIMEOUT", "5")
    monkeypatch.setenv("TWINSET_OF_SOMEBODY_ELSE", "5")
    assert call("pairs", corpus).code == 0


def test_the_run_names_what_it_was_not_told_on_the_command_line(call: Call, corpus: Path, file: Path) -> None:
    file.write_text("[pairs]\nthreshold = 0.6\nthreads = 1\n")
    done = call("pairs", corpus, "--threads", "2")
    assert "set in twinset.toml [pairs]: threshold\n" in done.err
    assert "set in" not in call("pairs", corpus, "--quiet").err


def test_help_works_beside_a_broken_file(call: Call, file: Path) -> None:
    file.write_text("[")
    assert call("pairs", "--help").code == 0
