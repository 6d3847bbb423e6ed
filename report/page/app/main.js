// The page: the run, its findings, its kernels, and details of the selected one.
import { TabulatorFull as Tabulator } from "tabulator-tables";
import { blockGraph, distribution, heatMap, histogram, timeline, timelineColumns } from "./charts.js";
import { codeView } from "./code.js";
import { bar, element, escape, section } from "./dom.js";
import { activeLanes, compact, figuresOf, format, hexadecimal, isBits, isMeaningless, kernelsOf, percent, placeOf, shortFile, time } from "./model.js";

const data = window.lynxppData;
const kernels = kernelsOf(data);

const number = { hozAlign: "right", headerHozAlign: "right", sorter: "number", formatter: (cell) => format(cell.getValue()) };

/** Returns the column options for numbers of this name and unit. */
const numbersOf = (name, unit) => (isBits(name, unit) ? { ...number, formatter: (cell) => hexadecimal(cell.getValue()) } : number);

/** Returns a scrollable, sortable table that renders only visible rows. */
function table(columns, rows, options = {}) {
  const box = element("div");
  const height = rows.length > 12 ? "420px" : undefined;
  const made = () => new Tabulator(box, { data: rows, columns, height, layout: "fitData", movableColumns: true, ...options });
  box.tabulator = options.now ? made() : requestAnimationFrame(made);
  return box;
}

const filtered = { headerFilter: "input", headerFilterPlaceholder: "filter" };
const numbersFiltered = { headerFilter: "number", headerFilterFunc: ">=", headerFilterPlaceholder: "from" };

const several = (count, name) => `${format(count)} ${name}${count === 1 ? "" : /(ch|s)$/.test(name) ? "es" : "s"}`;
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");

/** Returns the name without return type and parameters. */
function shortName(name) {
  let depth = 0, at = name.length;
  if (!name.endsWith(")")) return name;
  do depth += { ")": 1, "(": -1 }[name[--at]] ?? 0; while (depth > 0 && at > 0);
  return name.slice(0, at).replace(/^void /, "") || name;
}

const { shares_of: unit, list: everyFinding } = data.summary.findings;
const benefitOf = ({ benefit, basis }) => (benefit === null || benefit === undefined ? "" : `${basis === "estimated" ? "about" : "at most"} ${percent(benefit && Math.max(benefit, 0.001))}`);
/** Returns "measured, 89 to 91 %". */
const basisOf = ({ basis, interval }) => {
  const [low, high] = (interval ?? []).map((each) => percent(each));
  return `${basis ?? "estimated"}${low === high ? "" : `, ${low.replace(" %", "")} to ${high}`}`;
};
const isWorthReading = (each) => (each.benefit === null ? each.weight >= 0.05 : each.benefit === undefined || each.benefit >= 0.01);

/** Renders a finding; a finding of the run is a link, by its number, that opens the kernel at its line. */
function card(each, kernel) {
  const at = everyFinding.indexOf(each);
  const place = [placeOf(each), [each.place?.opcode, each.place?.object].filter(Boolean).join(", "), each.array].filter(Boolean).join(" · ");
  const [what] = each.what_to_try.split(/[;:]/);
  const title = [element("b", {}, sentence(each.rule).slice(0, -1)), element("span", { title: kernel.name }, shortName(kernel.name)), place && element("span", {}, place)];
  const gain = benefitOf(each);
  return element("li", { class: "card" },
    gain ? element("div", { class: "gain", title: `${each.basis === "estimated" ? "may save about" : "saves at most"} ${(100 * each.benefit).toFixed(2)} % of the run's ${unit} (${basisOf(each)})` }, `${gain} (${basisOf(each)})`, bar(each.benefit, "", "", each.interval)) : element("span", { class: "facts" }, "gain not estimated"),
    element("div", {}, at < 0 ? element("p", {}, ...title) : element("a", { href: `#finding=${at}` }, ...title), what ? element("p", { class: "try" }, sentence(what)) : "",
      element("details", { open: !what }, element("summary", {}, "Why"), element("p", {}, sentence(each.sentence)), each.why ? element("p", {}, sentence(each.why)) : "",
        what ? element("p", {}, `Try: ${sentence(each.what_to_try)}`) : "")));
}

const cards = (list) => element("ol", { class: "cards" }, ...list.map(([each, kernel]) => card(each, kernel)));

const kernelOf = new Map(kernels.flatMap((kernel) => kernel.findings.map((each) => [each, kernel])));
/** The findings of the run that are listed at its top; the others are listed with their kernels, so that each appears once. */
const worth = everyFinding.filter((each) => isWorthReading(each) && kernelOf.has(each));
/** The share that all findings may save together: for each kernel, at most the kernel's share. */
const together = Math.min(1, kernels.reduce((sum, kernel) => sum + Math.min(Math.max(0, ...kernel.findings.map(({ weight }) => weight ?? 0)),
  kernel.findings.reduce((all, { benefit }) => all + (benefit ?? 0), 0)), 0));
const first = (worth.length ? worth.slice(0, 12) : together >= 0.01 ? everyFinding.filter((each) => kernelOf.has(each)).slice(0, 3) : []).map((each) => [each, kernelOf.get(each)]);
const listed = new Set(first.map(([each]) => each));

function findings() {
  if (!first.length) return kernels.every(({ sites }) => !sites) ? "" : element("p", { class: "facts" }, `No rule found anything ${everyFinding.length ? "that would save 1 % of the run" : "to improve"}.`);
  return element("section", { id: "findings" }, element("h2", {}, "Where to look first"),
    element("p", { class: "facts" }, worth.length ? `Bars show the share of the run's ${unit} that a repair may save${first.some(([{ interval }]) => interval) ? ", whiskers its range" : ""}.`
      : `Each finding may save less than 1 % of the run's ${unit}; all ${format(everyFinding.length)} together about ${percent(together)}. The first ones:`),
    cards(first.slice(0, 5)), first.length > 5 ? section(several(first.length - 5, "more finding"), () => cards(first.slice(5)), false) : "",
    worth.length > first.length ? element("p", { class: "facts" }, `${format(worth.length - first.length)} more are listed with their kernels.`) : "",
    lineHint(first.filter(([{ place }]) => place && !place.line)));
}

/** Says how to get source lines; kernels of XLA, which are named by their instructions in HLO, cannot have them. */
function lineHint(lacking) {
  if (!lacking.length) return "";
  const isXla = ([, { kernel }]) => /fusion|^wrapped_/.test(kernel);
  const texts = [lacking.every(isXla) ? "" : "Compile with -lineinfo to see source lines instead of PTX lines.",
    lacking.some(isXla) ? "XLA writes no source lines: with XLA_FLAGS=--xla_dump_to=FOLDER, the instruction of the kernel's name in *after_optimizations.txt has the line of Python." : ""];
  return element("p", { class: "missing" }, texts.filter(Boolean).join(" "));
}

/** Shows what trials measured, if there were any; its HTML comes with the data. */
function limits() {
  const box = element("section", { id: "limits" });
  box.innerHTML = data.limits ?? "";
  return box;
}

/** Returns the table of kernels: five columns and one to choose. Results fill columns that are unknown. */
function overview(show) {
  const scalars = new Map();
  for (const kernel of kernels) for (const metric of kernel.metrics) scalars.set(`${metric.spec}: ${metric.name}`, metric);
  const named = new Map(); // full names by short name
  for (const { name } of kernels) named.set(shortName(name), (named.get(shortName(name)) ?? new Set()).add(name));
  const devices = new Set(kernels.map(({ device }) => device)).size;
  const rows = kernels.map((each) => {
    const worst = each.findings.find((other) => other.benefit !== undefined && isWorthReading(other));
    return { id: each.id, name: [each.name, each.ranges && `in ${each.ranges}`, devices > 1 && `on ${each.device}`].filter(Boolean).join(" "),
      launches: each.launches, share: each.share, traffic: each.transferred, lanes: activeLanes(each), worst: worst && [worst.rule, benefitOf(worst).replace("at most", "≤").replace("about", "≈")].filter(Boolean).join(", "), gain: worst?.benefit ?? 0, each,
      ...Object.fromEntries(each.metrics.map(({ spec, name, value }) => [`${spec}: ${name}`, value])) };
  });
  const drawn = (share, text, title) => (cell) => {
    const row = cell.getRow().getData();
    return share(row) === undefined || share(row) === null ? "–" : bar(share(row), text(row), title?.(row) ?? "");
  };
  const bars = { sorter: "number", minWidth: 150 };
  const columns = [
    { title: "kernel", field: "name", minWidth: 260, widthGrow: 2, tooltip: true, ...filtered,
      formatter: (cell) => {
        const { name, launches, each } = cell.getRow().getData();
        return `${escape(named.get(shortName(each.name)).size === 1 ? name.replace(each.name, () => shortName(each.name)) : name)}${launches > 1 ? ` <small>×${format(launches)}</small>` : ""}`;
      } },
    { title: `share of ${unit}`, field: "share", ...bars, formatter: drawn((row) => row.share, ({ each }) =>
      [percent(each.share), time(each.milliseconds)].filter(Boolean).join(" · ")) },
    rows.some(({ traffic }) => traffic) && { title: "requested share of traffic at L1", field: "traffic", ...bars,
      formatter: drawn(({ each }) => each.transferred && each.requested / each.transferred, ({ each }) => `${percent(each.requested / each.transferred)} of ${compact(each.transferred).replace(/\D?$/, " $&B")}`,
        ({ each }) => `Global loads, stores and asynchronous copies request ${format(each.requested)} bytes in ${format(each.transferred)} bytes of sectors at L1`) },
    rows.some(({ lanes }) => lanes) && { title: "active lanes", field: "lanes", ...bars, formatter: drawn((row) => row.lanes, (row) => percent(row.lanes)) },
    rows.some(({ worst }) => worst) && { title: "first finding", field: "gain", sorter: "number", minWidth: 200, widthGrow: 1.6, tooltip: (_, cell) => cell.getRow().getData().worst ?? "", formatter: (cell) => escape(cell.getRow().getData().worst ?? "") },
  ].filter(Boolean);
  const column = (key) => ({ title: `${key}${scalars.get(key).unit ? ` (${scalars.get(key).unit})` : ""}`, field: key, ...numbersOf(scalars.get(key).name, scalars.get(key).unit),
    headerTooltip: `${scalars.get(key).fold} over launches`, minWidth: 110 });
  const free = [...scalars.keys()].slice(0, Math.max(0, 5 - columns.length - (columns.length > 2 ? 5 : 0)));
  const box = table([...columns, ...free.map(column)], rows, { now: true, selectableRows: 1, layout: "fitColumns", nestedFieldSeparator: false, initialSort: [{ column: "share", dir: "desc" }] });
  box.id = "overview";
  box.tabulator.on("rowClick", (_, row) => show(row.getData().id));
  let chosen = null;
  const choice = element("select", { "aria-label": "further column", onchange: () => {
    if (chosen) box.tabulator.deleteColumn(chosen);
    chosen = choice.value;
    if (chosen) box.tabulator.addColumn(column(chosen));
  } }, element("option", { value: "" }, "further column …"), ...[...scalars.keys()].filter((key) => !free.includes(key)).map((key) => element("option", { value: key }, key)));
  return { box, choice: scalars.size > free.length ? choice : "" };
}

function placesTable(kernel, kind) {
  const { sites } = kernel;
  const arrays = kernel.hot.filter((each) => each.site === kind);
  const length = Math.max(...arrays.map((each) => each.values.length));
  const rows = Array.from({ length }, (_, id) => {
    const row = { id };
    const instruction = kind === "instruction" ? id : sites?.blocks.first[id];
    if (sites && instruction !== undefined && instruction < sites.instructions.block.length) {
      const { block, opcode, ptx_line, file, line } = sites.instructions;
      row.opcode = sites.opcodes[opcode[instruction]];
      const name = sites.functions[sites.blocks.function[block[instruction]]];
      row.function = name === kernel.kernel ? kernel.name : name;
      row.source = file[instruction] === null || line[instruction] === 0 ? "" : `${shortFile(sites.files[file[instruction]])}:${line[instruction]}`;
      row.ptx = ptx_line[instruction];
    }
    arrays.forEach((array, i) => (row[`v${i}`] = array.values[id] ?? null));
    return row;
  });
  const columns = [{ title: kind, field: "id", ...number }, ...(kind === "instruction" ? [{ title: "opcode", field: "opcode", ...filtered }] : []),
    { title: "function", field: "function", ...filtered }, { title: "source", field: "source", ...filtered }, { title: "PTX line", field: "ptx", ...number },
    ...arrays.map((array, i) => ({ title: array.name + (array.unit ? ` (${array.unit})` : ""), field: `v${i}`, ...numbersOf(array.name, array.unit), ...numbersFiltered }))];
  return table(columns, rows, { initialSort: [{ column: "v0", dir: "desc" }] });
}

function arraysTable(kernel) {
  return table([{ title: "array", field: "name", ...filtered }, { title: "unit", field: "unit" }, ...["elements", "sum", "least", "greatest"].map((field) =>
    ({ title: field, field, ...number }))], kernel.arrays.map(({ name, unit, elements, sum, least, greatest }) => ({ name, unit, elements, sum, least, greatest })));
}

function rowsTable(each) {
  const columns = [...(each.folded ? [] : [{ title: "launch", field: "launch", ...number }]),
    ...each.columns.map((column, i) => ({ title: column.name + (column.unit ? ` (${column.unit})` : ""), field: `c${i}`,
      ...(column.text ? filtered : { ...numbersOf(column.name, column.unit), ...numbersFiltered }) }))];
  const rows = each.rows.map((row) => ({ launch: row.launch, ...Object.fromEntries(row.values.map((value, i) => [`c${i}`, value])) }));
  return element("div", {}, element("h4", {}, each.name), table(columns, rows), each.further ? element("p", {}, `and ${format(each.further)} more rows in the records`) : "");
}

/** Returns a number; the value of a ratio. */
const plain = (result) => (result?.denominator !== undefined ? result.value : result ?? null);

function launchesTable(kernel) {
  const names = [...new Set(kernel.launchRows.flatMap((each) => Object.keys(each.results)))];
  const rows = kernel.launchRows.map((each) => ({ launch: each.launch, launches: each.shared?.launches ?? 1, last: each.shared?.last ?? each.launch, spec: each.spec, grid: each.grid.join("×"), block: each.block.join("×"),
    modelled: each.modelled ? each.modelled.seconds * 1000 : null, ...Object.fromEntries(names.map((name, i) => [`r${i}`, plain(each.results[name])])) }));
  // Launches that share a record: "64–1063 (1,000 launches)".
  const named = (cell) => { const { launch, last, launches } = cell.getRow().getData(); return launches === 1 ? format(launch) : `${format(launch)}–${format(last)} (${format(launches)} launches)`; };
  const columns = [{ title: "launch", field: "launch", ...number, formatter: named }, { title: "specification", field: "spec", ...filtered }, { title: "grid", field: "grid" },
    { title: "block", field: "block" }, ...(rows.some((row) => row.modelled !== null) ? [{ title: "ms (modelled)", field: "modelled", ...number }] : []),
    ...names.map((name, i) => ({ title: name, field: `r${i}`, ...number }))];
  return table(columns, rows);
}

function metrics(kernel) {
  return table([{ title: "specification", field: "spec", ...filtered }, { title: "metric", field: "name", ...filtered }, { title: "value", field: "value", ...number, formatter: (cell) => { const { name, unit } = cell.getRow().getData(); return (isBits(name, unit) ? hexadecimal : format)(cell.getValue()); } },
    { title: "unit", field: "unit" }, { title: "over launches", field: "fold" }], kernel.metrics);
}


function figures(kernel) {
  return element("div", { class: "figures" }, ...figuresOf(kernel).map(({ title, rows }) => element("div", {}, element("h4", {}, title),
    element("table", {}, ...rows.map(({ name, value, share, title: exact }) => element("tr", { title: exact },
      element("th", {}, name), element("td", {}, share === undefined ? value : bar(share, `${percent(share)}`)), element("td", {}, share === undefined || value === percent(share) ? "" : value)))))));
}

const isOfBlocks = (array) => array.spec === "kernel_runtime" && array.name === "distribution";
const isHistogram = (array) => array.values?.length > 0 && (array.bounds?.length > 0 || isOfBlocks(array));
const isByBlock = (array) => array.names?.join() === "BLOCKS" && array.values?.length > 1 && array.values.some((each) => each !== null);
const isMap = (array) => array.values?.length > 1 && !array.site && !array.table && !isHistogram(array) && !array.name.includes(".");

function threadBlocks(kernel) {
  const arrays = kernel.arrays.filter((each) => !isMeaningless(kernel, each));
  const modelled = (launch) => {
    const machine = kernel.launchRows.find((each) => each.launch === launch && each.modelled)?.modelled.machine;
    return machine ? `modelled for ${machine}` : "";
  };
  const isKnown = !isMeaningless(kernel, { unit: "cycles" });
  return [...arrays.filter((each) => isKnown && isHistogram(each) && isOfBlocks(each)).map(histogram),
    ...arrays.filter(isByBlock).map(distribution),
    ...(isKnown ? kernel.tables.filter(timelineColumns).map((each) => timeline(each, modelled)) : [])];
}

function kernelView(kernel) {
  const view = element("section", { id: "kernel" });
  const extent = (each) => (each ? each.join("×") : "varies");
  view.append(element("h2", {}, kernel.name), element("p", { class: "facts" }, [`${several(kernel.launches, "launch")} on ${kernel.device}`, `grid ${extent(kernel.grid)}`,
    `block ${extent(kernel.block)}`, kernel.ranges && `in ${kernel.ranges}`, time(kernel.milliseconds)].filter(Boolean).join(" · ")));
  const add = (title, make, isOpen) => view.append(section(title, make, isOpen));
  const rest = kernel.findings.filter((each) => !listed.has(each)).map((each) => [each, kernel]);
  const [more, small] = [true, false].map((is) => rest.filter(([each]) => isWorthReading(each) === is));
  if (more.length) add("Findings", () => cards(more));
  if (small.length) add(`${several(small.length, "finding")} of less than 1 % of the run`, () => cards(small), false);
  const notes = new Map(); // specifications by note: notes qualify the numbers, so they precede them
  for (const { spec, note } of kernel.notes) notes.set(note, [...(notes.get(note) ?? []), spec]);
  if (notes.size) add("Notes", () => element("ul", { class: "notes" }, ...[...notes].map(([note, specs]) => element("li", {}, `${specs.join(", ")}: ${note}`))));
  if (kernel.metrics.length) add("Key figures", () => figures(kernel));
  const code = codeView(kernel, data.sources);
  const codeSection = section("Source and PTX", () => code);
  view.append(codeSection);
  view.querySelectorAll(".section[open]").forEach((each) => each.fill());  // so that the code stays where it is scrolled to
  view.reveal = (finding) => {
    codeSection.open = true;
    code.reveal(finding);
    (finding.place ? codeSection : view).scrollIntoView({ block: "start" });
  };
  if (kernel.sites) {
    const graph = element("div");
    code.onmeasure = (measure) => graph.isConnected && graph.replaceChildren(blockGraph(kernel, measure, code.textOf));
    add("Control flow", () => { graph.append(blockGraph(kernel, code.measure(), code.textOf)); return graph; });
  }
  const blocks = threadBlocks(kernel);
  if (blocks.length) add("Thread blocks", () => element("div", {}, ...blocks));
  const histograms = kernel.arrays.filter((each) => isHistogram(each) && !isOfBlocks(each));
  if (histograms.length) add("Histograms", () => element("div", {}, ...histograms.map(histogram)));
  const maps = kernel.arrays.filter((each) => isMap(each) && !isMeaningless(kernel, each));
  if (maps.length) add("Heat maps of arrays", () => element("div", {}, ...maps.map(heatMap)), !blocks.length);
  for (const kind of ["instruction", "block"])
    if (kernel.hot.some((each) => each.site === kind)) add(kind === "instruction" ? "Instructions" : "Basic blocks", () => placesTable(kernel, kind), false);
  if (kernel.metrics.length) add("All results", () => metrics(kernel), false);
  if (kernel.tables.length) add("Tables", () => element("div", {}, ...kernel.tables.map(rowsTable)));
  if (kernel.arrays.length) add("Arrays", () => arraysTable(kernel), false);
  if (kernel.launchRows.length) add("Launches", () => launchesTable(kernel), false);
  return view;
}

/** Returns what was measured, of what was launched; a click shows the rest of what is known about the run. */
function about() {
  const { kernels: counted, launches, milliseconds } = data.measured;
  const [part, of] = milliseconds ? [milliseconds, "GPU time (estimated)"] : [launches, "launches"];
  const text = counted.all ? `${format(counted.counted)} of ${several(counted.all, "kernel")} measured: ${percent(part.counted / Math.max(part.all, Number.MIN_VALUE))} of ${of}` : several(kernels.length, "kernel");
  return section(text, runSections, kernels.length === 0);
}

/** Returns the program's name; an interpreter's is that of its script. */
function titleOf(process) {
  if (!process?.program) return data.title;
  const name = shortFile(process.program);
  const script = /^python[\d.]*$/.test(name) && !process.command?.includes("-c") && process.command?.slice(1).find((each) => !each.startsWith("-"));
  return script ? shortFile(script) : name;
}

function header(...buttons) {
  const { processes, devices, timings } = data;
  const [process] = processes;
  const words = process?.command?.length ? process.command : process?.program ? [process.program] : [];
  const command = words.map((each) => (/^[\w@%+=:,./-]+$/.test(each) ? each : `'${each.replaceAll("'", "'\\''")}'`)).join(" ");
  const names = [...new Set((devices.length ? devices : kernels).map(({ device }) => device))];
  const milliseconds = data.kernels.reduce((sum, each) => (each.milliseconds === undefined ? sum : (sum ?? 0) + each.milliseconds), null);
  const modelled = timings.find((each) => each.modelled)?.modelled;
  const begin = Math.min(...processes.map(({ begin_us }) => begin_us ?? Infinity));
  const facts = [
    command && ["command", command],
    processes.length > 1 && ["processes", `${format(processes.length)} on ${several(new Set(processes.map(({ host }) => host)).size, "host")}`],
    names.length && [names.every((each) => each.startsWith("cpu")) ? "device" : "GPU", names.join(", ")],
    Number.isFinite(begin) && ["date", new Date(begin / 1000).toLocaleString("sv-SE")],
    Number.isFinite(begin) && data.last_us > begin && ["elapsed", `${time((data.last_us - begin) / 1000)} until the last launch ended`],
    milliseconds !== null && [modelled ? "modelled GPU time" : "GPU time", `${time(milliseconds)}${modelled ? "" : ", instrumented"}`],
  ].filter(Boolean);
  return element("header", {}, element("h1", {}, titleOf(process)), ...buttons,
    element("dl", {}, ...facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))));
}

function runSections() {
  const rest = element("div");
  for (const total of data.summary.totals) {
    const rows = Object.entries(total.results).map(([name, value]) => ({ name, unit: total.units?.[name] ?? "",
      value: value?.values ? value.values.slice(0, 64).map(format).join(", ") : format(value?.value !== undefined ? value.value : value) }));
    rest.append(section(`${total.spec}, all launches`, () => table([{ title: "result", field: "name" }, { title: "value", field: "value" }, { title: "unit", field: "unit" }], rows)));
  }
  const missing = data.summary.not_instrumented;
  if (missing.length) rest.append(section(`Not instrumented (${missing.length})`, () => table([{ title: "kernel", field: "demangled", ...filtered },
    { title: "launches", field: "launches", ...number }, { title: "instrumented", field: "instrumented_launches", ...number }, { title: "reason", field: "reason", ...filtered }], missing)));
  if (data.timings.length) rest.append(section("Time of every stage (ms)", () => table([{ title: "kernel", field: "demangled", ...filtered },
    ...["parse_ms", "instrument_ms", "emit_ms", "load_ms", "execute_ms"].map((field) => ({ title: field.slice(0, -3), field, ...number })),
    { title: "modelled for", field: "modelled" }], data.timings), false));
  if (data.activities.length) rest.append(section("Calls of the program", () => table([{ title: "order", field: "order", ...number }, { title: "ms", field: "host_ms", ...number },
    { title: "stream", field: "stream", ...number }, { title: "call", field: "call", ...filtered }, { title: "bytes", field: "bytes", ...number }, { title: "ranges", field: "ranges", ...filtered }],
    data.activities.map((each) => ({ order: each.order, host_ms: each.host_ms, stream: each.stream, bytes: each.copy?.bytes ?? null, ranges: (each.ranges ?? []).join("/"),
      call: each.launch ? `launch ${each.launch.demangled}` : each.copy ? `copy ${each.copy.direction}` : "wait" }))), false));
  if (data.further_launches || data.further_activities)
    rest.append(element("p", {}, `${format(data.further_launches)} more launches and ${format(data.further_activities)} more calls are in the records, not in this page; totals are of all.`));
  const { sources } = data;
  if (sources.length) rest.append(section(`Source files (${format(sources.filter((each) => each.text !== null).length)} of ${format(sources.length)} in this page)`, () =>
    table([{ title: "file", field: "path", ...filtered }, { title: "lines in this page", field: "lines", ...number }, { title: "reason for omission", field: "missing", ...filtered }],
      sources.map(({ path, text, missing }) => ({ path, lines: text === null ? null : text.split("\n").length, missing: missing ?? "" }))), false));
  rest.append(section("Licences of this page's components", () => element("div", {}, ...LICENCES.map((each) =>
    element("details", {}, element("summary", {}, `${each.name} ${each.version}: ${each.licence}`), element("pre", {}, each.text)))), false));
  return rest;
}

/** Moves by keys: between findings and kernels, and to the filter. */
function listen(event, box, show, isShown) {
  if (/^(input|select|textarea)$/i.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  const near = (list, at, step) => list[Math.min(list.length - 1, Math.max(0, at + step))];
  if (event.key === "/") {
    event.preventDefault();
    box.querySelector("input")?.focus();
  } else if (event.key === "j" || event.key === "k") {
    const links = [...document.querySelectorAll(".card a")].filter((each) => !each.closest("details:not([open])"));
    near(links, links.indexOf(document.activeElement), event.key === "j" ? 1 : -1)?.focus();
  } else if (event.key === "n" || event.key === "p") {
    const rows = box.tabulator.getRows("active").map((row) => row.getData().id);
    const next = near(rows, rows.findIndex(isShown), event.key === "n" ? 1 : -1);
    if (next !== undefined) show(next);
  }
}

function start() {
  document.getElementById("opening").remove();
  const theme = element("button", { type: "button", onclick: () => {
    const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  } }, "dark / light");
  const print = element("button", { type: "button", onclick: () => window.print() }, "print");
  const opened = () => requestAnimationFrame(() => requestAnimationFrame(() => (document.documentElement.dataset.openedMs = Math.round(performance.now()))));
  document.body.append(header(theme, print), about());
  if (!kernels.length) {
    document.body.append(element("p", {}, "The records contain no instrumented launch."));
    return opened();
  }
  const place = element("div");
  let shown = null;
  let isBuilt = false;
  const select = () => {
    if (!isBuilt) return;
    box.tabulator.deselectRow();
    box.tabulator.selectRow(shown.id);
  };
  const show = (id) => {
    shown = kernels[id] ?? kernels[0];
    if (!/^#finding=/.test(location.hash)) history.replaceState(null, "", `#kernel=${shown.id}`);
    place.replaceChildren(kernelView(shown));
    select();
  };
  const pick = (id) => { history.replaceState(null, "", `#kernel=${id}`); show(id); };
  const { box, choice } = overview(pick);
  box.tabulator.on("tableBuilt", () => { isBuilt = true; select(); });
  document.body.append(findings(), limits(), element("div", { class: "title" }, element("h2", {}, `Kernels (${format(kernels.length)})`), choice,
    element("small", {}, "keys: j, k findings · n, p kernels · / filter")), box, place, element("p", { class: "facts" }, data.summary.trust));
  const follow = () => {
    const [, kind, at] = /^#(kernel|finding)=(\d+)/.exec(location.hash) ?? [];
    const finding = kind === "finding" ? everyFinding[at] : null;
    const kernel = finding ? kernelOf.get(finding) : kernels[at];
    if (!kernel) return false;
    if (kernel !== shown || kind === "kernel") show(kernel.id);
    if (finding) place.firstChild.reveal(finding);
    return true;
  };
  if (!follow()) show([...kernels].sort((a, b) => b.share - a.share)[0].id);
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => { if (event.target.closest(".card a")?.hash === location.hash) follow(); });
  document.addEventListener("keydown", (event) => listen(event, box, pick, (id) => id === shown.id));
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("#kernel details.section").forEach((each) => each.fill());
    document.querySelectorAll(".card details").forEach((each) => (each.open = true));
  });
  opened();
}

start();
