"""A page gets as many lines as it can show, the newest, and is told how many it does not get."""

from frontend.pace import BURST, LINES_A_SECOND, Pace


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def lines(count: int, first: int = 0) -> list[dict]:
    return [{"at": "t", "text": str(number)} for number in range(first, first + count)]


def test_a_burst_is_shown_whole():
    assert Pace(Clock()).shown(lines(BURST)) == lines(BURST)


def test_a_flood_is_thinned_and_what_is_left_out_is_counted():
    clock = Clock()
    pace = Pace(clock)
    shown = [pace.shown(lines(BURST))]
    for _ in range(10):  # ten seconds of five thousand lines a second
        clock.now += 1
        shown.append(pace.shown(lines(5000)))

    seen = [line for batch in shown for line in batch if "text" in line]
    marks = [line["mark"] for batch in shown for line in batch if "mark" in line]
    assert len(seen) == BURST + 10 * LINES_A_SECOND
    assert sum(int(mark.split()[0]) for mark in marks) == 10 * (5000 - LINES_A_SECOND)


def test_of_a_batch_the_newest_lines_are_shown():
    clock = Clock()
    pace = Pace(clock)
    pace.shown(lines(BURST))
    clock.now += 1

    mark, *shown = pace.shown(lines(5000))

    assert mark["mark"].startswith(f"{5000 - LINES_A_SECOND} lines")
    assert shown == lines(LINES_A_SECOND, first=5000 - LINES_A_SECOND)


def test_without_room_nothing_is_shown_and_nothing_forgotten():
    clock = Clock()
    pace = Pace(clock)
    pace.shown(lines(BURST))

    assert pace.shown(lines(7)) == []

    clock.now += 1
    assert pace.shown(lines(1))[0]["mark"].startswith("7 lines")
