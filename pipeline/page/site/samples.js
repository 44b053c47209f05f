// Samples of an experiment: histograms with a slider over t, pictures, and texts to read.

/** Return histograms of pairs of tokens, one a run, at the time that the slider says. */
function boardPlot(experiment) {
  const names = Object.keys(experiment.boards);
  if (!names.length) return null;
  const times = experiment.boards[names[0]].times;
  let frame = times.length - 1;
  const said = element("output", {}, `t = ${times[frame]}`);
  const places = names.map((name) => {
    const board = experiment.boards[name];
    const at = () => board.shares[Math.min(frame, board.shares.length - 1)];
    const end = Math.max(...board.shares[board.shares.length - 1].flat());
    const traces = () => [{ type: "heatmap", z: at(), zmin: 0, zmax: end, colorscale: "Viridis", showscale: false, hovertemplate: "%{x}, %{y}: %{z:.4~g}<extra></extra>" }];
    const layout = () => ({
      title: { text: escaped(board.label), font: { size: 13 } },
      xaxis: { showticklabels: false, ticks: "", constrain: "domain" },
      yaxis: { showticklabels: false, ticks: "", scaleanchor: "x" },
      margin: { l: 6, r: 6, t: 30, b: 6 },
      height: 230,
    });
    return plot(`Samples of ${board.label}`, traces, layout, null, STILL);
  });
  const input = (event) => {
    frame = Number(event.target.value);
    said.textContent = `t = ${times[frame]}`;
    for (const place of places) if (place.data) place.redraw();
  };
  const slider = element("input", { type: "range", min: 0, max: times.length - 1, value: frame, "aria-label": "time t of the samples", input });
  return element(
    "section",
    {},
    element("h3", {}, "Samples from noise to data"),
    element("div", { class: "slider" }, slider, said),
    element("div", { class: "boards" }, places),
  );
}

/** Return the pictures of an experiment, the samples of one run at a time. */
function pictureViews(experiment) {
  if (!experiment.pictures.length) return [];
  return experiment.pictures.map((picture) => element(
    "details",
    { open: picture.name in experiment.labels && experiment.pictures.length <= 12 },
    element("summary", {}, picture.described),
    element("img", { src: picture.file, alt: `${experiment.name}: ${picture.described}`, loading: "lazy" }),
  ));
}

/** Return texts to read, with buttons to the next and the one before. */
function textView(experiment) {
  const names = Object.keys(experiment.texts).filter((name) => experiment.texts[name].length);
  if (!names.length) return null;
  let [name] = names;
  let number = 0;
  const said = element("output", {});
  const text = element("blockquote", { class: "text", tabindex: "0" });
  const show = (step) => {
    const count = experiment.texts[name].length;
    number = (number + step + count) % count;
    text.textContent = experiment.texts[name][number];
    said.textContent = `sample ${number + 1} of ${count}`;
  };
  show(0);
  const options = new Map(names.map((one) => [one, experiment.labels[one]]));
  return element(
    "section",
    {},
    element("h3", {}, "Texts to read"),
    chooser("Run", options, (one) => { name = one; number = 0; show(0); }, name),
    text,
    element(
      "div",
      { class: "slider" },
      element("button", { type: "button", click: () => show(-1) }, "Before"),
      element("button", { type: "button", click: () => show(1) }, "Next"),
      said,
    ),
  );
}
