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

/** True for bit patterns, by unit or, without one, by name. */
export const isBits = (name, unit) => (unit ? unit === "address" || unit === "mask" : /(^|[_.])(address|mask)$/.test(name));
export const hexadecimal = (value) => ((typeof value === "bigint" || Number.isSafeInteger(value)) && value >= 0 ? "0x" + value.toString(16) : format(value));

/** Converts elements of arrays, which are drawn and summed; rows of tables and single numbers stay exact. */
const rounded = (values) => (values?.some((each) => typeof each === "bigint") ? values.map((each) => (each === null ? null : Number(each))) : values);

const isBytes = (name, unit) => /bytes?$/i.test(unit || "") || /(^|_)bytes($|_)/i.test(name);

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

/** Returns "at most 38 %". */
export function benefitOf({ benefit }) {
  if (benefit === null || benefit === undefined) return "not estimated";
  const percent = 100 * benefit;
  return `at most ${percent > 0 && percent < 0.95 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

/** Returns one entry per kernel, device and ranges, with the results of all specifications. */
export function kernelsOf(data) {
  const kernels = new Map();
  const find = (device, each) => {
    const ranges = (each.ranges ?? []).join("/");
    const key = [each.kernel, device, ranges].join("\n");
    if (!kernels.has(key)) {
      kernels.set(key, {
        id: kernels.size, kernel: each.kernel, name: each.demangled, ranges, device, launches: 0, grid: each.grid, block: each.block,
        metrics: [], arrays: [], tables: [], notes: [], findings: [], launchRows: [], time: null, timeKind: "", bytes: null, table: each.sites ?? 0,
      });
    }
    return kernels.get(key);
  };
  for (const { spec, device, kernels: list } of data.summary.specifications) {
    for (const each of list) {
      const kernel = find(device, each);
      kernel.launches = Math.max(kernel.launches, each.launches);
      if (each.sites !== undefined) kernel.table = each.sites;
      for (const [name, result] of Object.entries(each.results)) kernel.metrics.push({ spec, name, ...result });
      for (const [name, array] of Object.entries(each.arrays)) kernel.arrays.push({ spec, name, site: siteKind(array), ...array, values: rounded(array.values) });
      for (const table of each.tables) kernel.tables.push({ spec, ...table });
      for (const note of each.notes) kernel.notes.push({ spec, note });
    }
  }
  const list = [...kernels.values()];
  const byName = Map.groupBy ? Map.groupBy(list, (k) => k.kernel) : group(list, (k) => k.kernel);
  for (const launch of data.launches) {
    const ranges = (launch.ranges ?? []).join("/");
    const kernel = (byName.get(launch.kernel) ?? []).find((k) => k.ranges === ranges && k.device === launch.device);
    if (kernel) kernel.launchRows.push(launch);
  }
  for (const advice of data.summary.advice)
    for (const kernel of byName.get(advice.kernel) ?? []) {
      if (kernel.device !== advice.device) continue;
      if (advice.staging) kernel.findings.push({ rule: "staging", sentence: advice.staging.summary, what_to_try: "", arrays: advice.staging.arrays });
      kernel.findings.push(...advice.findings);
    }
  for (const finding of data.summary.findings.list) {
    const ranges = (finding.ranges ?? []).join("/");
    const kernel = (byName.get(finding.kernel) ?? []).find((k) => k.ranges === ranges && k.device === finding.device);
    kernel?.findings.push(finding);
  }
  addTimes(data, list, byName);
  for (const kernel of list) {
    kernel.sites = data.sites.find((each) => each.kernel === kernel.kernel && each.table === kernel.table) ?? null;
    kernel.hot = kernel.arrays.filter((each) => each.site);
  }
  addTraffic(list);
  return list;
}

/** Adds the bytes of sectors that global loads and stores request at L1, as `lynxpp record` reports them; if no kernel has
 *  them, the result in bytes with the largest sum over all kernels, so that shares refer to one metric. */
function addTraffic(list) {
  const moved = (kernel) => kernel.metrics.filter((each) => each.spec === "memory_efficiency" && /^(load|store)_bytes_moved$/.test(each.name));
  if (list.some((kernel) => moved(kernel).length)) {
    for (const kernel of list.filter((each) => moved(each).length))
      Object.assign(kernel, { bytes: moved(kernel).reduce((sum, each) => sum + Number(each.value), 0), bytesName: "bytes of sectors at L1, loads and stores" });
    return;
  }
  const amounts = (kernel) => [
    ...kernel.metrics.filter((each) => each.fold === "sum").map((each) => ({ ...each, amount: Number(each.value) })),
    ...kernel.arrays.filter((each) => each.sum !== null).map((each) => ({ ...each, amount: Number(each.sum) })),
  ].filter((each) => isBytes(each.name, each.unit) && each.amount > 0);
  const totals = new Map();
  for (const kernel of list)
    for (const { spec, name, amount } of amounts(kernel)) totals.set(`${spec}: ${name}`, (totals.get(`${spec}: ${name}`) ?? 0) + amount);
  const [most] = [...totals].sort((a, b) => b[1] - a[1])[0] ?? [];
  for (const kernel of list) {
    const found = amounts(kernel).find((each) => `${each.spec}: ${each.name}` === most);
    if (found) Object.assign(kernel, { bytes: found.amount, bytesName: most });
  }
}

function group(list, key) {
  const groups = new Map();
  for (const each of list) groups.set(key(each), [...(groups.get(key(each)) ?? []), each]);
  return groups;
}

/** Adds times, measured ones before modelled ones; a time that covers several entries of one kernel is dropped. */
function addTimes(data, list, byName) {
  for (const timing of data.timings) {
    const of = byName.get(timing.kernel) ?? [];
    if (of.length === 1 && timing.launches > 0)
      Object.assign(of[0], { time: timing.execute_ms, timeKind: timing.modelled ? `modelled for ${timing.modelled}` : "measured, instrumented" });
  }
  for (const kernel of list) {
    if (kernel.time !== null) continue;
    const seen = new Map(kernel.launchRows.filter((each) => each.modelled).map((each) => [each.launch, each.modelled]));
    if (seen.size === 0) continue;
    kernel.time = [...seen.values()].reduce((sum, each) => sum + each.seconds * 1000, 0);
    const all = new Set(kernel.launchRows.map((each) => each.launch)).size;
    kernel.timeKind = `modelled for ${[...seen.values()][0].machine}` + (seen.size < all ? `, ${seen.size} of ${all} launches` : "");
  }
}

/** Returns the lines of the kernel's PTX with the source locations from .loc: [{line, text, file, sourceLine, inlinedAt: [{file, line, name}]}]. */
export function ptxLines(sites) {
  if (!sites?.ptx) return [];
  const files = new Map();
  const names = new Map();
  let label = null;
  for (const { text } of sites.ptx) {
    for (const line of text.split("\n")) {
      const file = /^\s*\.file\s+(\d+)\s+"([^"]*)"/.exec(line);
      if (file) files.set(Number(file[1]), file[2]);
      const info = /^\s*(\$L__info_string\d+):/.exec(line);
      if (info) names.set((label = info[1]), "");
      const bytes = /^\s*\.b8\s+(.*)$/.exec(line);
      if (bytes && label) names.set(label, names.get(label) + bytes[1].split(",").map((each) => String.fromCharCode(Number(each) || 0)).join(""));
    }
  }
  const lines = [];
  const frames = new Map(); // chains of frames by source location
  let place = { file: null, sourceLine: 0, inlinedAt: [] };
  for (const part of sites.ptx) {
    const texts = part.text.split("\n");
    if (texts.at(-1) === "") texts.pop();
    if (/^\s*\.section/.test(texts[0]) || texts.every((each) => /^\s*\.file/.test(each))) continue;
    texts.forEach((text, i) => {
      if (/^\s*(\.visible|\.weak|\.entry|\.func)/.test(text)) place = { file: null, sourceLine: 0, inlinedAt: [] };
      const loc = /^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:,\s*function_name\s+(\S+?),\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?/.exec(text);
      if (loc) {
        const outer = loc[5] ? [loc[5], loc[6], loc[7]].join(" ") : null;
        const name = loc[4] ? (names.get(loc[4].split("+")[0]) ?? "").replace(/\0.*$/s, "") : "";
        const inlinedAt = outer ? [{ file: files.get(Number(loc[5])) ?? "?", line: Number(loc[6]), name }, ...(frames.get(outer) ?? [])] : [];
        frames.set([loc[1], loc[2], loc[3]].join(" "), inlinedAt);
        place = { file: files.get(Number(loc[1])) ?? null, sourceLine: Number(loc[2]), inlinedAt };
      }
      lines.push({ line: part.line + i, text, ...place });
    });
  }
  return lines;
}

/** Returns the values of an array by site for every instruction, and how they are combined per line. */
export function valuesByInstruction(array, sites) {
  if (!array || !sites) return { values: [], adds: true };
  const blocks = sites.instructions.block;
  if (array.site === "instruction") return { values: array.values, adds: array.sum !== null };
  return { values: blocks.map((block) => array.values[block]), adds: false };
}

/** Returns the edges of the control flow graph, read from the PTX: [{from, to, label}]; null without PTX. */
export function edgesOf(sites, lines) {
  if (!sites || lines.length === 0) return null;
  const byLine = new Map(lines.map((each) => [each.line, each.text]));
  const { first, instructions: counts, function: functions } = sites.blocks;
  const at = (instruction) => sites.instructions.ptx_line[instruction];
  const labels = new Map();
  for (let block = 0; block < first.length; ++block) {
    if (!counts[block]) continue;
    for (let line = at(first[block]) - 1; byLine.has(line); --line) {
      const text = byLine.get(line).trim();
      const label = /^([$%\w]+):/.exec(text);
      if (label) labels.set(functions[block] + label[1], block);
      else if (text.endsWith(";") && !/^\.(loc|pragma|reg|branchtargets)/.test(text)) break;
    }
  }
  const edges = [];
  for (let block = 0; block < first.length; ++block) {
    if (!counts[block]) continue;
    const text = (byLine.get(at(first[block] + counts[block] - 1)) ?? "").trim();
    const guarded = text.startsWith("@");
    const bare = text.replace(/^@!?\S+\s+/, "");
    const branch = /^bra(?:\.uni)?\s+([$%\w]+)/.exec(bare);
    const table = /^brx\.idx(?:\.uni)?\s+\S+,\s*([$%\w]+)/.exec(bare);
    const add = (to, label) => to !== undefined && edges.push({ from: block, to, label });
    if (branch) add(labels.get(functions[block] + branch[1]), guarded ? "taken" : "");
    if (table) {
      const list = lines.findIndex((each) => each.text.trim().startsWith(table[1] + ":"));
      const targets = list < 0 ? "" : lines.slice(list, list + 64).map((each) => each.text).join(" ");
      for (const name of new Set((/\.branchtargets\s+([^;]*);/.exec(targets)?.[1] ?? "").split(",").map((each) => each.trim())))
        add(labels.get(functions[block] + name), "");
    }
    const ends = !guarded && (branch || table || /^(ret|exit|trap)\b/.test(bare));
    if (!ends && functions[block + 1] === functions[block]) add(block + 1, guarded ? "else" : "");
  }
  return edges;
}
