"""`winnow bench modes` says from which size on the batch is quicker, and both modes find the same."""

import pytest

from winnow.bench import modes


def test_both_modes_at_two_sizes() -> None:
    told = modes.run(documents=30, sizes=(40, 80))
    for name in ("40 profiles", "80 profiles"):
        one_by_one, batch = (told[name][mode] for mode in modes.MODES)
        assert one_by_one["candidates"] == batch["candidates"] >= one_by_one["matches"] == batch["matches"]
        assert told[name]["batch_to_one_by_one"] == pytest.approx(batch["match_us"] / one_by_one["match_us"])
        assert batch["peak_mb"] >= batch["peak_before_mb"] > 0


@pytest.mark.parametrize(
    ("ratios", "expected"), [((2.0, 0.5, 0.4), 2), ((0.5, 2.0, 0.4), 3), ((0.5, 0.5, 2.0), "no size")]
)
def test_from_where_on_the_batch_is_quicker(
    monkeypatch: pytest.MonkeyPatch, ratios: tuple[float, ...], expected: object
) -> None:
    """From the size on after which it never takes more again."""
    monkeypatch.setattr(
        modes, "_in_a_process", lambda mode, _, size: {"match_us": 1.0 if mode == "boxfilter" else ratios[size - 1]}
    )
    assert modes.run(documents=1, sizes=(1, 2, 3))["batch_is_quicker_from"] == expected
