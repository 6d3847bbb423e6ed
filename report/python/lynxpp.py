"""Reads the records that lynxpp writes (LYNXPP_OUTPUT, `lynxpp merge`). Python's standard library only; with
pandas installed, frame() makes a DataFrame.

    import lynxpp
    records = lynxpp.Records("job.jsonl")            # several files, too; those that end in .gz are compressed
    for launch in records.launches():
        print(launch.rank, launch.demangled, launch.results["thread_instructions"])
    for metric in records.metrics():                 # every result that is a number
        print(metric.launch.host, metric.name, metric.value, metric.unit)
    records.frame().groupby(["kernel", "rank"])["value"].sum()

Each of the methods reads the files anew, line by line, so that they may be larger than memory. A line that is
cut off (a process that was killed) is left out; `records.left_out` says how many the last reading met.
"""
import collections
import gzip
import json

__all__ = ["Records", "Process", "Launch", "Metric", "Ratio", "Array", "Table", "Sites"]

Ratio = collections.namedtuple("Ratio", "value numerator denominator")
Metric = collections.namedtuple("Metric", "launch name value unit")


class Process:
    """Who wrote records. What is not known is None."""

    def __init__(self, record=None):
        record = record or {}
        self.record = record
        self.process = record.get("process")
        self.host = record.get("host")
        self.pid = record.get("pid")
        self.rank = record.get("rank")
        self.program = record.get("program")
        self.file = record.get("file")  # of records that name no process

    def __repr__(self):
        return f"Process(host={self.host!r}, rank={self.rank!r}, pid={self.pid!r})"


class Array:
    """A result with several values: `values` is a list whose last extent runs fastest."""

    def __init__(self, result):
        self.extents = result["extents"]
        self.values = result["values"]
        self.names = result.get("names", [])
        self.labels = result.get("labels", [])
        self.texts = result.get("texts", [])  # of a table's column: what its values stand for
        self.table = result.get("table")
        self.bounds = result.get("bounds")  # of a histogram
        self.underflow = result.get("underflow")
        self.overflow = result.get("overflow")
        self.fold = result.get("fold")
        self.left_out = result.get("left_out", 0)

    def __getitem__(self, index):
        """Of a position, or of one for each extent."""
        if not isinstance(index, tuple):
            return self.values[index]
        position = 0
        for extent, each in zip(self.extents, index):
            if not 0 <= each < extent:
                raise IndexError(f"{each} is not below {extent}")
            position = position * extent + each
        return self.values[position]

    def __len__(self):
        return len(self.values)

    def __repr__(self):
        return f"Array(extents={self.extents!r})"


class Table:
    """Rows of a trace, of a map, or of an array of structures: each a dict by the names of the columns."""

    def __init__(self, launch, name, columns):
        self.launch = launch
        self.name = name
        self.columns = {column[len(name) + 1:]: array for column, array in columns.items()}
        self.keys = [column for column, array in self.columns.items() if array.fold == "key"]
        self.left_out = max(array.left_out for array in self.columns.values())

    def rows(self):
        names = list(self.columns)
        return [dict(zip(names, cells)) for cells in zip(*(self.columns[name].texts or self.columns[name].values for name in names))]

    def by_key(self):
        """{key: the row}; the key is a tuple where several columns are keys."""
        def key(row):
            return row[self.keys[0]] if len(self.keys) == 1 else tuple(row[name] for name in self.keys)
        return {key(row): row for row in self.rows()}

    def __repr__(self):
        return f"Table({self.name!r}, columns={list(self.columns)!r})"


def _result(value):
    if not isinstance(value, dict):
        return float("nan") if value is None else value
    if "extents" in value:
        return Array(value)
    number = value["value"]
    return Ratio(float("nan") if number is None else number, value["numerator"], value["denominator"])


class Launch:
    """What one specification says of one launch. `record` is the record as it stands in the file."""

    def __init__(self, record, process):
        self.record = record
        self.process = process
        self.kernel = record["kernel"]
        self.demangled = record.get("demangled", record["kernel"])
        self.spec = record["spec"]
        self.launch = record["launch"]
        self.device = record["device"]
        self.grid = tuple(record["grid"])
        self.block = tuple(record["block"])
        self.place = record.get("place", {})
        self.units = record.get("units", {})
        self.notes = record.get("notes", [])
        self.ranges = record.get("ranges", [])
        self.results = {name: _result(value) for name, value in record["results"].items()}

    @property
    def rank(self):
        return self.process.rank

    @property
    def host(self):
        return self.process.host

    @property
    def seconds(self):
        """From before the launch until its results were seen, on the host's clock; None: not known."""
        if "end_us" not in self.place:
            return None
        return (self.place["end_us"] - self.place["begin_us"]) / 1e6

    def metrics(self):
        """Results that are numbers; of ratios the value."""
        for name, result in self.results.items():
            if isinstance(result, Ratio):
                result = result.value
            if not isinstance(result, Array):
                yield Metric(self, name, result, self.units.get(name, ""))

    def tables(self):
        columns = collections.defaultdict(dict)
        for name, result in self.results.items():
            if isinstance(result, Array) and result.table:
                columns[result.table][name] = result
        for name, arrays in columns.items():
            yield Table(self, name, arrays)

    def __repr__(self):
        return f"Launch({self.demangled!r}, {self.launch}, spec={self.spec!r})"


class Sites:
    """The instructions and basic blocks of a kernel that results by INSTRUCTIONS and BASIC_BLOCKS go by."""

    def __init__(self, record):
        self.record = record
        self.kernel = record["kernel"]
        self.table = record["table"]

    def instructions(self):
        """A dict for each: block, opcode, labels, ptx_line, file (None: not known), line (0: not known)."""
        columns = self.record["instructions"]
        opcodes, labels, files = self.record["opcodes"], self.record["labels"], self.record["files"]
        for block, opcode, label, ptx_line, file, line in zip(
                columns["block"], columns["opcode"], columns["labels"], columns["ptx_line"], columns["file"], columns["line"]):
            yield {"block": block, "opcode": opcodes[opcode], "labels": labels[label], "ptx_line": ptx_line,
                   "file": None if file is None else files[file], "line": line}

    def blocks(self):
        """A dict for each: function, first (instruction), instructions (how many)."""
        columns = self.record["blocks"]
        for function, first, count in zip(columns["function"], columns["first"], columns["instructions"]):
            yield {"function": self.record["functions"][function], "first": first, "instructions": count}


class Records:
    """The records of files."""

    def __init__(self, *paths):
        if not paths:
            raise ValueError("no file")
        self.paths = [str(path) for path in paths]
        self.left_out = 0

    def __iter__(self):
        """(record, its Process), in the order of the files."""
        self.left_out = 0
        for path in self.paths:
            processes, nameless = {}, Process({"file": path})
            opener = gzip.open if path.endswith(".gz") else open
            with opener(path, "rt", encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    record = self._parse(line)
                    if record is None:
                        continue
                    if record["record"] == "process":
                        processes[record["process"]] = Process(record)
                    yield record, processes.get(record.get("process"), nameless)

    def _parse(self, line):
        if line.isspace():
            return None
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict) or "record" not in record:
            self.left_out += 1
            return None
        return record

    def of(self, kind):
        """Records of one kind ("coverage", "timing", "total", "device", "activity", …) with their Process."""
        return ((record, process) for record, process in self if record["record"] == kind)

    def processes(self):
        """Each once."""
        seen = set()
        for record, process in self.of("process"):
            if record["process"] not in seen:
                seen.add(record["process"])
                yield process

    def launches(self, kernel=None, spec=None):
        """All, or those of a kernel (mangled or as written) and of a specification."""
        for record, process in self.of("launch"):
            if spec is not None and record["spec"] != spec:
                continue
            if kernel is not None and kernel not in (record["kernel"], record.get("demangled")):
                continue
            yield Launch(record, process)

    def metrics(self, name=None):
        """Results that are numbers, of all launches; or those of this name."""
        for launch in self.launches():
            for metric in launch.metrics():
                if name is None or metric.name == name:
                    yield metric

    def tables(self, name=None):
        """Traces, maps and arrays of structures of all launches; or those of this name."""
        for launch in self.launches():
            for table in launch.tables():
                if name is None or table.name == name:
                    yield table

    def maps(self, name=None):
        """Tables whose rows have keys."""
        return (table for table in self.tables(name) if table.keys)

    def sites(self):
        return (Sites(record) for record, _ in self.of("sites"))

    def coverage(self):
        """A dict for each kernel and process."""
        return (record for record, _ in self.of("coverage"))

    def frame(self):
        """A pandas DataFrame with a row for each metric."""
        import pandas  # pylint: disable=import-outside-toplevel
        columns = ["host", "rank", "pid", "ordinal", "stream", "module", "kernel", "demangled", "launch", "correlation", "spec",
                   "begin_us", "end_us", "name", "value", "unit"]
        rows = []
        for metric in self.metrics():
            launch, place = metric.launch, metric.launch.place
            rows.append((launch.host, launch.rank, launch.process.pid, place.get("ordinal"), place.get("stream"), place.get("module"),
                         launch.kernel, launch.demangled, launch.launch, place.get("correlation"), launch.spec,
                         place.get("begin_us"), place.get("end_us"), metric.name, metric.value, metric.unit))
        return pandas.DataFrame(rows, columns=columns)
