"""One connection from greeting to farewell."""

from kit import NAME_PROMPT, open_house


async def test_two_who_only_give_a_name_are_in_a_duel_together() -> None:
    async with open_house() as place:
        anna, ben = await place.pair()
        await anna.reads("Enter your chosen divisor: ")
        await anna.types("30")
        await ben.reads("Enter your chosen divisor: 30\n")
        await ben.reads("Enter your chosen divisor: ")


async def test_no_name_in_time_closes_the_connection(autojump_clock) -> None:
    async with open_house(name_seconds=60) as place:
        somebody = place.comes()
        await somebody.reads(NAME_PROMPT)
        assert "* No name within 60 seconds. The connection is closed." in (
            await somebody.reads_to_the_end()
        )
