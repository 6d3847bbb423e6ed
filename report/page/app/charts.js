// The block graph, distributions, heat maps and the timeline of multiprocessors.
import { Graph, layout } from "@dagrejs/dagre";
import { bar, element, heat } from "./dom.js";
import { edgesOf, format, hexadecimal, isBits, percent } from "./model.js";

const svg = (name, attributes, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

const through = (points) => ({ path: "M" + points.map((p) => `${p.x} ${p.y}`).join("L"), at: { x: points[0].x + 4, y: points[0].y + 12 } });

/** Draws an edge from a block to itself. */
const roundTrip = ({ x, y, width }) => {
  const edge = x + width / 2;
  return { path: `M${edge} ${y + 9}C${edge + 34} ${y + 22} ${edge + 34} ${y - 22} ${edge} ${y - 9}`, at: { x: edge + 28, y: y + 4 } };
};

const nodeSize = { width: 270, height: 46 };

/** Places blocks and, as groups named "loop N" by their header N, loops. */
function placed(sites, edges) {
  const graph = new Graph({ compound: true });
  graph.setGraph({ rankdir: "TB", nodesep: 30, ranksep: 30, marginx: 10, marginy: 10 });
  graph.setDefaultEdgeLabel(() => ({}));
  const { instructions: counts, loop } = sites.blocks;
  const outer = (block) => loop?.[block] ?? null;
  const blocks = counts.map((_, block) => block).filter((block) => counts[block]);
  const headers = new Set([...blocks.map(outer).filter((each) => each !== null), ...edges.filter(({ from, to }) => from === to).map(({ from }) => from)]);
  for (const block of blocks) graph.setNode(String(block), { ...nodeSize });
  for (const header of headers) graph.setNode(`loop ${header}`, {});
  const join = (child, header) => header !== null && graph.setParent(child, `loop ${header}`);
  for (const block of blocks) join(String(block), headers.has(block) ? block : outer(block));
  for (const header of headers) join(`loop ${header}`, outer(header));
  for (const { from, to } of edges) if (from !== to) graph.setEdge(String(from), String(to));
  layout(graph);
  return { graph, blocks, headers };
}

/** Draws the control flow graph; `measure` is that of the code view, `textOf` returns the line of an instruction. */
export function blockGraph({ sites }, measure, textOf) {
  const most = 400;
  const say = (text) => element("p", { class: "missing" }, text);
  const edges = edgesOf(sites);
  if (!edges) return say("The records contain no control flow of this kernel.");
  const { first, instructions: counts } = sites.blocks;
  if (first.length > most) return say(`${format(first.length)} basic blocks are too many to draw (limit: ${most}); the table of basic blocks lists them.`);
  const { graph, blocks, headers } = placed(sites, edges);
  const values = first.map((at, block) => measure?.values.slice(at, at + counts[block]).reduce(measure.adds ? (a, b) => a + (b ?? 0) : (a, b) => Math.max(a, b ?? 0), 0) ?? 0);
  const greatest = Math.max(...values);
  const lineOf = (block) => sites.instructions.line.slice(first[block], first[block] + counts[block]).find(Boolean);
  const points = graph.edges().flatMap((each) => graph.edge(each).points.map(({ x }) => x));
  const { width: laid, height } = graph.graph();
  const left = Math.min(0, ...points.map((x) => x - 20));
  const width = Math.max(laid, ...points.map((x) => x + 20)) + 40 - left;
  // Text stays readable: a wider graph is scrolled.
  const drawing = svg("svg", { viewBox: `${left} 0 ${width} ${height}`, style: `width:${width}px;min-width:${Math.round(0.8 * width)}px;max-width:100%`, role: "img", "aria-label": "basic blocks" },
    svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      svg("path", { d: "M0 0L8 4L0 8z", class: "arrow" }))));
  const boxOf = ({ x, y, width: w, height: h }, more = {}) => svg("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 5, ...more });
  const depth = (header) => { const parent = graph.parent(`loop ${header}`); return parent ? 1 + depth(parent.slice(5)) : 0; };
  for (const header of [...headers].sort((a, b) => depth(a) - depth(b))) {
    const around = graph.node(`loop ${header}`);
    const line = lineOf(header);
    drawing.append(svg("g", { class: "loop", "data-loop": header }, boxOf({ ...around, y: around.y - 6, height: around.height + 12 }),
      svg("text", { x: around.x - around.width / 2 + 6, y: around.y - around.height / 2 + 3 }, `loop${line ? `, line ${line}` : ""}`)));
  }
  for (const { from, to, label } of edges) {
    const { path, at } = from === to ? roundTrip(graph.node(String(from))) : through(graph.edge(String(from), String(to)).points);
    drawing.append(svg("path", { class: "edge", d: path, "marker-end": "url(#arrow)" }));
    if (label) drawing.append(svg("text", { class: "edge-label", x: at.x, y: at.y }, label));
  }
  const hottest = graph.node(String(blocks.reduce((a, b) => (values[b] > values[a] ? b : a))));
  const box = element("div", { class: "graph", tabindex: 0 }, drawing);
  requestAnimationFrame(() => {
    const scale = drawing.clientWidth / width;
    box.scrollTo((hottest.x - left) * scale - box.clientWidth / 2, hottest.y * scale - box.clientHeight / 2);
  });
  const cut = (text) => (text.length > 38 ? `${text.slice(0, 37)}…` : text);
  for (const block of blocks) {
    const node = graph.node(String(block));
    const share = greatest > 0 ? values[block] / greatest : 0;
    drawing.append(svg("g", { class: "node", "data-block": block }, boxOf(node), boxOf({ ...node }, { style: `fill:${share > 0 ? heat(share) : "none"}` }),
      svg("text", { x: node.x, y: node.y - 5 }, cut(textOf(first[block]) || `block ${block}`)),
      svg("text", { x: node.x, y: node.y + 13, class: "count" }, `${counts[block]} instruction${counts[block] === 1 ? "" : "s"}${values[block] ? ` · ${format(values[block])}` : ""}`)));
  }
  return element("div", {}, element("p", { class: "detail" }, measure ? `Numbers and heat: ${measure.name}, as in the source.` : ""), box);
}

/** Draws bins [{low, high, count}], high exclusive, as rows with their bounds; empty ends are left out. */
function bins(title, list, unit, note = "") {
  const most = 24;
  const from = list.findIndex(({ count }) => count > 0);
  if (from < 0) return element("p", { class: "missing" }, `${title}: empty.`);
  const shown = list.slice(from, list.findLastIndex(({ count }) => count > 0) + 1);
  const step = Math.ceil(shown.length / most);
  const rows = Array.from({ length: Math.ceil(shown.length / step) }, (_, i) => {
    const part = shown.slice(i * step, (i + 1) * step);
    return { low: part[0].low, high: part.at(-1).high, count: part.reduce((sum, { count }) => sum + count, 0) };
  });
  const greatest = Math.max(...rows.map(({ count }) => count));
  const total = rows.reduce((sum, { count }) => sum + count, 0);
  const bounds = ({ low, high }) => (high === undefined || high - low === 1 ? format(low) : Number.isInteger(low) ? `${format(low)}–${format(high - 1)}` : `${format(low)}–${format(high)}`);
  return element("div", { class: "bins" }, element("h4", {}, title), element("table", {}, ...rows.map((row) =>
    element("tr", {}, element("th", {}, `${bounds(row)} ${unit}`.trim()), element("td", {}, bar(row.count / greatest, "")),
      element("td", { class: "count", title: format(row.count) }, row.count ? `${format(row.count)} · ${percent(row.count / total)}` : "")))), element("p", { class: "detail" }, note));
}

/** Draws a histogram, with its bounds or, as the runtime's distribution, by powers of two; rows of several dimensions are summed. */
export function histogram(array) {
  const count = array.extents ? array.extents.at(-1) : array.values.length;
  const bounds = array.bounds?.length ? array.bounds : Array.from({ length: count + 1 }, (_, i) => (i ? 2 ** i : 0));
  const list = Array.from({ length: count }, (_, bin) => {
    let sum = 0;
    for (let at = bin; at < array.values.length; at += count) sum += array.values[at] ?? 0;
    return { low: bounds[bin], high: bounds[bin + 1], count: sum };
  });
  const beyond = array.below || array.beyond ? `Below the bins ${format(array.below)}, above ${format(array.beyond)}.` : "";
  return array.bounds?.length ? bins(array.name, list, "", beyond) : bins("thread blocks by cycles", list, "cycles", beyond);
}

/** Draws how an array's elements, one for each thread block, are distributed. */
export function distribution(array) {
  const values = array.values.filter((each) => each !== null);
  const [low, high] = values.reduce(([a, b], each) => [Math.min(a, each), Math.max(b, each)], [Infinity, -Infinity]);
  const width = 2 ** Math.max(0, Math.ceil(Math.log2((high - low + 1) / 16)));
  const from = Math.floor(low / width) * width;
  const counts = Array.from({ length: Math.floor((high - from) / width) + 1 }, () => 0);
  for (const each of values) counts[Math.floor((each - from) / width)] += 1;
  return bins(`${array.name} of ${format(values.length)} blocks`, counts.map((count, i) => ({ low: from + i * width, high: from + (i + 1) * width, count })), array.unit ?? "");
}

/** Returns the resolved color for a canvas: the property itself may be light-dark(…). */
const colour = (name) => {
  const probe = element("i", { style: `color: var(${name})` });
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
};

/** Returns "29 cycles"; bit patterns have no unit. */
const amount = ({ name, unit }, value) =>
  isBits(name, unit) ? hexadecimal(value) : `${format(value)} ${unit ?? ""}`.trimEnd();

/** Draws one cell per element; larger values are darker. One-dimensional arrays are wrapped. */
export function heatMap(array) {
  const count = array.values.length;
  const extents = array.extents ?? [count];
  const inner = extents.length > 1 ? count / extents[0] : Math.min(count, 64);
  const rows = Math.ceil(count / inner);
  const size = Math.max(1, Math.min(16, Math.floor(1000 / inner)));
  const canvas = element("canvas", { width: inner * size, height: Math.min(rows * size, 8000), "aria-label": `elements of ${array.name}` });
  const greatest = array.values.reduce((a, b) => Math.max(a, b ?? 0), 0);
  const context = canvas.getContext("2d");
  array.values.forEach((value, i) => {
    context.fillStyle = greatest > 0 && value > 0 ? heat(value / greatest) : "rgba(128,128,128,.08)";
    context.fillRect((i % inner) * size, Math.floor(i / inner) * size, Math.max(1, size - (size > 3)), Math.max(1, size - (size > 3)));
  });
  const told = element("p", { class: "detail" }, `${format(count)} ${count === 1 ? "element" : "elements"}, the greatest is ${amount(array, greatest)}`);
  canvas.onmousemove = (event) => {
    const i = Math.floor(event.offsetY / size) * inner + Math.floor(event.offsetX / size);
    if (i >= count) return;
    const index = extents.length > 1 ? `${array.labels?.[Math.floor(i / inner)] ?? Math.floor(i / inner)}, ${i % inner}` : array.labels?.[i] ?? i;
    told.textContent = `[${index}]: ${amount(array, array.values[i])}`;
  };
  return element("div", { class: "heat-map" }, element("h4", {}, array.name), element("div", { class: "scrolled" }, canvas), told);
}

/** A table with columns "sm", "begin" and "end" is a timeline. */
export function timelineColumns(table) {
  const at = (name) => table.columns.findIndex((column) => column.name === name);
  const columns = { sm: at("sm"), begin: at("begin"), end: at("end") };
  return Object.values(columns).includes(-1) ? null : columns;
}

export function timeline(table, modelled) {
  const { sm, begin, end } = timelineColumns(table);
  const first = table.rows.reduce((least, { values }) => (values[begin] > 0 && (least === null || values[begin] < least) ? values[begin] : least), null);
  const since = (time) => (typeof time === typeof first ? Number(time - first) : Number(time) - Number(first));
  const stays = table.rows.filter(({ values }) => values[begin] > 0 && values[end] >= values[begin])
    .map(({ values, launch }) => ({ sm: Number(values[sm]), begin: since(values[begin]), end: since(values[end]), launch: launch ?? 0, values }))
    .sort((a, b) => a.begin - b.begin);
  if (stays.length === 0) return element("p", { class: "missing" }, "The timeline is empty.");
  const launches = [...new Set(stays.map((each) => each.launch))].sort((a, b) => a - b);
  const choice = element("select", { "aria-label": "launch" }, ...launches.map((each) => element("option", { value: each }, `launch ${each}`)));
  const box = element("div");
  const draw = () => {
    const shown = stays.filter((each) => each.launch === Number(choice.value || launches[0]));
    const sms = [...new Set(shown.map((each) => each.sm))].sort((a, b) => a - b);
    const from = shown[0].begin;
    const to = shown.reduce((a, b) => Math.max(a, b.end), from + 1);
    const slots = new Map(sms.map((each) => [each, []]));
    for (const each of shown) {
      const ends = slots.get(each.sm);
      let slot = ends.findIndex((other) => other <= each.begin);
      if (slot < 0) slot = ends.length;
      ends[slot] = each.end;
      each.slot = slot;
    }
    const height = 7;
    let y = 0;
    const top = new Map(sms.map((each) => { const at = y; y += slots.get(each).length * height + 5; return [each, at]; }));
    const width = 1000, left = 60;
    const canvas = element("canvas", { width: width + left, height: Math.max(20, y), "aria-label": "thread blocks by multiprocessor" });
    const context = canvas.getContext("2d");
    context.font = "10px system-ui";
    const colours = [colour("--accent"), colour("--hot")];
    for (const each of sms) {
      context.fillStyle = colour("--text");
      context.fillText(`SM ${each}`, 2, top.get(each) + 8);
    }
    for (const each of shown) {
      each.x = left + ((each.begin - from) / (to - from)) * width;
      each.width = Math.max(1, ((each.end - each.begin) / (to - from)) * width);
      context.fillStyle = colours[each.slot % 2];
      context.fillRect(each.x, top.get(each.sm) + each.slot * height, Math.max(0.5, each.width - 0.5), height - 1);
    }
    const told = element("p", { class: "detail" }, `${format(shown.length)} rows in ${format(to - from)} ns${modelled(shown[0].launch) ? ` (${modelled(shown[0].launch)})` : ""}`);
    canvas.onmousemove = (event) => {
      const over = shown.find((each) => event.offsetX >= each.x && event.offsetX <= each.x + each.width &&
        event.offsetY >= top.get(each.sm) + each.slot * height && event.offsetY < top.get(each.sm) + (each.slot + 1) * height);
      if (over) told.textContent = table.columns.map((column, i) => `${column.name} ${format(over.values[i])}`).join(", ") + `; ${format(over.end - over.begin)} ns`;
    };
    box.replaceChildren(element("div", { class: "scrolled tall" }, canvas), told);
  };
  choice.onchange = draw;
  draw();
  return element("div", { class: "timeline" }, launches.length > 1 ? element("div", { class: "controls" }, choice) : "", box);
}
