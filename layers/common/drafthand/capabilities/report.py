"""Stands in front of every host's epilogue: how the facts of elements become the report, in one shape for all hosts.

Knows no application, imports nothing, and is valid on Python 2.7 (IronPython) too. An epilogue brings `readers`, a
function of the element for each field:
    category, name, tag, level, type: text, or None where there is none (never for category)
    values: {property: plain value}
    computed: the names of those properties that only follow from others; they are told last
A state is {field: what its reader found}, of as many fields as were wanted.
"""

VARIOUS = "(various)"
UNREADABLE = "(not readable)"
UNKNOWN = "(not known)"
UNNAMED = {"property": "shape or relations", "before": None, "after": None}
NOT_COMPARED = {"property": "properties", "before": UNKNOWN, "after": "(not compared)"}

CHANGES = ("added", "modified", "deleted")
TEXT_CHARS = 300  # of a name or a value; whole ones made a report of thousands of elements hundreds of MB
ELLIPSIS = b"\xe2\x80\xa6".decode("utf-8")
REMEMBERED_UP_TO = 20000  # elements; reading every value of more would take longer than the script
NAMED = ("category", "name")
LISTED = ("category", "name", "tag", "level", "type")
COMPARED = ("name", "values")
REMEMBERED = ("category", "name", "tag", "level", "type", "values")
WHOLE = ("category", "name", "tag", "level", "type", "values", "computed")
INSTEAD = {"values": {"properties": UNREADABLE}, "computed": ()}

TEXTS = (str, type(b"".decode("ascii")))  # Python 2 has two kinds of each
NUMBERS = (bool, int, type(1 << 64), float)


def plain(value):
    """A value for a table, or None for what is none (an element, a list). Infinity becomes text: JSON has none."""
    if isinstance(value, float) and value - value != 0:
        return repr(value)
    return value if isinstance(value, TEXTS + NUMBERS) else None


def cut(value):
    """A value as it is, a text in at most TEXT_CHARS."""
    if not isinstance(value, TEXTS) or len(value) <= TEXT_CHARS:
        return value
    kept = value[: TEXT_CHARS - 1]
    if 0xD800 <= ord(kept[-1]) <= 0xDBFF:  # IronPython's texts are UTF-16: half a character can't be sent
        kept = kept[:-1]
    return kept + ELLIPSIS


def attempt(read, given, instead=UNREADABLE):
    """What `read` makes of `given`. An application may refuse a single value: that is told, and costs no other."""
    try:
        return read(given)
    except Exception:  # noqa: BLE001 - an application's own kinds, which this text can't name
        return instead


def place(numbers):
    """Coordinates as text, to four decimals however far away."""
    return "(%s)" % ", ".join("%.14g" % (round(number, 4) + 0.0) for number in numbers)


def state(element, readers, wanted):
    return dict((field, attempt(readers[field], element, INSTEAD.get(field, UNREADABLE))) for field in wanted)


def remember(elements, readers):
    """The document as it was: a state for each id; of a large document only what its elements were called.

    `elements` is a list of (id, element).
    """
    wanted = REMEMBERED if len(elements) <= REMEMBERED_UP_TO else NAMED
    return dict((identifier, state(element, readers, wanted)) for identifier, element in elements)


def differences(old, new):
    """[{property, before, after}] of two states of an element; never empty, for the element did change.

    Whole values are compared, and told cut.
    `old` is None where nothing is known of the element as it was, and has no values where only its name is known.
    """
    if old is None:
        return [NOT_COMPARED]
    if "values" not in old:
        renamed = told("Name", old["name"], new["name"])
        return [NOT_COMPARED] if old["name"] == new["name"] else [renamed, NOT_COMPARED]
    before, after = old["values"], new["values"]
    names = [name for name in set(before) | set(after) if before.get(name) != after.get(name)]
    names.sort(key=lambda name: (name in new["computed"], name))
    changes = [told(name, before.get(name), after.get(name)) for name in names]
    return changes or [UNNAMED]


def told(name, before, after):
    return {"property": cut(name), "before": cut(before), "after": cut(after)}


def row(identifier, change, found, changes):
    named = dict((field, cut(found.get(field))) for field in LISTED)
    return dict(named, id=identifier, change=change, changes=changes)


def rows(changed, before, after):
    """One row an element, in the order added, modified, deleted; and how many ids could not be resolved."""
    found, unresolved = [], 0
    for change in CHANGES:
        for identifier in changed[change]:
            seen = before if change == "deleted" else after
            now = seen(identifier, WHOLE if change == "modified" else LISTED)
            if now is None:
                unresolved += 1
                continue
            changes = differences(before(identifier, COMPARED), now) if change == "modified" else []
            found.append(row(identifier, change, now, changes))
    return found, unresolved


def grouped(elements):
    """[{category, change, count, example, changes}], largest first; a group's elements changed in the same properties.

    `changes` holds the values that are the same in the whole group, and VARIOUS for others.
    """
    groups = {}
    for element in elements:
        key = (element["category"], element["change"], tuple(each["property"] for each in element["changes"]))
        groups.setdefault(key, []).append(element)
    found = [
        {
            "category": members[0]["category"],
            "change": members[0]["change"],
            "count": len(members),
            "example": {"id": members[0]["id"], "name": members[0]["name"]},
            "changes": [in_common(same) for same in zip(*[member["changes"] for member in members])],
        }
        for key, members in groups.items()
    ]
    return sorted(found, key=lambda group: (-group["count"], group["category"], group["change"]))


def in_common(changes):
    """One change for several of the same property."""
    common = {"property": changes[0]["property"]}
    for side in ("before", "after"):
        alike = all(change[side] == changes[0][side] for change in changes)
        common[side] = changes[0][side] if alike else VARIOUS
    return common


def build_report(changed, entities, before, after):
    """The report: counts, a row for every element that changed, groups, and what could not be resolved.

    `before` and `after` are functions of (id, wanted fields) that give a state, or None where there's no such element.
    """
    elements, unresolved = rows(changed, before, after)
    return {
        "counts": dict((change, len(changed[change])) for change in CHANGES),
        "elements": elements,
        "groups": grouped(elements),
        "unresolved": unresolved,
        "entities": entities,
    }


def build_remembered_report(changed, entities, remembered, now, readers):
    """The report of a host that can't show the document as it was.

    `remembered` comes from `remember`, or is None when that failed; `now` gives the element of an id, or None.
    """

    def before(identifier, wanted):
        return (remembered or {}).get(identifier)

    def after(identifier, wanted):
        element = now(identifier)
        return None if element is None else state(element, readers, wanted)

    return build_report(changed, entities, before, after)
