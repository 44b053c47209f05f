// Elements of the page, made from text only: nothing that comes from data is ever read as HTML.

/** Return an element with attributes and children; functions among the attributes listen to events. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Return an element of a drawing. */
function drawing(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Return a number with four significant digits; anything else as text. */
function rounded(value, digits = 4) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) || Math.abs(value) >= 10 ** digits) return String(Math.round(value));
  return String(Number(value.toPrecision(digits)));
}

/** Return a number with so many decimals; nothing if it is not known. */
function fixed(value, decimals) {
  return value === null || value === undefined ? "" : value.toFixed(decimals).replace(/^-(0\.0*)$/, "$1");
}

/** Return a list to choose from, with a label; `options` maps values to what is shown. */
function chooser(label, options, change, chosen) {
  const entries = options instanceof Map ? [...options] : options.map((one) => [one, one]);
  const choices = entries.map(([value, shown]) => element("option", { value, selected: value === chosen }, shown));
  const select = element("select", { change: (event) => change(event.target.value) }, choices);
  return element("label", {}, label, select);
}

/** Return a table that can be sorted by a click or with the keyboard on its headings, in a frame that scrolls. */
function sortableTable(label, headings, rows, attributes = {}) {
  const head = element("tr", {}, headings);
  const table = element(
    "table",
    { class: "sortable asc n-last", ...attributes },
    element("thead", {}, head),
    element("tbody", {}, rows),
  );
  enhanceSortableAccessibility([table]);
  return element("div", { class: "scrolls", role: "region", tabindex: "0", "aria-label": label }, table);
}

/** Return a button that plays frames one after the other, and a function that stops it. */
function player(show, frame, count, pause) {
  let timer = null;
  const button = element("button", { type: "button", click: () => (timer ? stop() : start()) }, "Play");
  function start() {
    button.textContent = "Pause";
    timer = setInterval(() => show((frame() + 1) % count()), pause);
  }
  function stop() {
    button.textContent = "Play";
    clearInterval(timer);
    timer = null;
  }
  return { button, stop };
}

/** Call a function once, when an element comes into view. */
function whenSeen(made, draw) {
  const watch = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) {
      watch.disconnect();
      draw();
    }
  }, { rootMargin: "300px" });
  watch.observe(made);
  return made;
}
