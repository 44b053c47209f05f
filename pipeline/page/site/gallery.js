// The crystals of an experiment: a table to sort and filter, and the chosen crystal as generated and as relaxed.

const GALLERY = [
  ["crystal", (one) => one.id],
  ["run", (one) => one.run],
  ["formula", (one) => one.formula],
  ["atoms", (one) => one.atoms],
  ["space group", (one) => one.space_group],
  ["above hull, eV/atom", (one) => one.energy_above_hull, 3],
  ["verdict", (one) => one.verdict],
  ["moved, Å", (one) => one.rmsd, 3],
];

/** Return the gallery of an experiment; nothing without crystals. */
function gallery(experiment) {
  const { crystals } = experiment;
  if (!crystals.length) return null;
  const generated = new CrystalViewer("as generated");
  const relaxed = new CrystalViewer("after relaxation");
  const said = element("p", { class: "chosen", "aria-live": "polite" });
  const way = relaxationSlider((cif, label) => relaxed.update(cif, label));
  const body = crystals.map((one) => rowOf(one));
  const count = element("output", {});
  const wanted = { run: "", verdict: "", formula: "", group: "", energy: "" };
  let chosen = null;

  function rowOf(one) {
    const button = element("button", { class: "plain", type: "button", click: () => choose(one, row) }, one.id);
    const cells = GALLERY.slice(1).map(([, read, decimals]) => {
      const value = read(one);
      return element("td", { "data-sort": value ?? "" }, decimals ? fixed(value, decimals) : rounded(value));
    });
    const row = element("tr", {}, element("th", { scope: "row", "data-sort": one.id }, button), cells);
    row.crystal = one;
    return row;
  }

  function choose(one, row) {
    if (chosen) chosen.removeAttribute("aria-current");
    chosen = row;
    row.setAttribute("aria-current", "true");
    const energy = one.energy_above_hull === null ? one.relax_reason || "no energy" : `${fixed(one.energy_above_hull, 3)} eV/atom above the hull`;
    const novel = one.novel === null ? "" : one.novel ? ", novel" : ", not novel";
    const unique = one.unique === null ? "" : one.unique ? ", unique" : ", not unique";
    said.textContent = `${one.id}, ${one.formula}: ${energy}${one.verdict ? `, ${one.verdict}` : ""}${unique}${novel}`;
    generated.show(one.generated);
    relaxed.show(one.relaxed);
    way.follow(one);
  }

  function filter() {
    let shown = 0;
    for (const row of place.querySelectorAll("tbody tr")) {
      row.hidden = !matches(row.crystal, wanted);
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = `${shown} of ${crystals.length} crystals`;
  }

  function field(label, key, attributes) {
    const input = (event) => { wanted[key] = event.target.value.trim(); filter(); };
    return element("label", {}, label, element("input", { ...attributes, input }));
  }

  function list(label, key, values) {
    const options = new Map([["", "all"], ...values.filter((value) => value).map((value) => [value, value])]);
    return chooser(label, options, (value) => { wanted[key] = value; filter(); }, "");
  }

  const headings = GALLERY.map(([name]) => element("th", { scope: "col" }, name));
  const place = sortableTable(`Crystals of ${experiment.name}`, headings, body, { class: "sortable asc n-last crystals" });
  const save = (part) => () => chosen && download(`${chosen.crystal.id}${part === "relaxed" ? "-relaxed" : ""}.cif`, chosen.crystal[part]);
  const spin = () => [generated, relaxed].forEach((one) => one.spin());
  filter();
  return whenSeen(
    element(
      "section",
      { class: "gallery" },
      element("h3", {}, "Crystals"),
      element(
        "div",
        { class: "choices" },
        list("Run", "run", [...new Set(crystals.map((one) => one.run))]),
        list("Verdict", "verdict", [...new Set(crystals.map((one) => one.verdict))]),
        field("Formula has", "formula", { type: "search", placeholder: "Na Cl" }),
        field("Space group", "group", { type: "number", min: 0, max: 230 }),
        field("At most, eV/atom", "energy", { type: "number", step: "0.05" }),
      ),
      count,
      place,
      said,
      element("div", { class: "crystals-pair" }, generated.place, relaxed.place),
      way.place,
      element(
        "div",
        { class: "slider" },
        element("button", { type: "button", click: spin }, "Turn or stop"),
        element("button", { type: "button", click: save("generated") }, "CIF as generated"),
        element("button", { type: "button", click: () => chosen && chosen.crystal.relaxed && save("relaxed")() }, "CIF after relaxation"),
      ),
      element("small", {}, "Up to 60 crystals of each run, those of lowest energy first. All are in the folders crystals and structures."),
    ),
    () => choose(crystals[0], body[0]),
  );
}

/** Return whether a crystal is what the filters ask for. */
function matches(one, wanted) {
  const elements = new Set(one.formula.match(/[A-Z][a-z]?/g));
  const asked = wanted.formula.match(/[A-Z][a-z]?\d*/g) || (wanted.formula ? [wanted.formula] : []);
  const has = (part) => (/\d/.test(part) ? one.formula.includes(part) : elements.has(part));
  return (
    (!wanted.run || one.run === wanted.run) &&
    (!wanted.verdict || one.verdict === wanted.verdict) &&
    asked.every(has) &&
    (!wanted.group || one.space_group === Number(wanted.group)) &&
    (!wanted.energy || (one.energy_above_hull !== null && one.energy_above_hull <= Number(wanted.energy)))
  );
}

/** Return a plot of the energies above the hull, a dot a crystal. */
function energyPlot(experiment) {
  const known = experiment.crystals.filter((one) => one.energy_above_hull !== null);
  if (!known.length) return null;
  const runs = [...new Set(known.map((one) => one.run))];
  const traces = () => runs.map((run) => {
    const own = known.filter((one) => one.run === run);
    const row = experiment.rows.find((one) => one.label === run);
    return {
      type: "scatter",
      mode: "markers",
      name: escaped(run),
      x: own.map((one) => one.energy_above_hull),
      y: own.map(() => escaped(run)),
      marker: { size: 10, opacity: 0.7, color: colourOf(experiment, row), symbol: own.map((one) => (one.converged ? "circle" : "circle-open")) },
      text: own.map((one) => `${escaped(one.id)}<br>${escaped(one.formula)}<br>${escaped(one.verdict || "")}<br>${settingsOf(row)}`),
      hovertemplate: "%{text}<br>%{x:.4~g} eV/atom<extra></extra>",
    };
  });
  const layout = () => ({
    title: { text: "Energy above the hull, eV/atom (rings: not converged)" },
    yaxis: { type: "category", autorange: "reversed" },
    height: 120 + 34 * runs.length,
    showlegend: false,
  });
  return element("section", {}, plot(`Energies of ${experiment.name}`, traces, layout));
}
