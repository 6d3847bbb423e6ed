"""Reads the records that lynxpp writes (LYNXPP_OUTPUT, `lynxpp report merge`). Needs only Python's standard library; with
pandas installed, frame() returns a DataFrame; rows() yields the same as dicts.

    import lynxpp
    records = lynxpp.Records("job.jsonl")            # or several files; names that end in .gz are compressed
    for launch in records.launches():
        print(launch.rank, launch.demangled, launch.results["thread_instructions"])
    for metric in records.metrics():                 # every numeric result
        print(metric.launch.host, metric.name, metric.value, metric.unit)
    records.frame().groupby(["kernel", "rank"])["value"].sum()

Each method reads the files again, line by line, so that they may be larger than memory. Truncated lines (of a
process that was killed) are skipped; `records.left_out` is their number in the last reading.

Traces that were streamed (LYNXPP_TRACE, `lynxpp run --trace FOLDER`) are in files of their own:

    for stream in lynxpp.streams("FOLDER"):          # one for each launch and trace
        for number, entry in stream.entries():       # a dict with the fields' names as keys
            print(stream.kernel, stream.launch, number, entry["address"])
"""
import array
import collections
import ctypes
import ctypes.util
import gzip
import html
import itertools
import json
import pathlib
import struct

from .errors import Error

__all__ = ["complete", "completed", "Records", "Process", "Launch", "Metric", "Ratio", "Array", "Table", "Sites", "Stream", "streams"]

_MOST_SHOWN = 50

Ratio = collections.namedtuple("Ratio", "value numerator denominator")
Metric = collections.namedtuple("Metric", "launch name value unit")


class Process:
    """A process that wrote records. Unknown attributes are None."""  # english: ok

    def __init__(self, record=None):
        record = record or {}
        self.record = record
        self.process = record.get("process")
        self.host = record.get("host")
        self.pid = record.get("pid")
        self.rank = record.get("rank")
        self.program = record.get("program")
        self.file = record.get("file")  # the file of records that name no process

    def __repr__(self):
        return f"Process(host={self.host!r}, rank={self.rank!r}, pid={self.pid!r})"


class Array:
    """A result with several values: `values` is a list whose last extent runs fastest."""

    def __init__(self, result):
        self.extents = result["extents"]
        self.values = result["values"]
        self.names = result.get("names", [])
        self.labels = result.get("labels", [])
        self.texts = result.get("texts", [])  # of a table's column: the texts that its values represent
        self.table = result.get("table")
        self.bounds = result.get("bounds")  # of a histogram
        self.underflow = result.get("underflow")
        self.overflow = result.get("overflow")
        self.fold = result.get("fold")
        self.left_out = result.get("left_out", 0)

    def __getitem__(self, index):
        """Returns the value at a position, or at one index per extent."""
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
    """Rows of a trace, of a map, or of an array of structures: dicts with the columns' names as keys."""

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
        """Returns {key: row}; the key is a tuple if several columns are keys."""
        def key(row):
            return row[self.keys[0]] if len(self.keys) == 1 else tuple(row[name] for name in self.keys)
        return {key(row): row for row in self.rows()}

    def __repr__(self):
        return f"Table({self.name!r}, columns={list(self.columns)!r})"


def _quotients(numerators, denominators):
    return [None if above is None or not below else float(above) / float(below) for above, below in zip(numerators, denominators)]


def _complete_result(column, value):
    """Returns a result as a complete launch record has it."""
    is_array = "extents" in column or "table" in column
    if not is_array and column.get("ratio"):
        return {"value": _quotients(*[[each] for each in value])[0], "numerator": value[0], "denominator": value[1]}
    if not is_array:
        return value
    result = {key: member for key, member in column.items() if key not in ("name", "unit", "ratio")}
    values = value
    if isinstance(value, dict):
        result.update(value)
        values = value["values"]
    if column.get("ratio"):
        result["numerators"], result["denominators"] = values
        values = _quotients(*values)
    result["values"] = values
    result.setdefault("extents", [len(values)])
    return result


def complete(series, launch):
    """Returns a launch record that has all its members itself, from its series' record and its own."""
    def merged(name):
        return {**series.get(name, {}), **launch.get(name, {})}
    columns = series["columns"]
    labels = launch.get("labels", series.get("labels", {}))
    results = {}
    for column, value in zip(columns, launch["values"]):
        result = _complete_result(column, value)
        if column.get("table") in labels and "labels" not in result:
            result["labels"] = labels[column["table"]]
        results[column["name"]] = result
    record = {**series, **launch, "results": results}
    if place := merged("place"):  # english: ok
        record["place"] = place  # english: ok
    if units := {column["name"]: column["unit"] for column in columns if "unit" in column}:
        record["units"] = units
    is_number = [not isinstance(result, dict) or "extents" not in result for result in results.values()]
    if folds := {column["name"]: column["fold"] for column, number in zip(columns, is_number) if number and "fold" in column}:
        record["folds"] = folds
    for name in ("series", "columns", "values", "labels"):
        record.pop(name, None)
    return {name: member for name, member in record.items() if member or name not in ("notes", "ranges", "allocations")}


def completed_with(series, record):
    """Returns the record, complete if it is of a launch. Keeps a series in `series` and returns None. Fails (KeyError) if a launch's
    series is missing."""
    kind = record.get("record")
    if kind == "series":
        series[record.get("process"), record["series"]] = record
        return None
    if kind == "launch" and "series" in record:
        return complete(series[record.get("process"), record["series"]], record)
    return record


def completed(records):
    """Yields the parsed records of one file: launch records complete, none of series. Fails (KeyError) if a series is missing."""
    series = {}
    return filter(None, (completed_with(series, record) for record in records))


def _result(value):
    if not isinstance(value, dict):
        return float("nan") if value is None else value
    if "extents" in value:
        return Array(value)
    number = value["value"]
    return Ratio(float("nan") if number is None else number, value["numerator"], value["denominator"])


class Launch:
    """The results of one specification for one launch, or their sums for `launches` launches, `launch` to `last`.

    `record` is the complete JSON object.
    """

    def __init__(self, record, process):
        self.record = record
        self.process = process
        self.kernel = record["kernel"]
        self.demangled = record.get("demangled", record["kernel"])
        self.spec = record["spec"]
        self.launch = record["launch"]
        shared = record.get("shared", {})
        self.launches = shared.get("launches", 1)
        self.last = shared.get("last", self.launch)
        self.device = record["device"]
        self.grid = tuple(record["grid"])
        self.block = tuple(record["block"])
        self.place = record.get("place", {})  # english: ok
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
        """Seconds from before the launch until its results were seen, on the host's clock; None: unknown."""
        if "end_us" not in self.place:
            return None
        return (self.place["end_us"] - self.place["begin_us"]) / 1e6

    def metrics(self):
        """Yields numeric results; ratios as their value."""
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
    """A kernel's instructions and basic blocks, in the order of results by INSTRUCTIONS and BASIC_BLOCKS."""

    def __init__(self, record):
        self.record = record
        self.kernel = record["kernel"]
        self.table = record["table"]

    def instructions(self):
        """Yields dicts: block, opcode, labels, ptx_line, file (None: unknown), line (0: unknown)."""
        columns = self.record["instructions"]
        opcodes, labels, files = self.record["opcodes"], self.record["labels"], self.record["files"]
        for block, opcode, label, ptx_line, file, line in zip(
                columns["block"], columns["opcode"], columns["labels"], columns["ptx_line"], columns["file"], columns["line"]):
            yield {"block": block, "opcode": opcodes[opcode], "labels": labels[label], "ptx_line": ptx_line,
                   "file": None if file is None else files[file], "line": line}

    def blocks(self):
        """Yields dicts: function, first (instruction), instructions (count)."""
        columns = self.record["blocks"]
        for function, first, count in zip(columns["function"], columns["first"], columns["instructions"]):
            yield {"function": self.record["functions"][function], "first": first, "instructions": count}


class Records:
    """The records of one or more files."""

    def __init__(self, *paths):
        if not paths:
            raise ValueError("no file")
        self.paths = [str(path) for path in paths]
        self.left_out = 0

    def __iter__(self):
        """Yields (record, Process), in the order of the files. Launch records are complete; series are not yielded."""
        self.left_out = 0
        for path in self.paths:
            processes, series, nameless = {}, {}, Process({"file": path})
            opener = gzip.open if path.endswith(".gz") else open
            with opener(path, "rt", encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    record = self._parse(line, series)
                    if record is None:
                        continue
                    if record["record"] == "process":
                        processes[record["process"]] = Process(record)
                    yield record, processes.get(record.get("process"), nameless)

    def _parse(self, line, series):
        if line.isspace():
            return None
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict) and "record" in record:
            try:
                return completed_with(series, record)
            except KeyError:  # the line with its series is truncated
                pass
        self.left_out += 1
        return None

    def of(self, kind):
        """Yields records of one kind ("coverage", "timing", "total", "trial", "device", "activity", …) with their Process."""
        return ((record, process) for record, process in self if record["record"] == kind)

    def processes(self):
        """Yields each process once."""
        seen = set()
        for record, process in self.of("process"):
            if record["process"] not in seen:
                seen.add(record["process"])
                yield process

    def launches(self, kernel=None, spec=None):
        """Yields all launches, or those of a kernel (mangled or demangled) or specification.

        Launches that share a record are one; see Launch.launches.
        """
        for record, process in self.of("launch"):
            if spec is not None and record["spec"] != spec:
                continue
            if kernel is not None and kernel not in (record["kernel"], record.get("demangled")):
                continue
            yield Launch(record, process)

    def metrics(self, name=None):
        """Yields the numeric results of all launches, or those of this name."""
        for launch in self.launches():
            for metric in launch.metrics():
                if name is None or metric.name == name:
                    yield metric

    def tables(self, name=None):
        """Yields traces, maps and arrays of structures of all launches, or those of this name."""
        for launch in self.launches():
            for table in launch.tables():
                if name is None or table.name == name:
                    yield table

    def maps(self, name=None):
        """Yields tables whose rows have keys."""
        return (table for table in self.tables(name) if table.keys)

    def sites(self):
        return (Sites(record) for record, _ in self.of("sites"))

    def coverage(self):
        """Yields a dict for each kernel and process."""
        return (record for record, _ in self.of("coverage"))

    def rows(self):
        """Yields a dict for each metric: the rows of frame(), without pandas."""
        for metric in self.metrics():
            launch, place = metric.launch, metric.launch.place
            yield {"host": launch.host, "rank": launch.rank, "pid": launch.process.pid, "ordinal": place.get("ordinal"),
                   "stream": place.get("stream"), "module": place.get("module"), "kernel": launch.kernel, "demangled": launch.demangled,
                   "launch": launch.launch, "launches": launch.launches, "correlation": place.get("correlation"), "spec": launch.spec,
                   "begin_us": place.get("begin_us"), "end_us": place.get("end_us"), "name": metric.name, "value": metric.value,
                   "unit": metric.unit}

    def frame(self):
        """Returns a pandas DataFrame with a row for each metric."""
        try:
            import pandas  # pylint: disable=import-outside-toplevel
        except ImportError as error:
            raise Error("frame() needs pandas, which is not installed", "pip install pandas, or use rows()") from error
        columns = ["host", "rank", "pid", "ordinal", "stream", "module", "kernel", "demangled", "launch", "launches", "correlation", "spec",
                   "begin_us", "end_us", "name", "value", "unit"]
        return pandas.DataFrame([tuple(row.values()) for row in self.rows()], columns=columns)

    def _repr_html_(self):
        """Returns the first metrics as a table, for Jupyter."""
        shown = ["demangled", "launch", "spec", "name", "value", "unit"]
        rows = list(itertools.islice(self.rows(), _MOST_SHOWN + 1))
        lines = ["<tr>" + "".join(f"<td>{html.escape(str(row[name]))}</td>" for name in shown) + "</tr>" for row in rows[:_MOST_SHOWN]]
        more = "<p>… and more: rows(), frame()</p>" if len(rows) > _MOST_SHOWN else ""
        return "<table><tr>" + "".join(f"<th>{name}</th>" for name in shown) + "</tr>" + "".join(lines) + "</table>" + more


class Run(Records):
    """The records of launches of this process, with the methods of Records."""

    def __init__(self, records):
        super().__init__("this process")
        self._records = records

    def __iter__(self):
        processes = {}
        for record in self._records:
            if record["record"] == "process":
                processes[record["process"]] = Process(record)
            yield record, processes.get(record.get("process"), Process())

    def __repr__(self):
        return f"Run({sum(1 for _ in self.launches())} launches)"


def _with_library(data, size):
    """Returns the system's libzstd, which Debian's dpkg also requires."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    unpacked = ctypes.create_string_buffer(max(size, 1))
    if library.ZSTD_decompress(unpacked, size, data, len(data)) != size:
        raise ValueError("a block of a trace is damaged")
    return unpacked.raw[:size]


def _unpacked(data, size):
    """Decompresses with the standard library (3.14), else the package zstandard, else the system's libzstd."""
    try:
        from compression import zstd
        return zstd.decompress(data)
    except ImportError:
        pass
    try:
        import zstandard
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
    except ImportError:
        return _with_library(data, size)


# Array codes of the fields' types; their widths are the same on every x86-64 Linux.
_CODES = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "f32": "f", "f64": "d"}


class Stream:
    """A trace of one launch. `appended` stays unset (None) if the launch did not end; entries missing in the file were lost."""

    def __init__(self, path, number, description):
        self._path, self._number = path, number
        self.spec = description["spec"]
        self.trace = description["trace"]
        self.kernel = description["kernel"]
        self.launch = description["launch"]
        self.device = description["device"]
        self.ordinal = description["ordinal"]
        self.process = description["process"]
        self.fields = {field["name"]: field["type"] for field in description["fields"]}
        self.appended = None

    def blocks(self):
        """Yields (number of the first entry, {name: values}) for each block."""
        width = sum(struct.calcsize("=" + _CODES[kind]) for kind in self.fields.values())
        for kind, stream, payload in _frames(self._path, lambda kind, stream: kind == b"rows" and stream == self._number):
            if payload is None:
                continue
            first, entries = struct.unpack_from("<QQ", payload)
            values = _unpacked(payload[16:], entries * width)
            columns, at = {}, 0
            for name, of in self.fields.items():
                column = array.array(_CODES[of])
                column.frombytes(values[at:at + entries * column.itemsize])
                at += entries * column.itemsize
                columns[name] = column
            yield first, columns

    def entries(self):
        """Yields (number, {name: value}) for each entry."""
        for first, columns in self.blocks():
            for i, values in enumerate(zip(*columns.values())):
                yield first + i, dict(zip(columns, values))

    def __repr__(self):
        return f"Stream({self.spec}.{self.trace}, kernel={self.kernel!r}, launch={self.launch})"


def _frames(path, is_wanted):
    """Yields (kind, stream, payload) for each complete frame of a file; an unwanted payload is skipped (None)."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        while file.tell() + 16 <= size:
            magic, kind, stream, length = struct.unpack("<4s4sII", file.read(16))
            if magic != b"lxtr":
                raise ValueError(f"{path} is no file of streamed traces")
            if file.tell() + length > size:  # the process was killed
                return
            if is_wanted(kind, stream):
                yield kind, stream, file.read(length)
            else:
                file.seek(length, 1)
                yield kind, stream, None


def streams(*paths):
    """Returns the streams of folders and files, in the order in which they started."""
    found = []
    for path in map(pathlib.Path, paths):
        for file in sorted(path.glob("*.trace")) if path.is_dir() else [path]:
            of_file = {}
            for kind, number, payload in _frames(file, lambda kind, _: kind != b"rows"):
                if kind == b"open":
                    of_file[number] = Stream(file, number, json.loads(payload))
                elif kind == b"done":
                    of_file[number].appended = json.loads(payload)["appended"]
            found += of_file.values()
    return found
