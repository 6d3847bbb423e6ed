// Source and PTX side by side, each line with its share of a metric.
import hljs from "highlight.js/lib/core";
import cpp from "highlight.js/lib/languages/cpp";
import { element, heat } from "./dom.js";
import { format, ptxLines, shortFile, valuesByInstruction } from "./model.js";

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

function pane(title, rows, html, greatest) {
  const body = element("div", { class: "code" });
  body.innerHTML = rows.map((row, i) => {
    const share = greatest > 0 && row.value > 0 ? row.value / greatest : 0;
    const style = share > 0 ? ` style="background:${heat(share)}"` : "";
    const value = row.value === undefined || row.value === null ? "" : format(row.value);
    return `<div class="line${row.dim ? " dim" : ""}" data-line="${row.line}"${style}${row.title ? ` title="${row.title}"` : ""}>` +
      `<span class="value">${value}</span><span class="number">${row.line}</span><span class="text">${html[i] || " "}</span></div>`;
  }).join("");
  return element("div", { class: "pane" }, element("h4", {}, title), body);
}

const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

function fold(values, adds) {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (known.length === 0) return undefined;
  return adds ? known.reduce((a, b) => a + b, 0) : known.reduce((a, b) => Math.max(a, b));
}

export function codeView(kernel, sources) {
  const view = element("div", { class: "code-view" });
  const sites = kernel.sites;
  if (!sites) {
    view.append(element("p", { class: "missing" }, "No result is by instruction or basic block, so the records contain no sites of this kernel. " +
      "A specification with results by INSTRUCTIONS or BASIC_BLOCKS (basic_block_count, memory_transactions, branch_divergence) adds source and PTX."));
    return view;
  }
  const lines = ptxLines(sites);
  const byLine = new Map(lines.map((each) => [each.line, each]));
  const { ptx_line: ptxLine, file: fileOf, line: lineOf, opcode } = sites.instructions;
  const caller = (i) => byLine.get(ptxLine[i])?.inlinedAt.at(-1);
  const state = { metric: kernel.hot[0], file: null, atCaller: false };
  const place = (i) => {
    const outer = state.atCaller ? caller(i) : null;
    return outer ? { file: outer.file, line: outer.line } : { file: fileOf[i] === null ? null : sites.files[fileOf[i]], line: lineOf[i] };
  };

  const metric = element("select", { "aria-label": "metric", class: "metric" },
    ...kernel.hot.map((each, i) => element("option", { value: i }, `${each.name}${each.unit ? `, ${each.unit}` : ""} (by ${each.site})`)));
  const file = element("select", { "aria-label": "source file" });
  const hasInlined = lines.some((each) => each.inlinedAt.length > 0);
  const atCaller = element("input", { type: "checkbox" });
  const head = element("div", { class: "controls" }, element("label", {}, "heat by ", metric), element("label", {}, "file ", file),
    hasInlined ? element("label", {}, atCaller, " count inlined functions at their call sites") : "");
  const panes = element("div", { class: "panes" });
  const detail = element("p", { class: "detail" });
  view.append(head, panes, detail);

  const fill = () => {
    const { values, adds } = valuesByInstruction(state.metric, sites);
    const bySource = new Map();
    const byPtx = new Map();
    ptxLine.forEach((line, i) => {
      const { file, line: source } = place(i);
      const key = `${file}\n${source}`;
      if (!bySource.has(key)) bySource.set(key, []);
      bySource.get(key).push(i);
      byPtx.set(line, i);
    });
    const files = [...new Set([...bySource.keys()].map((key) => key.split("\n")[0]).filter((each) => each !== "null"))];
    const heatOf = (path) => files.length && fold([...bySource].filter(([key]) => key.startsWith(path + "\n")).flatMap(([, all]) => all.map((i) => values[i])), adds) || 0;
    files.sort((a, b) => heatOf(b) - heatOf(a));
    if (!files.includes(state.file)) state.file = files[0] ?? null;
    file.replaceChildren(...files.map((each) => element("option", { value: each, title: each, selected: each === state.file }, shortFile(each))));
    file.parentElement.hidden = files.length < 2;
    panes.replaceChildren();

    const source = sources.find((each) => each.path === state.file);
    const lineValues = (line) => bySource.get(`${state.file}\n${line}`);
    if (state.file === null) {
      panes.append(element("p", { class: "missing" }, "No instruction has a source line: compile with -lineinfo."));
    } else {
      const texts = source?.text ? source.text.split("\n") : null;
      const known = [...bySource.keys()].filter((key) => key.startsWith(state.file + "\n")).map((key) => Number(key.split("\n")[1])).filter(Boolean).sort((a, b) => a - b);
      const rows = (texts ? texts.map((_, i) => i + 1) : known).map((line) => {
        const all = lineValues(line);
        return { line, value: all && fold(all.map((i) => values[i]), adds), dim: !all };
      });
      const greatest = Math.max(0, ...rows.map((row) => row.value ?? 0));
      const html = texts ? highlighted(source.text, "cpp") : rows.map(() => "");
      panes.append(pane(state.file + (texts ? "" : `: ${source?.missing ?? "no text"}`), rows, html, greatest));
    }
    if (lines.length > 0) {
      const rows = lines.map(({ line, inlinedAt }) => {
        const i = byPtx.get(line);
        const title = inlinedAt.map((each) => `${each.name} inlined at ${shortFile(each.file)}:${each.line}`).join("; ");
        return { line, value: i === undefined ? undefined : values[i], dim: i === undefined, title: escape(title) };
      });
      panes.append(pane("PTX", rows, highlighted(lines.map((each) => each.text).join("\n"), "ptx"), Math.max(0, ...rows.map((row) => row.value ?? 0))));
    } else {
      const rows = ptxLine.map((line, i) => ({ line, value: values[i] }));
      panes.append(pane("PTX: opcodes only; the records contain no text (LYNXPP_PTX=0, or an older version)", rows, opcode.map((each) => escape(sites.opcodes[each])),
        Math.max(0, ...rows.map((row) => row.value ?? 0))));
    }
    detail.textContent = `${state.metric.name}: ` + (adds ? "a source line shows the sum of its instructions" : "a source line shows the maximum of its instructions") +
      (state.metric.site === "block" ? ", each with its basic block's value." : ".");
    const [left, right] = state.file === null ? [null, panes.querySelector(".pane")] : panes.querySelectorAll(".pane");
    const mark = (paneOf, wanted, scrolls) => {
      let first = true;
      for (const line of paneOf.querySelectorAll(".line")) {
        const is = wanted.has(Number(line.dataset.line));
        line.classList.toggle("marked", is);
        if (is && first && scrolls) paneOf.querySelector(".code").scrollTop = line.offsetTop - 80;
        if (is) first = false;
      }
    };
    left?.addEventListener("click", (event) => {
      const line = Number(event.target.closest(".line")?.dataset.line);
      if (!line) return;
      mark(left, new Set([line]), false);
      mark(right, new Set((lineValues(line) ?? []).map((i) => ptxLine[i])), true);
    });
    right?.addEventListener("click", (event) => {
      const line = Number(event.target.closest(".line")?.dataset.line);
      const i = byPtx.get(line);
      mark(right, new Set([line]), false);
      if (i === undefined) return;
      const at = place(i);
      const frames = (byLine.get(line)?.inlinedAt ?? []).map((each) => `${each.name || "a function"} inlined at ${shortFile(each.file)}:${each.line}`);
      detail.textContent = `PTX line ${line}: ${sites.opcodes[opcode[i]]}, block ${sites.instructions.block[i]}, ` +
        (at.file ? `${shortFile(at.file)}:${at.line}` : "no source line") + (frames.length ? `; ${frames.join("; ")}` : "");
      if (left && at.file === state.file) mark(left, new Set([at.line]), true);
    });
    const hottest = (paneOf) => {
      const all = [...(paneOf?.querySelectorAll(".line") ?? [])];
      const hot = all.find((each) => each.style.background.includes("100%") || each.style.background.includes("0.7"));
      if (hot) paneOf.querySelector(".code").scrollTop = hot.offsetTop - 120;
    };
    requestAnimationFrame(() => { hottest(left); hottest(right); });
  };
  metric.onchange = () => { state.metric = kernel.hot[metric.value]; fill(); };
  file.onchange = () => { state.file = file.value; fill(); };
  atCaller.onchange = () => { state.atCaller = atCaller.checked; fill(); };
  fill();
  return view;
}
