"""A stand-in for what the epilogue reads of Revit, which can't exist here: same names, same refusals. Python 2.7 too.

2023 numbers elements in 32 bits (`IntegerValue`), 2026 in 64 (`Value`, and a constructor that wants System.Int64).
"""


class Int64(int):
    """System.Int64."""


class InternalException(Exception):
    pass


class Names(object):
    """An enumeration or a namespace."""

    def __init__(self, **names):
        self.__dict__.update(names)


class BuiltIn(int):
    """A member of BuiltInCategory or BuiltInParameter."""


CATEGORIES = (
    "Doors",
    "Grids",
    "Levels",
    "Phases",
    "ProjectBasePoint",
    "ProjectInformation",
    "RvtLinks",
    "SharedBasePoint",
)
BUILT_IN_CATEGORY = Names(**dict(("OST_" + name, BuiltIn(-2000 - at)) for at, name in enumerate(CATEGORIES)))
PARAMETERS = (
    "ALL_MODEL_MARK",
    "SYMBOL_NAME_PARAM",
    "SCHEDULE_LEVEL_PARAM",
    "INSTANCE_REFERENCE_LEVEL_PARAM",
    "FAMILY_LEVEL_PARAM",
)
BUILT_IN_PARAMETER = Names(**dict((name, BuiltIn(-1000 - at)) for at, name in enumerate(PARAMETERS)))
STORAGE_TYPE = Names(String="String", Integer="Integer", Double="Double", ElementId="ElementId")


class ElementId2023(object):
    def __init__(self, number):
        if isinstance(number, Int64):
            raise TypeError("there is no constructor for Int64")
        self.IntegerValue = int(number)


class ElementId2026(object):
    def __init__(self, number):
        if not isinstance(number, (Int64, BuiltIn)):
            raise TypeError("multiple targets could match: ElementId(BuiltInParameter), ElementId(BuiltInCategory)")
        self.Value = Int64(number)


class Location(object):
    pass


class LocationPoint(Location):
    def __init__(self, x, y, z):
        self.Point = Names(X=x, Y=y, Z=z)


class LocationCurve(Location):
    def __init__(self, *ends):
        points = [Names(X=x, Y=y, Z=z) for x, y, z in ends]
        self.Curve = Names(IsBound=bool(points), GetEndPoint=lambda index: points[index])


class Parameter(object):
    """`kind` is the storage type, `unit` what AsValueString puts behind the value; None: it shows nothing."""

    def __init__(self, number, name, kind, value, unit="", read_only=False):
        self.Id, self.Definition, self.StorageType = number, Names(Name=name), kind
        self.value, self.unit, self.IsReadOnly = value, unit, read_only
        self.broken = False

    @property
    def HasValue(self):
        if self.broken:
            raise InternalException("A managed exception was thrown by Revit")
        return self.value is not None

    def _as(self, kind):
        if self.StorageType != kind:
            raise InternalException("the parameter does not store a " + kind)
        return self.value

    def AsString(self):
        return self._as("String")

    def AsInteger(self):
        return self._as("Integer")

    def AsDouble(self):
        return self._as("Double")

    def AsElementId(self):
        return self._as("ElementId")

    def AsValueString(self):
        return None if self.unit is None or self.StorageType == "String" else "%g%s" % (self.value, self.unit)


class Element(object):
    def __init__(self, number, category, name, level, type_id):
        self.Id, self.Category, self.name, self.LevelId, self._type = number, category, name, level, type_id
        self.Location, self.Parameters, self.built_in = None, [], {}

    @property
    def Name(self):
        return self.name

    def GetTypeId(self):
        return self._type

    def GetType(self):
        return Names(Name=type(self).__name__)

    def get_Parameter(self, built_in):
        return self.built_in.get(built_in)


class ElementType(Element):
    """On IronPython a type's name isn't found: it overrides the setter only."""

    @property
    def Name(self):
        raise AttributeError("Name")


class Document(object):
    """What `doc` is, and `db` for `DB`; elements are made and removed by their numbers."""

    def __init__(self, version):
        self.make_id = ElementId2023 if version < 2024 else ElementId2026
        self.version, self.elements, self.count = version, {}, 100
        self.make_id.InvalidElementId = self.id_of(-1)
        document = self

        class FilteredElementCollector(object):
            def __init__(self, searched):
                assert searched is document

            def WhereElementIsElementType(self):
                return self._of(lambda element: isinstance(element, ElementType))

            def WhereElementIsNotElementType(self):
                return self._of(lambda element: not isinstance(element, ElementType))

            def _of(self, wanted):
                return Names(ToElements=lambda: [each for each in document.elements.values() if wanted(each)])

        self.db = Names(
            BuiltInCategory=BUILT_IN_CATEGORY,
            BuiltInParameter=BUILT_IN_PARAMETER,
            ElementId=self.make_id,
            FilteredElementCollector=FilteredElementCollector,
            LocationCurve=LocationCurve,
            LocationPoint=LocationPoint,
            StorageType=STORAGE_TYPE,
        )
        category = Names(Id=self.id_of(BUILT_IN_CATEGORY.OST_Levels), Name="Ebenen")
        self.level = self.add(Element, category, "Level 2")
        self.door = self.add(ElementType, None, "Single")
        self.put(self.door, 1, "Type Name", "String", "Single", built_in="SYMBOL_NAME_PARAM")

    def id_of(self, number):
        return self.make_id(number if self.version < 2024 else Int64(number))

    def number_of(self, element):
        return int(getattr(element.Id, "Value", None) or element.Id.IntegerValue)

    def GetElement(self, identifier):
        return self.elements.get(int(getattr(identifier, "Value", None) or identifier.IntegerValue))

    def add(self, kind, category, name, level=None, type_of=None, number=None):
        self.count += 1
        number = number or self.count
        ids = [self.id_of(-1) if each is None else each.Id for each in (level, type_of)]
        self.elements[number] = kind(self.id_of(number), category, name, *ids)
        return self.elements[number]

    def put(self, element, number, name, kind, value, built_in=None, **more):
        parameter = Parameter(self.id_of(number), name, kind, value, **more)
        element.Parameters.append(parameter)
        if built_in:
            element.built_in[getattr(BUILT_IN_PARAMETER, built_in)] = parameter
        return parameter

    def add_door(self, name, mark, note="EI30"):
        category = Names(Id=self.id_of(BUILT_IN_CATEGORY.OST_Doors), Name="Doors")
        door = self.add(Element, category, name, self.level, self.door)
        self.put(door, 7, "FireRating", "String", note)
        self.put(door, 8, "Mark", "String", mark, built_in="ALL_MODEL_MARK")
        return self.number_of(door)
