"""The sample building's plan as numbers: a corridor with rooms on its north and south side, on three levels.

Lengths are metres, x runs east, y runs north, the origin is the outer south-west corner at the top of the ground slab.
This file knows nothing of IFC; `sample_parts.py` turns it into entities.
"""

from dataclasses import dataclass

LENGTH, DEPTH = 30.0, 15.0
STOREY_HEIGHT = 3.2
SLAB, ROOF_SLAB, PARAPET = 0.25, 0.30, 0.60
EXTERNAL, CORRIDOR_WALL, PARTITION = 0.30, 0.15, 0.12
INSIDE_WEST, INSIDE_EAST = EXTERNAL, LENGTH - EXTERNAL
INSIDE_SOUTH, INSIDE_NORTH = EXTERNAL, DEPTH - EXTERNAL
CORRIDOR_SOUTH, CORRIDOR_NORTH = 6.5, 8.5
SOUTH_ROOMS = (INSIDE_SOUTH, CORRIDOR_SOUTH - CORRIDOR_WALL)
NORTH_ROOMS = (CORRIDOR_NORTH + CORRIDOR_WALL, INSIDE_NORTH)


@dataclass(frozen=True)
class DoorKind:
    """One IfcDoorType: its leaf sizes and the fire rating that its property set carries."""

    name: str
    width: float
    height: float
    operation: str
    fire_rating: str


@dataclass(frozen=True)
class WindowKind:
    """One IfcWindowType; `sill` is the height of its lower edge above the floor."""

    name: str
    width: float
    height: float
    sill: float
    partitioning: str


DOORS = {
    "office": DoorKind("Office door 900 x 2100", 0.90, 2.10, "SINGLE_SWING_LEFT", "Fire Rating"),
    "wet": DoorKind("Wet room door 800 x 2100", 0.80, 2.10, "SINGLE_SWING_RIGHT", "n/a"),
    "double": DoorKind("Double door 1600 x 2200", 1.60, 2.20, "DOUBLE_DOOR_SINGLE_SWING", "TBD"),
    "fire": DoorKind("Fire door 1000 x 2100", 1.00, 2.10, "SINGLE_SWING_LEFT", "EI 60"),
}
WINDOWS = {
    "wide": WindowKind("Window 1800 x 1500", 1.80, 1.50, 0.90, "DOUBLE_PANEL_VERTICAL"),
    "high": WindowKind("High window 900 x 600", 0.90, 0.60, 1.80, "SINGLE_PANEL"),
}


@dataclass(frozen=True)
class Bay:
    """A room on one side of the corridor: its east boundary (centre of the partition) and its doors to the corridor."""

    east: float
    name: str
    doors: tuple[str, ...] = ("office",)
    window: str | None = "wide"


@dataclass(frozen=True)
class Room:
    """A bay with its place in the plan worked out; the bounds are the clear faces."""

    name: str
    west: float
    east: float
    south: float
    north: float
    doors: tuple[str, ...] = ()
    window: str | None = None

    @property
    def area(self) -> float:
        """Net floor area in square metres."""
        return (self.east - self.west) * (self.north - self.south)


@dataclass(frozen=True)
class Level:
    """One storey: rooms from west to east on both sides, doors in partitions, doors that lead outside.

    `links`: indices of north partitions (0 is the one after the first bay) that have a door.
    `front_door`: x of the entrance in the south wall; `east_exit`: a door at the corridor's east end.
    """

    name: str
    north: tuple[Bay, ...]
    south: tuple[Bay, ...]
    links: tuple[int, ...] = ()
    front_door: float | None = None
    east_exit: bool = False


STAIR = Bay(3.4, "Stair", ("fire",), None)
WET_ROOMS = (Bay(3.3, "WC Women", ("wet",), "high"), Bay(6.3, "WC Men", ("wet",), "high"))

LEVELS = (
    Level(
        "Level 1",
        north=(
            STAIR,
            Bay(8.6, "Reception office"),
            Bay(13.9, "Office"),
            Bay(24.4, "Open office", ("office", "office")),
            Bay(LENGTH, "Archive", ("fire",)),
        ),
        south=(
            *WET_ROOMS,
            Bay(12.1, "Post room"),
            Bay(17.9, "Lobby", ("double",), None),
            Bay(23.8, "Office"),
            Bay(LENGTH, "Plant room", ("fire",), "high"),
        ),
        front_door=15.0,
        east_exit=True,
    ),
    Level(
        "Level 2",
        north=(
            STAIR,
            Bay(8.6, "Office"),
            Bay(13.9, "Office"),
            Bay(19.2, "Office"),
            Bay(24.4, "Office"),
            Bay(LENGTH, "Quiet room"),
        ),
        south=(
            *WET_ROOMS,
            Bay(9.9, "Kitchen"),
            Bay(15.2, "Office"),
            Bay(20.5, "Office"),
            Bay(LENGTH, "Meeting room", ("double",)),
        ),
        links=(2,),
    ),
    Level(
        "Level 3",
        north=(
            STAIR,
            Bay(8.6, "Secretariat"),
            Bay(13.9, "Director", ()),
            Bay(20.3, "Board room", ("double",)),
            Bay(LENGTH, "Studio", ("office", "office")),
        ),
        south=(
            *WET_ROOMS,
            Bay(9.9, "Kitchen"),
            Bay(17.4, "Lounge", ("double",)),
            Bay(23.2, "Office"),
            Bay(LENGTH, "Library"),
        ),
        links=(1,),
    ),
)


def rooms(bays: tuple[Bay, ...], side: tuple[float, float]) -> list[Room]:
    """The rooms of one side from west to east, between the south and north face given by `side`."""
    placed = []
    west = INSIDE_WEST
    for bay in bays:
        east = INSIDE_EAST if bay.east == LENGTH else bay.east - PARTITION / 2
        placed.append(Room(bay.name, west, east, *side, bay.doors, bay.window))
        west = bay.east + PARTITION / 2
    return placed


def corridor_door_centres(room: Room) -> list[float]:
    """x of the middle of each corridor door of a room: central in small and formal rooms, else near its west end."""
    width = room.east - room.west
    if len(room.doors) == 2:
        return [room.west + 1.2, room.east - 1.2]
    middle = width < 4 or room.doors == ("double",)
    return [(room.west + room.east) / 2 if middle else room.west + 1.2 for _ in room.doors]


def window_centres(room: Room) -> list[float]:
    """x of the middle of each window of a room, evenly spaced about every 2.6 m."""
    if room.window is None:
        return []
    width = room.east - room.west
    count = max(1, int(width / 2.6))
    return [room.west + width * (k + 0.5) / count for k in range(count)]


def tag(number: int) -> str:
    """Six digits for the door or window with this running number: in no order that a plan shows, unique below 30,000.

    Squares differ modulo the prime 59,999 as long as no two numbers add up to it.
    """
    return str(150_000 + (number * 7_919) ** 2 % 59_999)
