// The text on cards and pills, on a canvas over Cytoscape's: names, captions, signs; an overridden policy is struck out.
// Text is never too small to read: far out, captions disappear first, then the names of policies. If cards are smaller
// than a line, names are labels beside them, as many as fit without covering each other.

import { visible } from "./dom.js";
import { colors } from "./theme.js";
import { CARD, PILL } from "./layout.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const NAME = 14.5; // sizes of text at zoom 1
const CAPTION = 11.5;
const PILL_NAME = 12.5;
const CHIP = 9;
const SMALLEST = { name: 10.5, caption: 8.5, pill: 8.5 }; // pixels on the screen
const LINE = 12; // pixels on the screen that a card needs for its name
const LABELS = 120; // labels drawn at once, far out
const LABEL = 150; // maximum width of a label in pixels
const VIOLATION = { refused: "danger", partly: "wait", idle: "dim" }; // colors of the tones of violations

/** Paints `items` (from `describe` in graph.js) over a Cytoscape instance. */
export class Painter {
  zoom = 1;
  colors = colors();

  constructor(cy, canvas) {
    this.cy = cy;
    this.canvas = canvas;
    this.items = [];
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
    const { x, y } = cy.pan();
    if (CARD.height * zoom < LINE) return void this.#labels(context, ratio, { zoom, x, y, width, height });
    this.zoom = zoom;
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

  /**
   * A font of a size at zoom 1, enlarged so that it is `least` pixels on the screen.
   *
   * @param {number} size @param {number} least @param {number | string} weight
   */
  #font(size, least, weight = "") {
    return `${weight} ${Math.max(size, least / this.zoom).toFixed(2)}px ${FONT}`;
  }

  #card(context, item) {
    const { width, height } = item.size;
    const start = item.x - width / 2 + Math.min(11, 7 / this.zoom);
    const mark = item.mark ?? item.violation?.sign ?? "";
    const room = width - 2 * Math.min(11, 7 / this.zoom) - Math.max(item.badge ? 10 + 7 * item.badge.length : 0, 6 * mark.length);
    const hasCaption = CAPTION * this.zoom >= SMALLEST.caption;
    if (hasCaption) {
      context.fillStyle = this.colors.dim;
      context.font = this.#font(CAPTION, SMALLEST.caption);
      context.fillText(cut(context, item.caption, room, 0), start, item.y - 9);
    }
    context.fillStyle = this.colors.ink;
    context.font = this.#font(NAME, SMALLEST.name, 600);
    context.fillText(cut(context, item.name, room), start, item.y + (hasCaption ? 8 : 0.5));
    if (item.badge) {
      context.font = this.#font(PILL_NAME, SMALLEST.pill);
      context.textAlign = "right";
      context.fillStyle = this.colors.accent;
      context.fillText(item.badge, item.x + width / 2 - 10, item.y);
      context.textAlign = "left";
    }
    if (mark) {
      context.font = this.#font(NAME, SMALLEST.name, 600);
      context.fillStyle = item.mark ? this.colors.changed : this.colors[VIOLATION[item.violation.tone]];
      context.textAlign = "right";
      context.fillText(mark, item.x + width / 2 - 8, item.y - height / 2 + 11);
      context.textAlign = "left";
    }
  }

  /** Far out: names beside their cards, the chosen one and the top of the hierarchy first. */
  #labels(context, ratio, { zoom, x, y, width, height }) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.textBaseline = "middle";
    context.font = `600 ${SMALLEST.name}px ${FONT}`;
    const weight = (item) => (item.isChosen ? 2 : 0) + (item.dim ? 0 : 1);
    const cards = this.items.filter((item) => !item.pill);
    cards.sort((one, other) => weight(other) - weight(one) || one.x - other.x || one.y - other.y);
    const placed = [];
    for (const item of cards) {
      const left = (item.x - item.size.width / 2) * zoom + x;
      const middle = item.y * zoom + y;
      if (left < 0 || left > width || middle < 0 || middle > height) continue;
      const text = cut(context, item.name, LABEL);
      const box = { left, right: left + context.measureText(text).width + 6, top: middle - 7, bottom: middle + 7 };
      if (placed.some((other) => covers(box, other))) continue;
      placed.push(box);
      context.globalAlpha = 0.8;
      context.fillStyle = this.colors.card;
      context.fillRect(box.left, box.top, box.right - box.left, 14);
      context.globalAlpha = item.dim ? 0.5 : 1;
      context.fillStyle = this.colors.ink;
      context.fillText(text, left + 3, middle + 0.5);
      if (placed.length === LABELS) break;
    }
    context.globalAlpha = 1;
  }

  #pill(context, item) {
    const left = item.x - item.size.width / 2;
    // The line from the card to the pill.
    context.strokeStyle = item.color;
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(left - 9, item.y - (PILL.height + PILL.gap) + (item.first ? 3 : 0));
    context.lineTo(left - 9, item.y);
    context.lineTo(left - 1, item.y);
    context.stroke();
    let start = left + 9;
    const isNamed = PILL.height * this.zoom >= SMALLEST.pill;
    if (item.monogram) {
      context.font = this.#font(CHIP, Math.min(7, (PILL.height - 5) * this.zoom), 700);
      const width = context.measureText(item.monogram).width + 10;
      context.fillStyle = item.color;
      context.beginPath();
      context.roundRect(left + 5, item.y - 7, width, 14, 7);
      context.fill();
      context.fillStyle = "#fff";
      context.fillText(item.monogram, left + 10, item.y + 0.5);
      start = left + width + 11;
    }
    context.font = this.#font(PILL_NAME, Math.min(SMALLEST.pill, (PILL.height - 2) * this.zoom));
    context.fillStyle = item.muted ? this.colors.dim : this.colors.ink;
    const sign = item.mark || [item.violation?.sign, item.sign].filter(Boolean).join(" ");
    const text = isNamed ? cut(context, item.name, left + item.size.width - 16 - 6 * sign.length - start) : "";
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
    context.fillText(sign, left + item.size.width - 8, item.y + 0.5);
    context.textAlign = "left";
  }
}

/** Whether two boxes on the screen overlap. */
const covers = (one, other) =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

const cuts = new Map();

const TAIL = 0.4; // the share of a name's end in what is left: neighbors often differ only there

/** A text cut to a width, with … in place of what is before its last characters, which are the share `tail`. */
function cut(context, text, room, tail = TAIL) {
  const id = `${context.font}\n${Math.round(room)}\n${text}`;
  let found = cuts.get(id);
  if (found === undefined) {
    found = shortened(context, visible(text), room, tail);
    if (cuts.size > 20_000) cuts.clear();
    cuts.set(id, found);
  }
  return found;
}

function shortened(context, text, room, tail) {
  if (context.measureText(text).width <= room) return text;
  const left = (count) => {
    const last = Math.floor(count * tail);
    return `${text.slice(0, count - last)}…${text.slice(text.length - last)}`;
  };
  let [fits, fails] = [0, text.length];
  while (fails - fits > 1) {
    const middle = (fits + fails) >> 1;
    if (context.measureText(left(middle)).width <= room) fits = middle;
    else fails = middle;
  }
  return left(fits);
}
