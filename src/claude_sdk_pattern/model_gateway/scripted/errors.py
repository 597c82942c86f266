"""What can be wrong with a scenario.

``ScenarioError``
    A scenario file cannot be used. Raised while loading: a mistake is seen at start and not in mid-conversation.
``PlayError``
    A scenario cannot be played for this one message (say, the words captured as a number are no number).
    Never leaves the package: it becomes the text of the answer.
"""

from pathlib import Path


class ScenarioError(Exception):
    """A scenario file is wrong.

    ``file`` is the path as given, ``scenario`` the name (or position) of the scenario or None when the file as a
    whole is meant, ``field`` the dotted place inside it, and ``advice`` what to write instead.
    """

    def __init__(self, file: Path, scenario: str | None, field: str | None, advice: str) -> None:
        self.file = file
        self.scenario = scenario
        self.field = field
        self.advice = advice
        place = [str(file)]
        if scenario is not None:
            place.append(f'scenario "{scenario}"')
        if field:
            place.append(f'field "{field}"')
        super().__init__(f"{', '.join(place)}: {advice}")


class PlayError(Exception):
    """This message cannot be answered as the scenario says; the text tells the reader why."""
