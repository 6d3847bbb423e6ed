export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === undefined) continue;
    if (key.startsWith("on")) node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== ""));
  return node;
}

/** Returns the color of `share`, from 0 to 1. */
export const heat = (share) => `rgba(226, 106, 31, ${(0.06 + 0.64 * Math.sqrt(Math.min(1, share))).toFixed(2)})`;

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
