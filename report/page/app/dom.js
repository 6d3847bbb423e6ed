export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === undefined) continue;
    if (key.startsWith("on")) node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== "" && child));
  return node;
}

export const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

/** Returns the color of `share`, from 0 to 1: one hue, so that only lightness matters. */
export const heat = (share) => `rgba(213, 94, 0, ${(0.06 + 0.64 * Math.sqrt(Math.min(1, share))).toFixed(2)})`;

/** Returns a bar of `share`, from 0 to 1, with a text on it and a whisker for its interval. */
export function bar(share, text, title = "", interval = null) {
  const at = (each) => `${(100 * Math.min(1, each)).toFixed(2)}%`;
  return element("div", { class: "share", title }, element("i", { style: `width:${at(share)}` }),
    interval && element("s", { style: `left:${at(interval[0])};width:${at(interval[1] - interval[0])}` }), element("b", {}, text));
}

/** Returns a section whose content is created when it is first opened. */
export function section(title, make, isOpen = true) {
  const body = element("div", { class: "body" });
  const details = element("details", { class: "section" }, element("summary", {}, title), body);
  let made = false;
  const fill = () => {
    if (made || !details.open) return;
    made = true;
    body.append(make());
  };
  details.addEventListener("toggle", fill);
  details.open = isOpen;
  details.fill = () => { details.open = true; fill(); };
  return details;
}
