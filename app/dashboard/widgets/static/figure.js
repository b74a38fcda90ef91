// A figure drawn in place, by one call of Plotly for new numbers and by none as long as nobody can see it.
//
// Streamlit's own element removes the old figure and draws the new one twice, seen or not, with all of Plotly; here
// is the part of it that has lines, points and bars.

const AHEAD = "100px"; // from a window's edge, where drawing begins before the figure is scrolled into sight
// pixels; narrower figures have no toolbar, which would lie on their legend, nor what a trace has for wide ones (meta.wide)
const NARROW = 500;
const ICON = { width: 24, height: 24, path: "M7 14H5v5h5v-2H7v-3zm-2-4h2V7h3V5H5v5zm12 7h-3v2h5v-5h-2v3zM14 5v2h3v3h2V5h-5z" };

const library = new Promise((done, failed) => {
  const script = document.createElement("script");
  script.src = new URL("plotly-basic.min.js", import.meta.url).href;
  script.onload = () => done(window.Plotly);
  script.onerror = () => failed(new Error("the script that draws figures could not be loaded"));
  document.head.append(script);
});

const plots = new Map(); // by the element that Streamlit gives

class Plot {
  constructor(parent) {
    this.parent = parent;
    this.at = document.createElement("div");
    this.at.setAttribute("role", "figure");
    parent.append(this.at);
    this.stale = this.seen = false;
    this.sight = new IntersectionObserver((entries) => this.look(entries.at(-1).isIntersecting), {
      rootMargin: AHEAD,
      scrollMargin: AHEAD,
    });
    this.sight.observe(this.at);
    this.size = new ResizeObserver(() => this.resize());
    this.size.observe(this.at);
  }

  /** New numbers, words or colours. */
  take({ figure, words }) {
    this.figure = figure;
    this.at.setAttribute("aria-label", words);
    this.stale = true;
    return this.draw();
  }

  look(seen) {
    this.seen = seen;
    this.draw();
  }

  resize() {
    this.stale ||= this.at.clientWidth !== this.width;
    this.draw();
  }

  /** The ticks that came with a figure are for its whole axes: for a part of one, Plotly chooses. */
  ticks() {
    const change = {};
    for (const [name, { range, tickvals }] of Object.entries(this.axes)) {
      const now = this.at.layout[name];
      const whole = range.every((end, k) => Math.abs(end - now.range[k]) < 1e-6 * Math.abs(range[1] - range[0]));
      const mode = whole ? "array" : "auto";
      if (tickvals && now.tickmode !== mode) change[`${name}.tickmode`] = mode;
    }
    if (Object.keys(change).length) window.Plotly.relayout(this.at, change);
  }

  /** One stop of the Tab key for the buttons of a figure; arrow keys move among them. */
  toolbar() {
    const buttons = [...this.at.querySelectorAll("button.modebar-btn")];
    buttons.forEach((button, k) => {
      button.tabIndex = k ? -1 : 0;
      button.onkeydown = ({ key }) => {
        const next = buttons[k + ({ ArrowRight: 1, ArrowLeft: -1 }[key] ?? 0)];
        if (next !== button) next?.focus();
      };
    });
  }

  async draw(seen = this.seen) {
    const Plotly = await library;
    if (!(seen && this.stale && this.at.clientWidth)) return;
    this.stale = false;
    this.width = this.at.clientWidth;
    const { data: given, layout } = JSON.parse(this.figure);
    const data = this.width < NARROW ? given : given.map((trace) => ({ ...trace, ...trace.meta?.wide }));
    const whole = document.fullscreenElement === this.at;
    this.at.style.minHeight = `${layout.height}px`;
    layout.template = template(getComputedStyle(this.parent));
    this.at.style.background = layout.template.layout.paper_bgcolor;
    const size = { width: this.width, ...(whole && { height: this.at.clientHeight }) };
    const bar = { displayModeBar: this.width < NARROW ? false : "hover" };
    await Plotly.react(this.at, data, { ...layout, ...size }, { ...CONFIG, ...bar });
    if (!this.axes) this.at.on("plotly_relayout", () => this.ticks());
    this.axes = Object.fromEntries(Object.entries(layout).filter(([name, axis]) => /^[xy]axis/.test(name) && axis.range));
    this.ticks();
    this.toolbar();
  }

  close() {
    this.sight.disconnect();
    this.size.disconnect();
    window.Plotly?.purge(this.at);
    this.at.remove();
    plots.delete(this.parent);
  }
}

// nothing leaves this machine: no button that sends a figure to a server, and no server
const CONFIG = {
  displaylogo: false,
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["lasso2d", "select2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "sendChartToCloud"],
  modeBarButtonsToAdd: [
    {
      name: "fullscreen",
      title: "Fullscreen",
      icon: ICON,
      click: (at) => (document.fullscreenElement ? document.exitFullscreen() : at.requestFullscreen()),
    },
  ],
};

/** The colours and letters of the page. */
function template(style) {
  const of = (name) => style.getPropertyValue(`--st-${name}`).trim();
  const font = { family: of("font"), color: of("text-color"), size: 14 };
  const back = of("background-color");
  const line = of("border-color-light");
  const axis = { gridcolor: line, zerolinecolor: line, tickcolor: line, minor: { gridcolor: line }, automargin: true };
  return {
    layout: {
      font,
      paper_bgcolor: back,
      plot_bgcolor: back,
      title: { x: 0, xanchor: "left", pad: { l: 4 }, font: { size: 16, weight: 700, color: of("heading-color") } },
      xaxis: { ...axis, showgrid: false, zeroline: false, title: { font: { size: 15 }, standoff: 20 } },
      yaxis: { ...axis, title: { font: { size: 15 }, standoff: 24 } },
      margin: { pad: 8, l: 0, r: 0 },
      hoverlabel: { bgcolor: back, bordercolor: of("border-color"), font },
      modebar: { bgcolor: "transparent", color: of("gray-color"), activecolor: of("text-color") },
    },
  };
}

addEventListener("beforeprint", () => plots.forEach((plot) => plot.draw(true)));

let turn = 0;

/** What Streamlit calls with new data or another theme; what it returns is called when the figure leaves the page. */
export default async function ({ data, parentElement }) {
  const plot = plots.get(parentElement) ?? new Plot(parentElement);
  plots.set(parentElement, plot);
  plot.turn = turn += 1;
  const mine = turn;
  const leave = () => plot.turn === mine && plot.close();
  try {
    await plot.take(data);
  } catch (problem) {
    leave(); // Streamlit tells the problem, and will not call what it never got
    throw problem;
  }
  return leave;
}
