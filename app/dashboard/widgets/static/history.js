// Back and Forward, Undo and Redo: every action of the user is one entry of the browser's history.
//
// Streamlit replaces the entry when a knob is turned, and makes several when a page is opened. Here the first change of
// the address after an action makes an entry, and the others replace it.

const HERE = "austerity"; // in the state of an entry: its number
const LAST = "austerity-last-entry"; // in this window's storage: the number of the latest entry

const number = () => history.state?.[HERE] ?? 0;
const listeners = new Set();
const tell = () => listeners.forEach((listener) => listener());

function install() {
  if (window.austerityHistory) return;
  window.austerityHistory = true;
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  let acted = false; // whether the user has done something since the last entry
  const act = () => { acted = true; };
  ["pointerdown", "keydown", "change", "drop"].forEach((kind) => window.addEventListener(kind, act, true));
  window.addEventListener("popstate", () => { acted = false; setTimeout(tell); }, true);
  function put(state, title, url) {
    const next = new URL(url ?? location.href, location.href).href;
    if (next === location.href || !acted) {
      replace({ ...state, [HERE]: number() }, title, url);
    } else {
      acted = false;
      push({ ...state, [HERE]: number() + 1 }, title, url);
      sessionStorage.setItem(LAST, String(number()));
    }
    tell();
  }
  history.pushState = put;
  history.replaceState = put;
}

export default function undo({ parentElement, data }) {
  install();
  if (data?.open && window.austerityOpened !== data.open) {
    window.austerityOpened = data.open;
    const base = new URL("../..", document.querySelector("script[type=module][src]").src); // may have a path
    location.assign(new URL(data.open.split(" ")[0].slice(1), base).href);
  }
  const [back, forward] = parentElement.querySelectorAll("button");
  back.onclick = () => history.back();
  forward.onclick = () => history.forward();
  const show = () => {
    back.disabled = number() <= 0;
    forward.disabled = number() >= Number(sessionStorage.getItem(LAST) ?? 0);
  };
  show();
  listeners.add(show);
  return () => listeners.delete(show);
}
