// The table of an experiment: our rows with their intervals as bars, the paper's figures, and what the columns mean.

const BAR = 72; // width of the bar of an interval

/** Return the table of an experiment, short at first. */
function scoreTable(experiment) {
  const place = element("div");
  const all = Object.keys(experiment.columns);
  const draw = (names) => place.replaceChildren(tableOf(experiment, names));
  draw(experiment.headlines);
  const box = element("input", {
    type: "checkbox",
    change: (event) => draw(event.target.checked ? all : experiment.headlines),
  });
  const more = all.length > experiment.headlines.length;
  return element(
    "div",
    {},
    place,
    more ? element("label", {}, box, `All ${all.length} columns`) : null,
    meanings(experiment),
    experiment.remarks.length ? element("ul", { class: "remarks" }, experiment.remarks.map((one) => element("li", {}, one))) : null,
    paperTable(experiment),
  );
}

function tableOf(experiment, names) {
  const scales = new Map(names.map((name) => [name, scaleOf(experiment, name)]));
  const headings = [element("th", { scope: "col" }, "run")];
  for (const name of names) {
    const column = experiment.columns[name];
    headings.push(element("th", { scope: "col", title: column.meaning }, column.heading));
    if (experiment.rows.some((row) => name in row.paper)) headings.push(element("th", { scope: "col" }, "paper"));
  }
  const rows = experiment.rows.map((row) => {
    const heading = element("th", { scope: "row" }, element("button", { class: "plain", type: "button", click: () => showRecord(experiment, row) }, row.label));
    const cells = names.flatMap((name) => {
      const beside = experiment.rows.some((one) => name in one.paper);
      const own = figureCell(experiment, row, name, scales.get(name));
      return beside ? [own, element("td", {}, rounded(row.paper[name]))] : [own];
    });
    return element("tr", { class: `of-${row.kind}` }, heading, cells);
  });
  return sortableTable(`Figures of ${experiment.name}`, headings, rows);
}

function figureCell(experiment, row, name, scale) {
  const figure = row.figures[name];
  if (!figure) return element("td", { "data-sort": "" }, row.state === "scored" ? "" : element("small", {}, row.state));
  const text = figureText(figure);
  const { heading } = experiment.columns[name];
  const click = () => showRecord(experiment, row, `${heading}: ${text}`);
  const button = element("button", { class: "plain", type: "button", click, title: "Where does this number come from?" }, text);
  return element("td", { "data-sort": figure.value }, button, intervalBar(figure, scale));
}

/** Return a figure with its interval or standard error. */
function figureText(figure) {
  if (figure.low !== null) return `${rounded(figure.value, 3)} [${rounded(figure.low, 3)}, ${rounded(figure.high, 3)}]`;
  return rounded(figure.value) + (figure.error ? ` ± ${rounded(figure.error, 2)}` : "");
}

/** Return the ends of a figure: those of its interval, or two standard errors to either side. */
function endsOf(figure, logarithmic = false) {
  const reach = 2 * (figure.error || 0);
  const [low, high] = figure.low !== null ? [figure.low, figure.high] : [figure.value - reach, figure.value + reach];
  return [logarithmic ? Math.max(low, figure.value / 4) : low, high];
}

/** Return where the ends and the value of a figure are drawn, on the scale of its column. */
function scaleOf(experiment, name) {
  const figures = experiment.rows.filter((row) => row.figures[name]).map((row) => row.figures[name]);
  const logarithmic = isWide(figures.map((figure) => figure.value));
  const scaled = (value) => (logarithmic ? Math.log(value) : value);
  const ends = figures.flatMap((figure) => endsOf(figure, logarithmic)).map(scaled);
  const low = Math.min(...ends);
  const width = Math.max(...ends) - low;
  const at = (value) => 4 + ((BAR - 8) * (scaled(value) - low)) / (width || 1);
  return (figure) => [...endsOf(figure, logarithmic), figure.value].map(at);
}

/** Return a drawing of a figure as a dot on its interval, on the scale of its column. */
function intervalBar(figure, scale) {
  const [low, high, value] = scale(figure);
  return drawing(
    "svg",
    { class: "interval", width: BAR, height: 10, viewBox: `0 0 ${BAR} 10`, "aria-hidden": "true" },
    drawing("line", { x1: 0, x2: BAR, y1: 5, y2: 5, class: "axis" }),
    drawing("line", { x1: low, x2: high, y1: 5, y2: 5, class: "range" }),
    drawing("circle", { cx: value, cy: 5, r: 3 }),
  );
}

function meanings(experiment) {
  const entries = Object.values(experiment.columns).map((column) => [
    element("dt", {}, column.heading),
    element("dd", {}, column.meaning + (column.better ? ` (${column.better} is better)` : "")),
  ]);
  return element(
    "details",
    {},
    element("summary", {}, "What the columns mean"),
    element("p", {}, "[low, high]: interval that has the true value in 95 % of all cases. ±: standard error. A bar is on the scale of its column, a logarithmic one if values differ more than 20-fold. Click a number to see where it comes from."),
    element("dl", {}, entries.flat()),
  );
}

function paperTable(experiment) {
  if (!experiment.paper.length) return null;
  const names = [...new Set(experiment.paper.flatMap((row) => Object.keys(row)))].filter((name) => name !== "ours");
  const headings = names.map((name) => {
    const column = experiment.paper_columns[name];
    return element("th", { scope: "col", title: column ? column.meaning : "" }, column ? column.heading : name);
  });
  const rows = experiment.paper.map((row) => element("tr", {}, names.map((name) => element("td", {}, rounded(row[name])))));
  const same = experiment.rows.some((row) => Object.keys(row.paper).length);
  const note = same
    ? "Those in the columns “paper” above are of the same data, tokens and features as ours. Compare no others."
    : "Their data, tokens or features are not ours: no figure can be compared with the table above.";
  return element("details", {}, element("summary", {}, "The paper’s own figures"), element("p", {}, note), sortableTable("The paper’s figures", headings, rows));
}

/** Return the further tables of an experiment. */
function furtherTables(experiment) {
  return experiment.tables.map((table) => {
    const headings = table.columns.map((name) => element("th", { scope: "col" }, name.replaceAll("_", " ")));
    const rows = table.rows.map((cells) => element("tr", {}, cells.map((text) => {
      const number = text !== "" && Number.isFinite(Number(text));
      return element("td", {}, number ? rounded(Number(text)) : text);
    })));
    return element(
      "details",
      {},
      element("summary", {}, table.title),
      sortableTable(table.title, headings, rows),
      element("small", {}, `All digits: tables/${table.file}`),
    );
  });
}
