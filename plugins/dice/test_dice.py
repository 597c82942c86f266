"""The dice, rolled by an agent."""

import pytest

from claude_sdk_pattern.workbench.active_plugin import ActivePlugin

pytestmark = pytest.mark.cli


def test_so_many_dice_as_were_asked_for_are_rolled_and_added_up(active_plugin: ActivePlugin) -> None:
    call = active_plugin.call("roll", count=3, sides=6)
    assert not call.is_error
    dice, _, total = call.text.partition(" = ")
    shown = [int(number) for number in dice.split(" + ")]
    assert len(shown) == 3
    assert all(1 <= number <= 6 for number in shown)
    assert int(total) == sum(shown)


def test_too_many_dice_are_refused_in_words_that_a_model_can_act_on(active_plugin: ActivePlugin) -> None:
    call = active_plugin.call("roll", count=1000, sides=6)
    assert call.is_error
    assert "dice with at least 2 sides" in call.text
