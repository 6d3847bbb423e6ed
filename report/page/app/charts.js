// The block graph, histograms, heat maps and the timeline of multiprocessors.
import { Graph, layout } from "@dagrejs/dagre";
import uPlot from "uplot";
import { element, heat } from "./dom.js";
import { edgesOf, format, hexadecimal, isBits, ptxLines } from "./model.js";

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

export function blockGraph(kernel) {
  const most = 400;
  const { sites } = kernel;
  const edges = edgesOf(sites, ptxLines(sites));
  const say = (text) => element("p", { class: "missing" }, text);
  if (!edges) return say("The records contain no PTX of this kernel, so its control flow is unknown.");
  const count = sites.blocks.first.length;
  if (count > most) return say(`${format(count)} basic blocks are too many to draw (limit: ${most}); the table of sites lists them.`);
  const byBlock = kernel.hot.filter((each) => each.site === "block");
  const byInstruction = kernel.hot.filter((each) => each.site === "instruction" && each.sum !== null);
  const metrics = [...byBlock, ...byInstruction];
  const box = element("div", { class: "graph" });
  const metric = element("select", { "aria-label": "metric of the graph" }, ...metrics.map((each, i) => element("option", { value: i }, each.name)));
  const draw = () => {
    const array = metrics[metric.value || 0];
    const values = sites.blocks.first.map((first, block) => {
      if (!array) return 0;
      if (array.site === "block") return array.values[block] ?? 0;
      return array.values.slice(first, first + sites.blocks.instructions[block]).reduce((a, b) => a + (b ?? 0), 0);
    });
    const greatest = Math.max(0, ...values);
    const graph = new Graph();
    graph.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 32, marginx: 10, marginy: 10 });
    graph.setDefaultEdgeLabel(() => ({}));
    values.forEach((_, block) => sites.blocks.instructions[block] && graph.setNode(String(block), { width: 150, height: 42 }));
    for (const { from, to } of edges) graph.setEdge(String(from), String(to));
    layout(graph);
    const points = graph.edges().flatMap((each) => graph.edge(each).points);
    const ofRoundTrips = edges.filter(({ from, to }) => from === to).map(({ from }) => graph.node(String(from)).x + 140);
    const width = Math.max(graph.graph().width, ...points.map((each) => each.x + 20), ...ofRoundTrips);
    const left = Math.min(0, ...points.map((each) => each.x - 20));
    const { height } = graph.graph();
    const drawing = svg("svg", { width: width - left, height, viewBox: `${left} 0 ${width - left} ${height}`, role: "img", "aria-label": "basic blocks" },
      svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
        svg("path", { d: "M0 0L8 4L0 8z", class: "arrow" }))));
    for (const { from, to, label } of edges) {
      const { path, at } = from === to ? roundTrip(graph.node(String(from))) : through(graph.edge(String(from), String(to)).points);
      drawing.append(svg("path", { class: "edge", d: path, "marker-end": "url(#arrow)" }));
      if (label) drawing.append(svg("text", { class: "edge-label", x: at.x, y: at.y }, label));
    }
    for (const name of graph.nodes()) {
      const { x, y } = graph.node(name);
      const first = sites.blocks.first[name];
      const line = sites.instructions.line.slice(first, first + sites.blocks.instructions[name]).find(Boolean);
      const node = svg("g", { class: "node", "data-block": name },
        svg("rect", { x: x - 75, y: y - 21, width: 150, height: 42, rx: 5 }),
        svg("rect", { x: x - 75, y: y - 21, width: 150, height: 42, rx: 5, style: `fill:${greatest > 0 && values[name] > 0 ? heat(values[name] / greatest) : "none"}` }),
        svg("text", { x, y: y - 4 }, `block ${name}, ${sites.blocks.instructions[name]} instructions`),
        svg("text", { x, y: y + 12 }, (array ? format(values[name]) : "") + (line ? `  · line ${line}` : "")));
      drawing.append(node);
    }
    box.replaceChildren(drawing);
  };
  metric.onchange = draw;
  draw();
  return element("div", {}, metrics.length ? element("div", { class: "controls" }, element("label", {}, "heat by ", metric)) : "", box);
}

/** Returns the resolved color for a canvas: the property itself may be light-dark(…). */
const colour = (name) => {
  const probe = element("i", { style: `color: var(${name})` });
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
};

export function histogram(array) {
  const bins = array.extents ? array.extents.at(-1) : array.values.length;
  const rows = array.values.length / bins;
  const counts = Array.from({ length: bins }, (_, bin) => {
    let sum = 0;
    for (let row = 0; row < rows; ++row) sum += array.values[row * bins + bin] ?? 0;
    return sum;
  });
  const box = element("div", { class: "chart" });
  const width = Math.min(900, Math.max(420, document.body.clientWidth - 120));
  const bar = colour("--accent");
  requestAnimationFrame(() => new uPlot({
    width, height: 220, title: array.name, legend: { live: true },
    scales: { x: { time: false, range: [-0.6, bins - 0.4] }, y: { range: (_, low, high) => [0, high || 1] } },
    axes: [
      { stroke: colour("--text"), grid: { show: false }, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) && array.bounds?.[tick] !== undefined ? format(array.bounds[tick]) : "")) },
      { stroke: colour("--text"), grid: { stroke: colour("--border") }, size: 90, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      { label: "from", value: (_, bin) => (bin === null ? "" : format(array.bounds?.[bin] ?? bin)) },
      { label: array.unit || "count", fill: bar, stroke: bar, points: { show: false }, paths: uPlot.paths.bars({ size: [0.9, 60] }), value: (_, value) => format(value) },
    ],
  }, [counts.map((_, i) => i), counts], box));
  const beyond = (array.below || array.beyond) ? element("p", {}, `below the bins ${format(array.below)}, above ${format(array.beyond)}`) : "";
  return element("div", {}, box, beyond);
}

/** Returns "29 cycles"; IDs are "sm 29", and bit patterns have no unit. */
const amount = ({ name, unit }, value) =>
  unit === "id" ? `${name} ${format(value)}` : isBits(name, unit) ? hexadecimal(value) : `${format(value)} ${unit ?? ""}`.trimEnd();

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
    for (const each of sms) {
      context.fillStyle = colour("--text");
      context.fillText(`SM ${each}`, 2, top.get(each) + 8);
    }
    for (const each of shown) {
      each.x = left + ((each.begin - from) / (to - from)) * width;
      each.width = Math.max(1, ((each.end - each.begin) / (to - from)) * width);
      context.fillStyle = `hsl(${(each.slot * 47 + 200) % 360} 55% 55%)`;
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
