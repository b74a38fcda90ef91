// Bounds of a test that can be dragged. Each dot is a slider: arrow keys move it, too.

const NS = "http://www.w3.org/2000/svg";
const STEP = 0.05;

const make = (name, attributes, parent, text) => {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
};

export default function ({ data, parentElement, setStateValue }) {
  // as wide as its place, so that letters keep their size on a phone
  const width = Math.min(560, Math.max(320, parentElement.clientWidth));
  const SIZE = { width, height: 320, left: 46, right: 16, top: 14, bottom: 40 };
  const { n, low, high } = data;
  const bounds = [...data.bounds];
  const style = getComputedStyle(parentElement);
  const ink = style.getPropertyValue("--st-text-color").trim() || "currentColor";
  const faint = style.getPropertyValue("--st-border-color").trim() || "#8888";
  const blue = style.getPropertyValue("--st-primary-color").trim() || "#2e86d1";
  const right = SIZE.width - SIZE.right;
  const bottom = SIZE.height - SIZE.bottom;
  const x = (k) => SIZE.left + ((right - SIZE.left) * (k + 1)) / (n.length + 1);
  const y = (value) => SIZE.top + ((bottom - SIZE.top) * (high - value)) / (2 * high);
  const value = (at) => high - ((at - SIZE.top) * 2 * high) / (bottom - SIZE.top);
  const kept = (given) => Math.min(high, Math.max(low, Math.round(given / STEP) * STEP));

  parentElement.querySelector("svg")?.remove();
  const svg = make("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "group", "aria-label": "Bounds of the test, to be dragged" }, parentElement);
  svg.style.cssText = "width: 100%; height: auto; touch-action: none; user-select: none";
  for (const level of [-6, -4, -2, 0, 2, 4, 6].filter((one) => Math.abs(one) <= high)) {
    make("line", { x1: SIZE.left, x2: right, y1: y(level), y2: y(level), stroke: faint }, svg);
    make("text", { x: SIZE.left - 8, y: y(level) + 4, "text-anchor": "end", fill: ink, "font-size": 13 }, svg, String(level).replace("-", "−"));
  }
  n.forEach((count, k) => make("text", { x: x(k), y: bottom + 18, "text-anchor": "middle", fill: ink, "font-size": 13 }, svg, count.toLocaleString("en")));
  make("text", { x: (SIZE.left + right) / 2, y: SIZE.height - 4, "text-anchor": "middle", fill: ink, "font-size": 13 }, svg, "data read at the look");
  make("text", { x: SIZE.left + 6, y: SIZE.top + 12, fill: ink, "font-size": 13 }, svg, "accept");
  make("text", { x: SIZE.left + 6, y: bottom - 6, fill: ink, "font-size": 13 }, svg, "reject");
  const lines = [1, -1].map((sign) => [sign, make("polyline", { fill: "none", stroke: blue, "stroke-width": 2.5 }, svg)]);
  const mirrors = bounds.map(() => make("circle", { r: 5, fill: blue }, svg));
  const dots = bounds.map((_, k) =>
    make("circle", { r: 11, fill: blue, tabindex: 0, role: "slider", "aria-label": `Bound at look ${k + 1}`, "aria-valuemin": low, "aria-valuemax": high }, svg),
  );

  const draw = () => {
    for (const [sign, line] of lines) line.setAttribute("points", bounds.map((bound, k) => `${x(k)},${y(sign * bound)}`).join(" "));
    bounds.forEach((bound, k) => {
      for (const [dot, sign] of [[dots[k], 1], [mirrors[k], -1]]) {
        dot.setAttribute("cx", x(k));
        dot.setAttribute("cy", y(sign * bound));
      }
      dots[k].setAttribute("aria-valuenow", bound.toFixed(2));
    });
  };
  const tell = () => setStateValue("bounds", bounds.map((bound) => Number(bound.toFixed(2))));

  dots.forEach((dot, k) => {
    dot.style.cursor = "ns-resize";
    dot.addEventListener("pointerdown", (event) => dot.setPointerCapture(event.pointerId));
    dot.addEventListener("pointermove", (event) => {
      if (!dot.hasPointerCapture(event.pointerId)) return;
      const place = svg.getBoundingClientRect();
      bounds[k] = kept(value(((event.clientY - place.top) * SIZE.height) / place.height));
      draw();
    });
    dot.addEventListener("pointerup", tell);
    dot.addEventListener("keydown", (event) => {
      const step = { ArrowUp: STEP, ArrowRight: STEP, ArrowDown: -STEP, ArrowLeft: -STEP, PageUp: 10 * STEP, PageDown: -10 * STEP }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      bounds[k] = kept(bounds[k] + step);
      draw();
      tell();
    });
  });
  draw();
}
