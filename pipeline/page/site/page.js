// Put the page together: one part for each experiment.

function partOf(experiment) {
  const done = experiment.rows.filter((row) => row.state === "scored").length;
  const missing = experiment.missing.length
    ? element("details", { class: "missing" }, element("summary", {}, `${experiment.missing.length} of ${experiment.rows.length} rows are not there yet`), element("ul", {}, experiment.missing.map((one) => element("li", {}, one))))
    : null;
  const figures = [columnPlot(experiment), scatterPlot(experiment), element("section", {}, lossPlot(experiment)), energyPlot(experiment)];
  return element(
    "section",
    { id: experiment.name, class: "experiment" },
    element("h2", {}, experiment.name),
    missing,
    done ? scoreTable(experiment) : experiment.rows.length ? element("p", {}, "There are no figures yet.") : null,
    boardPlot(experiment),
    gallery(experiment),
    textView(experiment),
    element("div", { class: "figures" }, figures),
    pathPlot(experiment),
    pictureViews(experiment),
    furtherTables(experiment),
  );
}

function start() {
  const { scale, built, version, code, experiments } = KINOFLOW;
  const rows = experiments.flatMap((one) => one.rows);
  const done = rows.filter((row) => row.state === "scored").length;
  const when = new Date(built).toLocaleString();
  document.getElementById("about").textContent = `${done} of ${rows.length} rows are scored. Built ${when} with Kinoflow ${code || version}.`;
  document.title = `Kinoflow: results of ${scale}`;
  document.getElementById("links").append(...experiments.map((one) => element("li", {}, element("a", { href: `#${one.name}` }, one.name))));
  document.getElementById("experiments").append(...experiments.map(partOf));
  document.getElementById("theme").addEventListener("click", () => {
    const { dataset } = document.documentElement;
    const dark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    dataset.theme = dark ? "light" : "dark";
    redrawPlots();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawPlots);
  if (document.body.dataset.live === "yes") watchRun();
}

start();
