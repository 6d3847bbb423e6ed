// Builds the page's model, the kernels with all their details, from the data (docs/schema/page.schema.json).

export const shortFile = (path) => path.slice(path.lastIndexOf("/") + 1);

/** Returns "12,345,678", "12.346"; "–" for a value that is not a number. Rounded values are marked. */
export function format(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "bigint") return value.toLocaleString("en-US");
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return "≈" + value.toPrecision(15);
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  return Math.abs(value) >= 0.001 || value === 0
    ? value.toLocaleString("en-US", { maximumFractionDigits: 3 })
    : value.toExponential(3);
}

/** Returns "12.35M"; the value is rounded to four digits. */
export function compact(value) {
  const number = Number(value);
  const power = Math.min(6, Math.floor(Math.log10(Math.abs(number)) / 3));
  return power >= 1 ? `${Number((number / 1000 ** power).toPrecision(4))}${" kMGTPE"[power]}` : format(Number(number.toPrecision(4)));
}

/** Returns "1.25 ms", "3.2 s"; empty for an unknown time. */
export function time(milliseconds) {
  if (milliseconds === undefined || milliseconds === null) return "";
  const [scale, unit] = [[1000, "s"], [1, "ms"], [0.001, "µs"]].find(([least]) => milliseconds >= least) ?? [1e-6, "ns"];
  return `${Number((milliseconds / scale).toPrecision(3))} ${unit}`;
}

/** Returns "38 %", "0.4 %". */
export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0095 ? 1 : 0)} %`;

/** True for bit patterns, by unit or, without one, by name. */
export const isBits = (name, unit) => (unit ? unit === "address" || unit === "mask" : /(^|[_.])(address|mask)$/.test(name));
export const hexadecimal = (value) => ((typeof value === "bigint" || Number.isSafeInteger(value)) && value >= 0 ? "0x" + value.toString(16) : format(value));

/** True for results that mean nothing: IDs, and clocks of the cpu device, which is no model of a GPU. */
export const isMeaningless = (kernel, { unit }) => unit === "id" || (kernel.device === "cpu" && /^(cycles|ns|ms)$/.test(unit ?? ""));

/** Converts elements of arrays, which are drawn and summed; rows of tables and single numbers stay exact. */
const rounded = (values) => (values?.some((each) => typeof each === "bigint") ? values.map((each) => (each === null ? null : Number(each))) : values);

function siteKind(array) {
  if (!array.names || array.names.length !== 1 || !array.values) return null;
  return { INSTRUCTIONS: "instruction", BASIC_BLOCKS: "block" }[array.names[0]] ?? null;
}

/** Returns "transpose.cu:24", "PTX line 31"; empty if unknown. */
export function placeOf({ place }) {
  if (!place) return "";
  if (place.line) return [`${place.file}:${place.line}`, ...(place.inlined_at ?? []).map((each) => `inlined at ${each}`)].join(", ");
  return place.ptx_line ? `PTX line ${place.ptx_line}` : "";
}

/** Returns one entry per kernel, device and ranges, with the results of all specifications. */
export function kernelsOf(data) {
  const kernels = new Map();
  const keyOf = (each, device = each.device) => [each.kernel, device, ...(each.ranges ?? [])].join("\n");
  for (const { spec, device, kernels: list } of data.summary.specifications) {
    for (const each of list) {
      const key = keyOf(each, device);
      if (!kernels.has(key))
        kernels.set(key, {
          id: kernels.size, kernel: each.kernel, name: each.demangled, ranges: (each.ranges ?? []).join("/"), device, launches: 0, grid: each.grid,
          block: each.block, share: 0, metrics: [], arrays: [], tables: [], notes: [], findings: [], launchRows: [], table: each.sites ?? 0,
        });
      const kernel = kernels.get(key);
      kernel.launches = Math.max(kernel.launches, each.launches);
      if (each.sites !== undefined) kernel.table = each.sites;
      for (const [name, result] of Object.entries(each.results)) kernel.metrics.push({ spec, name, ...result });
      for (const [name, array] of Object.entries(each.arrays)) kernel.arrays.push({ spec, name, site: siteKind(array), ...array, values: rounded(array.values) });
      for (const table of each.tables) kernel.tables.push({ spec, ...table });
      for (const note of each.notes) kernel.notes.push({ spec, note });
    }
  }
  const list = [...kernels.values()];
  for (const each of data.kernels) {
    const kernel = kernels.get(keyOf(each));
    for (const fact of ["share", "milliseconds", "requested", "transferred"]) if (each[fact] !== undefined) kernel[fact] = (kernel[fact] ?? 0) + each[fact];
  }
  for (const launch of data.launches) kernels.get(keyOf(launch))?.launchRows.push(launch);
  for (const finding of data.summary.findings.list) kernels.get(keyOf(finding))?.findings.push(finding);
  for (const advice of data.summary.advice) {
    const { staging } = advice;
    const found = [...(staging ? [{ rule: "staging", sentence: staging.summary, what_to_try: "" }] : []), ...advice.findings];
    for (const kernel of list.filter((each) => each.kernel === advice.kernel && each.device === advice.device)) kernel.findings.push(...found);
  }
  const sites = new Map(data.sites.map((each) => [`${each.kernel}\n${each.table}`, each]));
  const timings = new Map(data.timings.map((each) => [each.kernel, each]));
  for (const kernel of list) {
    kernel.sites = sites.get(`${kernel.kernel}\n${kernel.table}`) ?? null;
    kernel.hot = kernel.arrays.filter((each) => each.site);
    kernel.timing = timings.get(kernel.kernel);
  }
  return list;
}

/** Returns the number, undefined if the kernel lacks it. */
const numberOf = (kernel, spec, name) => {
  const value = kernel.metrics.find((each) => each.spec === spec && each.name === name)?.value;
  return value === null || value === undefined ? undefined : Number(value);
};

/** Returns the share of lanes that are active; undefined if unknown. */
export function activeLanes(kernel) {
  const [threads, warps] = ["thread_instructions", "warp_instructions"].map((name) => numberOf(kernel, "instruction_count", name));
  return warps ? threads / (32 * warps) : undefined;
}

/** Returns groups of key figures, without zeros: {title, rows: [{name, value, share, title}]}. A share, from 0 to 1, is drawn. */
export function figuresOf(kernel) {
  const known = new Map();
  const group = (title, spec, rows) => {
    known.set(spec, true);
    const of = (name) => numberOf(kernel, spec, name);
    return { title, rows: rows(of).filter((row) => row?.value) };
  };
  const amount = (name, value, unit = "") => value && { name, value: `${compact(value)} ${unit}`.trim(), title: format(value) };
  const part = (name, value, of, unit = "") =>
    of > 0 && value !== undefined && { name, share: value / of, value: `${compact(value)} of ${compact(of)} ${unit}`.trim(), title: `${format(value)} of ${format(of)}` };
  const kinds = ["load", "store", "atomic"];
  const groups = [
    group("Instructions", "instruction_count", (of) => [
      amount("of warps", of("warp_instructions")),
      of("warp_instructions") && part("active lanes", 32 * activeLanes(kernel), 32),
      ...["memory", "branches", "integer_arithmetic", "floating_arithmetic", "barriers", "atomics", "calls"].map((name) =>
        of(name) ? part(name.replace("_", " "), of(name), of("thread_instructions")) : undefined),
    ]),
    group("Global memory: requested share of transferred bytes", "memory_efficiency", (of) => [
      ...["load", "store"].map((kind) => part(`${kind}s`, of(`${kind}_bytes_asked`), of(`${kind}_bytes_moved`))),
      part("of these asynchronous copies", of("async_copy_bytes_asked"), 32 * of("async_copy_sectors")),
      of("load_sectors") && of("store_sectors") ? part("loads and stores", kernel.requested, kernel.transferred) : undefined,
      part("atomics", of("atomic_bytes_asked"), 32 * of("atomic_sectors")),
      ...["load", "store"].map((kind) => amount(`sectors per request, ${kind}s`, of(`${kind}_sectors_per_request`))),
    ]),
    group("Shared memory: wavefronts without conflicts", "shared_bank_conflicts", (of) =>
      kinds.map((kind) => part(`${kind}s`, of(`${kind}_wavefronts`) - of(`${kind}_conflicts`), of(`${kind}_wavefronts`)))),
    group("Branches", "branch_divergence", (of) => [part("divergent", of("total_divergent"), of("total_branches"))]),
    group("Thread blocks", "kernel_runtime", (of) => (isMeaningless(kernel, { unit: "cycles" }) ? [] : [
      part("mean of longest", of("mean_cycles"), of("max_cycles"), "cycles"),
      of("load_imbalance") && { name: "average over busiest multiprocessor", share: 1 / of("load_imbalance"), value: percent(1 / of("load_imbalance")) },
    ])),
  ];
  const { original } = kernel.timing ?? {};
  if (original)
    groups.push({ title: "Multiprocessor", rows: [part("resident warps", original.warps_per_sm, original.most_warps_per_sm),
      amount("registers per thread", original.registers), amount("local memory per thread", original.local_bytes, "bytes")].filter(Boolean) });
  const others = new Map();
  for (const each of kernel.metrics) {
    const value = Number(each.value);
    if (["basic_block_count", "atomic_contention"].includes(each.spec) || known.has(each.spec) || !value) continue;
    if (!others.has(each.spec)) others.set(each.spec, []);
    const isShare = each.fold === "ratio" && !each.unit && value <= 1;
    others.get(each.spec).push({ amount: value, name: each.name.replaceAll("_", " "), title: format(each.value), share: isShare ? value : undefined,
      value: isBits(each.name, each.unit) ? hexadecimal(each.value) : isShare ? percent(value) : `${compact(value)} ${each.unit}`.trim() });
  }
  for (const [title, rows] of others) {
    const most = [...rows].sort((a, b) => b.amount - a.amount).slice(0, 8);
    groups.push({ title, rows: rows.length > 8 ? [...most, { name: `${rows.length - 8} more: see all results`, value: "" }] : rows });
  }
  return groups.filter(({ rows }) => rows.length);
}

/** Returns the lines of the kernel's PTX: [{line, text}]. */
export function ptxLines(sites) {
  const lines = [];
  for (const part of sites?.ptx ?? []) {
    const texts = part.text.replace(/\n$/, "").split("\n");
    if (/^\s*\.section/.test(texts[0]) || texts.every((each) => /^\s*\.file/.test(each))) continue;
    texts.forEach((text, i) => lines.push({ line: part.line + i, text }));
  }
  return lines;
}

/** Returns the calls that inlined the instruction's function, innermost first: [{file, line}]. */
export function callsOf(sites, instruction) {
  const calls = [];
  const { call_sites: sitesOfCalls, instructions } = sites;
  for (let at = instructions.call_site?.[instruction] ?? null; at !== null; at = sitesOfCalls.outer?.[at] ?? null)
    calls.push({ file: sites.files[sitesOfCalls.file[at]], line: sitesOfCalls.line[at] });
  return calls;
}

/** The measure of a kernel's instructions that shows a rule's finding. */
const measureOfRule = {
  "uncoalesced access": "sectors", "scattered access": "sectors", "bank conflicts": "wavefronts", "bank conflicts between rows": "wavefronts", "scattered bank conflicts": "wavefronts", "tile bank conflicts": "wavefronts",
  "shared atomics on one word": "wavefronts", "contended atomics": "hottest", "divergent branch": "divergent", "uneven loop": "idle",
  "idle lanes": "idle", "partial warps": "idle",
};

/** Returns what can be shown by instruction: [{key, name, unit, values, adds, note}]; a source line has the sum (adds) or the greatest. */
export function measuresOf(kernel) {
  const { sites } = kernel;
  if (!sites) return [];
  const find = (spec, name) => kernel.hot.find((each) => each.spec === spec && each.name === name)?.values;
  const all = [];
  const add = (key, name, unit, values, note = "") => values && all.push({ key, name, unit, values, note, adds: true });
  const [sectors, requests, asked] = ["sectors", "requests", "bytes_asked"].map((name) => find("memory_efficiency", name));
  add("sectors", "wasted sectors", "sectors", sectors?.map((each, i) => each - Math.min(each, Math.max(requests[i], Math.ceil(asked[i] / 32)))),
    "sectors of 32 bytes beyond those that the requested bytes would fill");
  add("wavefronts", "conflicts in shared memory", "wavefronts", find("shared_bank_conflicts", "conflicts"), "wavefronts beyond one per access");
  add("hottest", "atomic operations on one word", "operations", find("atomic_contention", "hottest_word"), "at least this many on the most updated word");
  add("divergent", "divergent branches", "executions", find("branch_divergence", "divergent"), "executions at which the lanes of a warp take both paths");
  const [threads, warps] = ["thread_executions", "warp_executions"].map((name) => find("basic_block_count", name));
  const spread = (values) => values && sites.instructions.block.map((block) => values[block]);
  add("idle", "idle lanes", "lanes", spread(warps?.map((each, i) => 32 * each - threads[i])), "lanes without a thread at this instruction, summed over executions");
  add("executed", "warp instructions", "instructions", spread(warps), "executions by warps");
  for (const array of kernel.hot) {
    const isBlock = array.site === "block";
    all.push({ key: `${array.spec}.${array.name}`, name: `${array.spec}: ${array.name}`, unit: array.unit, values: isBlock ? spread(array.values) : array.values,
      adds: !isBlock && array.sum !== null, note: isBlock ? "each instruction has its basic block's value" : "" });
  }
  return all.filter(({ values }) => values.some((each) => each > 0));
}

/** Returns the measure that shows the finding, or without one the kernel's first finding with a location. */
export function measureFor(kernel, measures, finding) {
  const rules = [finding, ...kernel.findings.filter((each) => each.place)].map((each) => measureOfRule[each?.rule]);
  return [...rules, "executed"].map((key) => measures.find((each) => each.key === key)).find(Boolean) ?? measures[0];
}

/** Returns the values of several instructions as one; undefined if none is known. */
export function fold(values, adds) {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (known.length === 0) return undefined;
  return adds ? known.reduce((a, b) => a + b, 0) : known.reduce((a, b) => Math.max(a, b));
}

/** Returns the edges of the control flow graph: [{from, to, label}]; null if the records lack it. */
export function edgesOf(sites) {
  const { first, instructions: counts, function: functions, falls_to: falls, branches_to: branches } = sites.blocks;
  if (!falls && !branches && first.length > 1) return null;
  const edges = [];
  const lines = ptxLines(sites).map(({ line, text }) => ({ line, text: text.trim() }));
  const at = (instruction) => sites.instructions.ptx_line[instruction];
  for (let block = 0; block < first.length; ++block) {
    const fall = falls?.[block] ?? null;
    const branch = branches?.[block] ?? null;
    if (branch !== null) edges.push({ from: block, to: branch, label: fall === null ? "" : "taken" });
    if (fall !== null) edges.push({ from: block, to: fall, label: branch === null ? "" : "else" });
    const last = first[block] + counts[block] - 1;
    if (branch !== null || !sites.opcodes[sites.instructions.opcode[last]]?.startsWith("brx")) continue;
    // The records have no targets of indexed branches: they follow the label of the table.
    const table = /,\s*([$%\w]+)\s*;/.exec(lines.find(({ line }) => line === at(last))?.text ?? "")?.[1];
    const list = lines.slice(lines.findIndex(({ text }) => text.startsWith(`${table}:`))).map(({ text }) => text).join(" ");
    for (const name of new Set((/\.branchtargets\s+([^;]*);/.exec(list)?.[1] ?? "").split(",").map((each) => each.trim()))) {
      const label = lines.find(({ text }) => text.startsWith(`${name}:`))?.line;
      const to = first.findIndex((instruction, i) => functions[i] === functions[block] && at(instruction) > label);
      if (to >= 0) edges.push({ from: block, to, label: "" });
    }
  }
  return edges;
}
