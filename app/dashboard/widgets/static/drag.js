// Bounds of a test that can be dragged. Each dot is a slider: arrow keys move it, too.
//
// A drawing is made once and then changed in place, so that a dot keeps the keyboard while the page answers.

const NS = "http://www.w3.org/2000/svg";
const STEP = 0.05;
const [INK, FAINT, BLUE] = ["text-color, currentColor", "border-color, #8888", "primary-color, #2e86d1"].map((name) => `var(--st-${name})`);
const drawings = new WeakMap(); // by the element they are in

const make = (name, attributes, parent, text) => {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
};

function drawing(parent, { n, low, high }, width) {
  const SIZE = { width, height: 320, left: 46, right: 16, top: 14, bottom: 40 };
  const right = SIZE.width - SIZE.right;
  const bottom = SIZE.height - SIZE.bottom;
  const x = (k) => SIZE.left + ((right - SIZE.left) * (k + 1)) / (n.length + 1);
  const y = (value) => SIZE.top + ((bottom - SIZE.top) * (high - value)) / (2 * high);
  const value = (at) => high - ((at - SIZE.top) * 2 * high) / (bottom - SIZE.top);
  const kept = (given) => Math.min(high, Math.max(low, Math.round(given / STEP) * STEP));

  parent.querySelector("svg")?.remove();
  const svg = make("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "group", "aria-label": "Bounds of the test, to be dragged" }, parent);
  svg.style.cssText = "width: 100%; height: auto; touch-action: none; user-select: none";
  for (const level of [-6, -4, -2, 0, 2, 4, 6].filter((one) => Math.abs(one) <= high)) {
    make("line", { x1: SIZE.left, x2: right, y1: y(level), y2: y(level), style: `stroke: ${FAINT}` }, svg);
    make("text", { x: SIZE.left - 8, y: y(level) + 4, "text-anchor": "end", style: `fill: ${INK}`, "font-size": 13 }, svg, String(level).replace("-", "−"));
  }
  const words = { style: `fill: ${INK}`, "font-size": 13 };
  n.forEach((count, k) => make("text", { x: x(k), y: bottom + 18, "text-anchor": "middle", ...words }, svg, count.toLocaleString("en")));
  make("text", { x: (SIZE.left + right) / 2, y: SIZE.height - 4, "text-anchor": "middle", ...words }, svg, "data read at the look");
  make("text", { x: SIZE.left + 6, y: SIZE.top + 12, ...words }, svg, "accept");
  make("text", { x: SIZE.left + 6, y: bottom - 6, ...words }, svg, "reject");
  const lines = [1, -1].map((sign) => [sign, make("polyline", { fill: "none", style: `stroke: ${BLUE}`, "stroke-width": 2.5 }, svg)]);
  const mirrors = n.map(() => make("circle", { r: 5, style: `fill: ${BLUE}` }, svg));
  const dots = n.map((_, k) =>
    make("circle", { r: 11, style: `fill: ${BLUE}; cursor: ns-resize`, tabindex: 0, role: "slider", "aria-label": `Bound at look ${k + 1}`, "aria-valuemin": low, "aria-valuemax": high }, svg),
  );

  const made = { width, shape: JSON.stringify([n, low, high]), bounds: n.map(() => low), dragged: false, waiting: [], setStateValue: null };
  made.draw = () => {
    for (const [sign, line] of lines) line.setAttribute("points", made.bounds.map((bound, k) => `${x(k)},${y(sign * bound)}`).join(" "));
    made.bounds.forEach((bound, k) => {
      for (const [dot, sign] of [[dots[k], 1], [mirrors[k], -1]]) {
        dot.setAttribute("cx", x(k));
        dot.setAttribute("cy", y(sign * bound));
      }
      dots[k].setAttribute("aria-valuenow", bound.toFixed(2));
    });
  };
  const tell = () => {
    const now = made.bounds.map((bound) => Number(bound.toFixed(2)));
    made.waiting.push(JSON.stringify(now));
    made.setStateValue("bounds", now);
  };
  dots.forEach((dot, k) => {
    dot.addEventListener("pointerdown", (event) => {
      dot.setPointerCapture(event.pointerId);
      made.dragged = true;
    });
    dot.addEventListener("pointermove", (event) => {
      if (!dot.hasPointerCapture(event.pointerId)) return;
      const place = svg.getBoundingClientRect();
      made.bounds[k] = kept(value(((event.clientY - place.top) * SIZE.height) / place.height));
      made.draw();
    });
    const drop = () => {
      if (made.dragged) tell();
      made.dragged = false;
    };
    dot.addEventListener("pointerup", drop);
    dot.addEventListener("pointercancel", drop);
    dot.addEventListener("keydown", (event) => {
      const step = { ArrowUp: STEP, ArrowRight: STEP, ArrowDown: -STEP, ArrowLeft: -STEP, PageUp: 10 * STEP, PageDown: -10 * STEP }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      made.bounds[k] = kept(made.bounds[k] + step);
      made.draw();
      tell();
    });
  });
  return made;
}

export default function ({ data, parentElement, setStateValue }) {
  // as wide as its place, so that letters keep their size on a phone
  const width = Math.min(560, Math.max(320, parentElement.clientWidth));
  let now = drawings.get(parentElement);
  if (now === undefined || now.width !== width || now.shape !== JSON.stringify([data.n, data.low, data.high])) {
    now = drawing(parentElement, data, width);
    drawings.set(parentElement, now);
  }
  now.setStateValue = setStateValue;
  // the page may still answer an earlier move than the last
  const answered = now.waiting.indexOf(JSON.stringify(data.bounds));
  const last = now.waiting.length - 1;
  if (answered >= 0) now.waiting.splice(0, answered + 1);
  if (now.dragged || (answered >= 0 && answered < last)) return;
  now.waiting = [];
  now.bounds = [...data.bounds];
  now.draw();
}
