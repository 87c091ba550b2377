// Buttons and keys of the picture: zoom, pan, fit.

import { byId } from "./dom.js";

const STEP = 80; // pixels that an arrow key moves the picture

/** Set up the frame of the graph. */
export function setUpPicture(frame, graph) {
  const zoom = 1.25;
  byId("zoom-in").addEventListener("click", () => graph.zoomBy(zoom));
  byId("zoom-out").addEventListener("click", () => graph.zoomBy(1 / zoom));
  byId("zoom-fit").addEventListener("click", () => graph.fit());
  const keys = {
    "+": () => graph.zoomBy(zoom),
    "=": () => graph.zoomBy(zoom),
    "-": () => graph.zoomBy(1 / zoom),
    0: () => graph.fit(),
    ArrowLeft: () => graph.panBy(STEP, 0),
    ArrowRight: () => graph.panBy(-STEP, 0),
    ArrowUp: () => graph.panBy(0, STEP),
    ArrowDown: () => graph.panBy(0, -STEP),
  };
  byId("graph").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  new ResizeObserver(() => graph.resize()).observe(frame);
}
