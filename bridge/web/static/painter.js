// The text on cards and pills, on a canvas over Cytoscape's: names, captions, signs; an overridden policy is struck out.

import { colors } from "./theme.js";
import { PILL } from "./layout.js";

const SMALLEST = 0.34; // zoom below which text is too small to read, and is left out
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const NAME = `600 14.5px ${FONT}`;
const CAPTION = `11.5px ${FONT}`;
const PILL_NAME = `12.5px ${FONT}`;
const CHIP = `700 9px ${FONT}`;

/** Paints `items` (what `describe` in graph.js makes of nodes) over a Cytoscape instance. */
export class Painter {
  constructor(cy, canvas) {
    this.cy = cy;
    this.canvas = canvas;
    this.items = [];
    this.refreshColors();
    cy.on("render", () => this.paint());
  }

  refreshColors() {
    this.colors = colors();
  }

  paint() {
    const { canvas, cy } = this;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [cy.width(), cy.height()];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const zoom = cy.zoom();
    if (zoom < SMALLEST) return;
    const { x, y } = cy.pan();
    context.setTransform(ratio * zoom, 0, 0, ratio * zoom, ratio * x, ratio * y);
    context.textBaseline = "middle";
    const [left, top, right, bottom] = [-x / zoom, -y / zoom, (width - x) / zoom, (height - y) / zoom];
    for (const item of this.items) {
      const [wide, high] = [item.size.width / 2, item.size.height / 2];
      if (item.x + wide < left || item.x - wide > right || item.y + high < top || item.y - high > bottom) continue;
      context.globalAlpha = item.dim ? 0.4 : 1;
      if (item.pill) this.#pill(context, item);
      else this.#card(context, item);
    }
    context.globalAlpha = 1;
  }

  #card(context, item) {
    const { width, height } = item.size;
    const start = item.x - width / 2 + 11;
    const room = width - 22 - (item.badge ? 10 + 7 * item.badge.length : 0);
    context.fillStyle = this.colors.dim;
    context.font = CAPTION;
    context.fillText(cut(context, item.caption, room), start, item.y - 9);
    context.fillStyle = this.colors.ink;
    context.font = NAME;
    context.fillText(cut(context, item.name, room), start, item.y + 8);
    if (item.badge) {
      context.font = PILL_NAME;
      context.textAlign = "right";
      context.fillStyle = this.colors.accent;
      context.fillText(item.badge, item.x + width / 2 - 10, item.y);
      context.textAlign = "left";
    }
    if (item.mark) {
      context.font = NAME;
      context.fillStyle = this.colors.changed;
      context.textAlign = "right";
      context.fillText(item.mark, item.x + width / 2 - 8, item.y - height / 2 + 11);
      context.textAlign = "left";
    }
  }

  #pill(context, item) {
    const left = item.x - item.size.width / 2;
    // The line that hangs the pill under its card.
    context.strokeStyle = item.color;
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(left - 9, item.y - (PILL.height + PILL.gap) + (item.first ? 3 : 0));
    context.lineTo(left - 9, item.y);
    context.lineTo(left - 1, item.y);
    context.stroke();
    let start = left + 9;
    if (item.monogram) {
      context.font = CHIP;
      const width = context.measureText(item.monogram).width + 10;
      context.fillStyle = item.color;
      context.beginPath();
      context.roundRect(left + 5, item.y - 7, width, 14, 7);
      context.fill();
      context.fillStyle = "#fff";
      context.fillText(item.monogram, left + 10, item.y + 0.5);
      start = left + width + 11;
    }
    context.font = PILL_NAME;
    context.fillStyle = item.muted ? this.colors.dim : this.colors.ink;
    const text = cut(context, item.name, left + item.size.width - 22 - start);
    context.fillText(text, start, item.y + 0.5);
    if (item.struck) {
      context.strokeStyle = this.colors.dim;
      context.beginPath();
      context.moveTo(start, item.y + 0.5);
      context.lineTo(start + context.measureText(text).width, item.y + 0.5);
      context.stroke();
    }
    context.fillStyle = item.refused ? this.colors.danger : this.colors.ink;
    context.textAlign = "right";
    context.fillText(item.mark || item.sign, left + item.size.width - 8, item.y + 0.5);
    context.textAlign = "left";
  }
}

const cuts = new Map();

/** A text as it fits, with … in place of its end. */
function cut(context, text, room) {
  const id = `${context.font}\n${Math.round(room)}\n${text}`;
  let found = cuts.get(id);
  if (found === undefined) {
    found = shortened(context, text, room);
    if (cuts.size > 20_000) cuts.clear();
    cuts.set(id, found);
  }
  return found;
}

function shortened(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let [fits, fails] = [0, text.length];
  while (fails - fits > 1) {
    const middle = (fits + fails) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) fits = middle;
    else fails = middle;
  }
  return `${text.slice(0, fits)}…`;
}
