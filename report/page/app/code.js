// Source and PTX side by side, with a measure next to the line numbers.
import hljs from "highlight.js/lib/core";
import cpp from "highlight.js/lib/languages/cpp";
import { element, escape, heat } from "./dom.js";
import { callsOf, fold, format, measureFor, measuresOf, placeOf, ptxLines, shortFile } from "./model.js";

hljs.registerLanguage("cpp", cpp);
hljs.registerLanguage("ptx", () => ({
  contains: [
    hljs.C_LINE_COMMENT_MODE,
    { className: "symbol", begin: /^[ \t]*[$%\w]+:/ },
    { className: "variable", begin: /%[\w.]+/ },
    { className: "meta", begin: /^[ \t]*\.\w+/ },
    { className: "keyword", begin: /\b[a-z]\w*(\.[\w:]+)+|\b(ret|exit|bra|trap)\b/ },
    { className: "number", begin: /\b(0[xfd][0-9a-fA-F]+|\d+)\b/ },
  ],
}));

/** Returns highlighted lines; tags that span lines are reopened in each. */
function highlighted(text, language) {
  const open = [];
  return hljs.highlight(text, { language }).value.split("\n").map((line) => {
    const begin = open.join("");
    for (const tag of line.match(/<span[^>]*>|<\/span>/g) ?? []) tag === "</span>" ? open.pop() : open.push(tag);
    return begin + line + "</span>".repeat(open.length);
  });
}

/** Returns a pane of rows {line, value, dim, title}; values are shown next to the line numbers, zeros are not. */
function pane(title, rows, html, missing = "") {
  const greatest = Math.max(0, ...rows.map(({ value }) => value ?? 0));
  const body = element("div", { class: "code", tabindex: 0 });
  body.innerHTML = rows.map(({ line, value, dim, title: tip }, i) => {
    const style = value > 0 ? ` style="background:${heat(value / greatest)}"` : "";
    return `<div class="line${dim ? " dim" : ""}" data-line="${line}"${tip ? ` title="${escape(tip)}"` : ""}>` +
      `<span class="number">${line}</span><span class="value"${style}>${value ? format(value) : ""}</span><span class="text">${html[i] || " "}</span></div>`;
  }).join("");
  const box = element("div", { class: "pane" }, element("h4", {}, title), missing && element("p", { class: "missing" }, missing), body);
  const lines = [...body.children];
  box.greatest = greatest;
  /** Marks the lines and, if asked, scrolls to the first. */
  box.mark = (wanted, scrolls) => {
    lines.forEach((each) => each.classList.toggle("marked", wanted.has(Number(each.dataset.line))));
    const first = lines.find((each) => each.classList.contains("marked"));
    if (first && scrolls) body.scrollTop = first.offsetTop - 120;
    return first;
  };
  box.toHottest = () => (body.scrollTop = Math.max(0, (lines[rows.findIndex(({ value }) => value > 0 && value === greatest)]?.offsetTop ?? 0) - 120));
  const choose = (line) => line && box.onchoose(Number(line.dataset.line), body.scrollTop);
  body.addEventListener("click", (event) => choose(event.target.closest(".line")));
  body.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const line = lines[lines.findIndex((each) => each.classList.contains("marked")) + step];
    choose(line);
    line?.scrollIntoView({ block: "nearest" });
  });
  return box;
}

/** Says how to provide a source text that is missing. */
const remedies = [
  [/^omitted by/, "make the page without it"],
  [/did not exist/, "make the page (lynxpp report) on the machine that compiled the program, or put the file at this path"],
];

/** Returns the view; view.reveal(finding) shows the finding's measure and flashes its line, view.onmeasure is called with a changed measure. */
export function codeView(kernel, sources) {
  const view = element("div", { class: "code-view" });
  const { sites } = kernel;
  view.reveal = () => {};
  view.textOf = () => "";
  if (!sites) {
    view.append(element("p", { class: "missing" }, "No result is by instruction or basic block, so the records contain no sites of this kernel. " +
      "A specification with results by INSTRUCTIONS or BASIC_BLOCKS (basic_block_count, memory_transactions, branch_divergence) adds source and PTX."));
    return view;
  }
  const lines = ptxLines(sites);
  const { ptx_line: ptxLine, file: fileOf, line: lineOf, opcode } = sites.instructions;
  const calls = ptxLine.map((_, i) => callsOf(sites, i));
  const own = (i) => ({ file: fileOf[i] === null ? null : sites.files[fileOf[i]], line: lineOf[i] });
  const byPtx = new Map(ptxLine.map((line, i) => [line, i]));
  const measures = measuresOf(kernel);
  const state = { measure: measureFor(kernel, measures), file: null, atCall: true };
  const locate = (i) => (state.atCall && calls[i].at(-1)) || own(i);
  const split = new Map(sources.filter(({ path }) => sites.files.includes(path)).map(({ path, text }) => [path, text?.split("\n")]));
  const textsOf = (path) => split.get(path);
  const callText = (i) => calls[i].map(({ file, line }) => `inlined at ${shortFile(file)}:${line}`).join(", ");

  const metric = element("select", { "aria-label": "metric", class: "metric" }, ...measures.map((each, i) => element("option", { value: i }, each.name)));
  const file = element("select", { "aria-label": "source file" });
  const atCall = element("input", { type: "checkbox", checked: true });
  const legend = element("span", { class: "legend" });
  const panes = element("div", { class: "panes" });
  const detail = element("p", { class: "detail" });
  view.append(element("div", { class: "controls" }, measures.length ? element("label", {}, "heat by ", metric) : "", legend, element("label", {}, "file ", file),
    calls.some((each) => each.length) ? element("label", {}, atCall, " inlined code at its call site") : ""), panes, detail);

  const sourcePane = (bySource) => {
    if (state.file === null)
      return element("p", { class: "missing" }, "No instruction has a source line: compile with -lineinfo (nvcc, clang) and run again. XLA writes none.");
    const source = sources.find((each) => each.path === state.file);
    const texts = textsOf(state.file);
    const known = [...bySource.get(state.file).keys()].filter(Boolean).sort((a, b) => a - b);
    const rows = (texts ? texts.map((_, i) => i + 1) : known).map((line) => {
      const all = bySource.get(state.file).get(line);
      return { line, value: all && fold(all.map((i) => state.measure?.values[i]), state.measure?.adds), dim: !all };
    });
    const why = source?.missing ?? "its name is not in the records";
    const remedy = remedies.find(([reason]) => reason.test(why))?.[1];
    return pane(state.file, rows, texts ? highlighted(source.text, "cpp") : [], texts ? "" : `No text: ${why}${remedy ? `; ${remedy}` : ""}.`);
  };
  const ptxPane = () => {
    const row = (line, i) => ({ line, value: i === undefined ? undefined : state.measure?.values[i], dim: i === undefined, title: i === undefined ? "" : callText(i) });
    if (lines.length) return pane("PTX", lines.map(({ line }) => row(line, byPtx.get(line))), highlighted(lines.map((each) => each.text).join("\n"), "ptx"));
    return pane("PTX: opcodes", ptxLine.map(row), opcode.map((each) => escape(sites.opcodes[each])), "No text: run again without LYNXPP_PTX=0.");
  };

  let left, right;
  const fill = () => {
    const bySource = new Map();
    ptxLine.forEach((_, i) => {
      const at = locate(i);
      if (at.file === null) return;
      if (!bySource.has(at.file)) bySource.set(at.file, new Map());
      const ofFile = bySource.get(at.file);
      ofFile.set(at.line, [...(ofFile.get(at.line) ?? []), i]);
    });
    const heatOf = (path) => fold([...bySource.get(path).values()].flat().map((i) => state.measure?.values[i]), state.measure?.adds) ?? 0;
    const files = [...bySource.keys()].sort((a, b) => heatOf(b) - heatOf(a));
    if (!files.includes(state.file)) state.file = files[0] ?? null;
    file.replaceChildren(...files.map((each) => element("option", { value: each, title: each, selected: each === state.file }, shortFile(each))));
    file.parentElement.hidden = files.length < 2;
    metric.value = measures.indexOf(state.measure);
    atCall.checked = state.atCall;
    [left, right] = [sourcePane(bySource), ptxPane()];
    panes.replaceChildren(left, right);
    const greatest = Math.max(left.greatest ?? 0, right.greatest);
    legend.replaceChildren(...(greatest > 0 ? ["0 ", element("i", { style: `background:linear-gradient(to right,${[0, 0.1, 0.3, 0.6, 1].map(heat)})` }), ` ${format(greatest)} ${state.measure.unit ?? ""}`] : []));
    detail.textContent = state.measure
      ? `${state.measure.name}${state.measure.note ? ` (${state.measure.note})` : ""}: a source line has the ${state.measure.adds ? "sum" : "greatest"} of its instructions.` : "";
    if (left.mark)
      left.onchoose = (line) => {
        left.mark(new Set([line]));
        right.mark(new Set((bySource.get(state.file).get(line) ?? []).map((i) => ptxLine[i])), true);
      };
    right.onchoose = (line) => {
      const i = byPtx.get(line);
      right.mark(new Set([line]));
      if (i === undefined) return;
      const at = own(i);
      detail.textContent = `PTX line ${line}: ${sites.opcodes[opcode[i]]}, block ${sites.instructions.block[i]}, ` +
        (at.file ? `${shortFile(at.file)}:${at.line}` : "no source line") + (calls[i].length ? `, ${callText(i)}` : "");
      if (locate(i).file === state.file) left.mark?.(new Set([locate(i).line]), true);
    };
    requestAnimationFrame(() => [left, right].forEach((each) => !each.querySelector(".marked") && each.toHottest?.()));
    view.onmeasure?.(state.measure);
  };
  metric.onchange = () => { state.measure = measures[metric.value]; fill(); };
  file.onchange = () => { state.file = file.value; fill(); };
  atCall.onchange = () => { state.atCall = atCall.checked; fill(); };
  view.measure = () => state.measure;
  view.textOf = (i) => {
    const { file, line } = own(i);
    return line ? `${line}: ${textsOf(file)?.[line - 1]?.trim() ?? shortFile(file)}` : lines.find((each) => each.line === ptxLine[i])?.text.trim() ?? "";
  };
  view.reveal = (finding) => {
    const i = finding.place?.id;
    if (i === undefined) return;
    state.measure = measureFor(kernel, measures, finding);
    state.file = locate(i).file;
    fill();
    const marked = [right.mark(new Set([ptxLine[i]]), true), left.mark?.(new Set([locate(i).line]), true)];
    for (const each of marked.filter(Boolean)) each.classList.add("flash");
    detail.textContent = `${placeOf(finding)}: ${finding.sentence}`;
  };
  fill();
  return view;
}
