// How probability moves from noise to data: p_t(x | x1) of each path, with a slider over t.

const PAUSE_OF_PATHS = 150; // milliseconds between frames

/** Return the animation of the paths of an experiment. */
function pathPlot(experiment) {
  if (!experiment.paths.length) return null;
  let path = experiment.paths[0];
  let kind = path.kinds[0];
  let frame = Math.floor(kind.times.length / 2);
  const said = element("output", {});
  const slider = element("input", {
    type: "range",
    min: 0,
    max: kind.times.length - 1,
    value: frame,
    "aria-label": "time t",
    input: (event) => show(Number(event.target.value)),
  });
  const traces = () => [{
    type: "bar",
    x: kind.tokens,
    y: kind.p[frame],
    marker: { color: kind.tokens.map((token) => (token === kind.x1 ? COLOURS[1] : token === "mask" ? GREY : COLOURS[0])) },
    hovertemplate: "token %{x}: %{y:.4~g}<extra></extra>",
  }];
  const layout = () => ({
    title: { text: escaped(`${path.runs.join(", ")}: p(x | x1 = ${kind.x1}) at t = ${kind.times[frame].toFixed(2)}`) },
    xaxis: { type: "category", title: { text: `${kind.name} x` }, nticks: 16 },
    yaxis: { range: [0, 1.05], title: { text: "probability" } },
    height: 340,
    showlegend: false,
    bargap: 0.1,
  });
  const made = plot(`Paths of ${experiment.name}`, traces, layout);
  const kinds = element("div");
  const playing = player((number) => show(number), () => frame, () => kind.times.length, PAUSE_OF_PATHS);

  function show(number) {
    frame = number;
    slider.value = number;
    const rest = kind.rest[frame] > 0.001 ? `, ${rounded(kind.rest[frame], 2)} on tokens that are not shown` : "";
    said.textContent = `t = ${kind.times[frame].toFixed(2)}${rest}`;
    if (made.data) made.redraw();
  }
  function choosePath(label) {
    path = experiment.paths.find((one) => one.label === label);
    chooseKind(path.kinds[0].name);
    const names = path.kinds.map((one) => one.name);
    kinds.replaceChildren(...(names.length > 1 ? [chooser("Kind of token", names, chooseKind, kind.name)] : []));
  }
  function chooseKind(name) {
    kind = path.kinds.find((one) => one.name === name);
    show(frame);
  }

  choosePath(path.label);
  const options = new Map(experiment.paths.map((one) => [one.label, `${one.label} (${one.runs.join(", ")})`]));
  return element(
    "section",
    { class: "path" },
    element("h3", {}, "Paths from noise to data"),
    element("div", { class: "choices" }, chooser("Path", options, choosePath, path.label), kinds),
    element("div", { class: "slider" }, playing.button, slider, said),
    made,
  );
}
