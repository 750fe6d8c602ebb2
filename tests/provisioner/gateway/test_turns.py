"""The node knows of a turn while it is under way."""

import asyncio
from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.database import from_async
from provisioner.drills.resting import turns_of
from provisioner.gateway import turns
from provisioner.models import Turn
from runtimes.adapter import RuntimeUnreachable

pytestmark = pytest.mark.django_db(transaction=True)


def known(agent):
    return from_async(turns_of)(agent.pk)


def test_it_is_known_until_it_ends(running):
    async def turn():
        async with turns.under_way(running.pk):
            during = await known(running)
        return during, await known(running)

    during, after = asyncio.run(turn())

    assert ([one.web for one in during], after) == ([False], [])


def test_a_turn_that_broke_is_over(running):
    async def turn():
        with pytest.raises(RuntimeUnreachable):
            async with turns.under_way(running.pk):
                raise RuntimeUnreachable

    asyncio.run(turn())

    assert turns_of(running.pk) == []


def test_one_whose_caller_left_may_go_on_for_a_while(running):
    async def turn():
        async with turns.under_way(running.pk):
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(turn())

    assert len(turns_of(running.pk)) == 1
    Turn.objects.update(until=now() - timedelta(seconds=1))
    assert turns_of(running.pk) == []


def test_a_long_one_is_put_off(running, monkeypatch):
    monkeypatch.setattr(turns, "TTL", timedelta(seconds=0.3))

    async def turn():
        async with turns.under_way(running.pk, web=True):
            await asyncio.sleep(0.6)
            return await known(running)

    assert [one.web for one in asyncio.run(turn())] == [True]
