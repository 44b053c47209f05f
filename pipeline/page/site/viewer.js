// A crystal that turns, drawn by 3Dmol.js: with the mouse, with fingers, or with the arrow keys.

const STEP = 10; // degrees that an arrow key turns
const TURNS = { ArrowLeft: [-STEP, "y"], ArrowRight: [STEP, "y"], ArrowUp: [-STEP, "x"], ArrowDown: [STEP, "x"] };

/** A frame with a crystal; `show` puts another crystal into it. */
class CrystalViewer {
  constructor(label) {
    this.canvas = element("div", {
      class: "crystal",
      role: "img",
      tabindex: "0",
      "aria-label": `${label}; the arrow keys turn it`,
      keydown: (event) => this.turn(event),
    });
    this.caption = element("figcaption", {}, label);
    this.place = element("figure", {}, this.canvas, this.caption);
    this.label = label;
    this.viewer = null;
    this.model = null;
    this.spins = false;
  }

  /** Draw the crystal of a CIF file; without one, say so. `view` is from where it is seen. */
  show(cif, label = this.label, view = null) {
    this.caption.replaceChildren(cif ? label : `${label}: there is none`, ...(cif ? [legendOf(cif)] : []));
    if (!this.viewer) {
      try {
        this.viewer = $3Dmol.createViewer(this.canvas, { backgroundAlpha: 0, antialias: true });
      } catch (error) {
        this.caption.textContent = `${this.label}: this browser has no WebGL, which draws crystals (${error.message})`;
        return;
      }
    }
    if (this.model) this.viewer.removeUnitCell(this.model);
    this.viewer.removeAllModels();
    this.model = null;
    if (cif) {
      this.model = this.viewer.addModel(cif, "cif");
      this.viewer.replicateUnitCell(1, 1, 1, this.model, false, true); // with the copies on the faces of the cell
      this.viewer.setStyle({}, { sphere: { scale: 0.35, colorscheme: "Jmol" } });
      const box = { color: getComputedStyle(document.documentElement).color };
      this.viewer.addUnitCell(this.model, { box, alabel: "", blabel: "", clabel: "" });
      if (view) this.viewer.setView(view);
      else this.lookFromTheSide();
    }
    this.viewer.render();
  }

  /** Draw another state of the same crystal, seen from where the last one was. */
  update(cif, label) {
    this.show(cif, label, this.viewer && this.viewer.getView());
  }

  lookFromTheSide() {
    this.viewer.setView([0, 0, 0, 0, 0, 0, 0, 1]);
    this.viewer.zoomTo();
    this.viewer.zoom(1.2);
    this.viewer.rotate(15, "y");
    this.viewer.rotate(15, "x");
  }

  turn(event) {
    const turn = TURNS[event.key];
    if (!turn || !this.viewer) return;
    event.preventDefault();
    this.viewer.rotate(...turn);
    this.viewer.render();
  }

  spin() {
    this.spins = !this.spins;
    if (this.viewer) this.viewer.spin(this.spins ? "y" : false);
  }
}

/** Offer a text as a file. */
function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "chemical/x-cif" }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Return the elements of a CIF file in their colours. */
function legendOf(cif) {
  const elements = [...new Set([...cif.matchAll(/^ +([A-Z][a-z]?) +\1\d+ /gm)].map((match) => match[1]))];
  const entries = elements.flatMap((name) => {
    const colour = `#${($3Dmol.elementColors.Jmol[name] ?? 0xffffff).toString(16).padStart(6, "0")}`;
    const dot = drawing("circle", { cx: 6, cy: 6, r: 5, fill: colour, stroke: GREY });
    return [drawing("svg", { width: 12, height: 12, "aria-hidden": "true" }, dot), name];
  });
  return element("span", { class: "legend" }, entries);
}
