// The frame around the picture: panels that open, close and change their width; the outline is a drawer on narrow screens.

import { byId } from "./dom.js";
import { recall, remember } from "./storage.js";

const NARROW = matchMedia("(max-width: 1000px)"); // as in style.css: the outline is a drawer
const WIDE = matchMedia("(min-width: 1600px)"); // the filters leave the picture enough room
const LIMITS = { side: [180, 520], panel: [260, 760] }; // pixels
const PICTURE = 240; // pixels that the picture keeps
const STEP = 24; // pixels that an arrow key moves an edge

/** Set up the panels; `opened()` is called when the user opens the outline. Returns {openPanel()}: shows the details if the user has closed them. */
export function setUpFrame(opened) {
  const side = setUpPanel("side", 1);
  const panel = setUpPanel("panel", -1);
  const adapt = () => {
    side.set(!NARROW.matches && (recall("side") ?? (WIDE.matches ? "open" : "closed")) === "open");
    panel.set(NARROW.matches || recall("panel") !== "closed");
  };
  NARROW.addEventListener("change", adapt);
  adapt();
  const skipTo = (link, tab, target) => byId(link).addEventListener("click", (event) => {
    event.preventDefault(); // the fragment of the address is the page's state
    panel.set(true);
    byId(tab).click();
    (target() ?? byId(tab)).focus();
  });
  skipTo("skip", "tab-details", () => byId("details").querySelector("h3"));
  skipTo("skip-request", "tab-request", () => byId("request-host"));
  byId("toggle-side").addEventListener("click", () => side.isOpen() && opened());
  // The drawer covers the picture: Escape, a click beside it, or a click on a row closes it. Beside the picture Escape leaves it.
  const closeDrawer = () => {
    if (!NARROW.matches || !side.isOpen()) return;
    side.set(false);
    byId("toggle-side").focus();
  };
  byId("side").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    closeDrawer();
    byId("toggle-side").focus();
  });
  byId("outline").addEventListener("click", (event) => {
    if (event.target.closest("[role=treeitem]") && !event.target.closest(".twist")) closeDrawer();
  });
  document.addEventListener("pointerdown", (event) => {
    if (event.target instanceof Element && !event.target.closest("#side, #toggle-side")) closeDrawer();
  });
  return { openPanel: () => panel.set(true) };
}

function setUpPanel(name, direction) {
  const toggle = byId(`toggle-${name}`);
  const isOpen = () => document.body.dataset[name] !== "closed";
  const set = (open) => {
    document.body.dataset[name] = open ? "open" : "closed";
    toggle.setAttribute("aria-expanded", String(open));
    setUpWidth();
  };
  const edge = byId(`resize-${name}`);
  const root = document.body.style;
  const width = () => byId(name).getBoundingClientRect().width;
  const setUpWidth = () => {
    if (!isOpen() || NARROW.matches) return void root.removeProperty(`--${name}-width`);
    const kept = Number(recall(`${name}-width`));
    if (kept) root.setProperty(`--${name}-width`, `${kept}px`);
    edge.setAttribute("aria-valuemin", LIMITS[name][0]);
    edge.setAttribute("aria-valuemax", LIMITS[name][1]);
    edge.setAttribute("aria-valuenow", Math.round(width()));
  };
  const resize = (wanted) => {
    const [least, most] = LIMITS[name];
    const free = byId("picture").getBoundingClientRect().width + width() - PICTURE;
    remember(`${name}-width`, Math.round(Math.max(least, Math.min(most, free, wanted))));
    setUpWidth();
  };
  toggle.addEventListener("click", () => {
    set(!isOpen());
    if (!NARROW.matches) remember(name, isOpen() ? "open" : "closed");
    if (name === "side" && isOpen()) byId("filter-problems").focus();
  });
  edge.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -STEP, ArrowRight: STEP };
    if (!(event.key in steps)) return;
    event.preventDefault();
    resize(width() + steps[event.key] * direction);
  });
  edge.addEventListener("pointerdown", (event) => {
    const [start, before] = [event.clientX, width()];
    const move = (moved) => resize(before + (moved.clientX - start) * direction);
    edge.setPointerCapture(event.pointerId);
    edge.classList.add("active");
    edge.addEventListener("pointermove", move);
    const end = () => {
      edge.classList.remove("active");
      edge.removeEventListener("pointermove", move);
    };
    edge.addEventListener("lostpointercapture", end, { once: true });
  });
  edge.addEventListener("dblclick", () => {
    remember(`${name}-width`, undefined);
    root.removeProperty(`--${name}-width`);
    setUpWidth();
  });
  return { set, isOpen };
}
