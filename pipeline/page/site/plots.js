// Plots with Plotly in the colours of the page.

const COLOURS = ["#0077bb", "#ee7733", "#009988", "#cc3311", "#33bbee", "#ee3377", "#aa8800", "#7755cc"];
const GREY = "#888888";
const SETTINGS = { displaylogo: false, responsive: true, displayModeBar: "hover", modeBarButtonsToRemove: ["select2d", "lasso2d"] };
const STILL = { displayModeBar: false, responsive: true };
const plots = new Set();

/** Return a place for a plot that is drawn when it comes into view; `traces` and `layout` are functions. */
function plot(label, traces, layout, clicked = null, settings = SETTINGS) {
  const place = element("div", { class: "plot", role: "figure", "aria-label": label });
  place.redraw = () => {
    const drawn = themed(layout());
    place.style.height = `${drawn.height}px`; // or a plot that was drawn wide covers what follows when it gets narrow
    return Plotly.react(place, traces(), drawn, settings);
  };
  return whenSeen(place, () => {
    place.redraw();
    plots.add(place);
    if (clicked) place.on("plotly_click", (event) => clicked(event.points[0]));
  });
}

/** Draw all plots again, in other colours. */
function redrawPlots() {
  for (const place of plots) if (place.isConnected) place.redraw();
}

/** Return a layout with the colours of the page. */
function themed(layout) {
  const style = getComputedStyle(document.documentElement);
  const text = style.getPropertyValue("--pico-color").trim();
  const lines = style.getPropertyValue("--pico-muted-border-color").trim();
  const axis = { gridcolor: lines, zerolinecolor: lines, automargin: true };
  // The title is below the buttons of the plot, which browsers without a mouse always show.
  const title = { x: 0.01, xanchor: "left", y: 1, yref: "paper", yanchor: "bottom", pad: { b: 10 }, font: { size: 14 } };
  const merged = { ...layout, title: { ...title, ...layout.title } };
  for (const name of ["xaxis", "yaxis"]) merged[name] = { ...axis, ...layout[name] };
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: text, family: "inherit", size: 12 },
    margin: { l: 50, r: 10, t: layout.title ? 64 : 36, b: 44 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: text, activecolor: COLOURS[0] },
    hoverlabel: { align: "left" },
    uirevision: JSON.stringify([layout.title, layout.xaxis?.title, layout.yaxis?.title]), // what a reader has zoomed into stays when a plot is drawn again
    legend: { orientation: "h", y: -0.25 },
    ...merged,
  };
}

/** Return the colour of a run, the same in all plots; references are grey. */
function colourOf(experiment, row) {
  const runs = experiment.rows.filter((one) => one.kind === "run").map((one) => one.name);
  return row.kind === "run" ? COLOURS[runs.indexOf(row.name) % COLOURS.length] : GREY;
}

/** Return the scale of an axis for values: logarithmic if they differ much. */
function scaleFor(values) {
  return isWide(values) ? { type: "log", dtick: 1 } : { type: "linear" };
}

/** Return whether values are better drawn on a logarithmic scale. */
function isWide(values) {
  const least = Math.min(...values);
  return least > 0 && Math.max(...values) > 20 * least;
}

/** Return the settings of a row for people who point at it. */
function settingsOf(row) {
  return Object.entries(row.conditions).map(([name, value]) => `${name}: ${rounded(value)}`).map(escaped).join("<br>");
}

/** Return text as Plotly shows it: it reads some HTML. */
function escaped(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
