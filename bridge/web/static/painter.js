// The text on cards and pills, on a canvas over Cytoscape's: names, captions, signs; an overridden policy is struck out.
// Text is never smaller than 11 pixels: far out, captions disappear first, then the names of policies. If cards are smaller
// than a line, names are labels beside them, as many as fit without covering each other.

import { visible } from "./dom.js";
import { colors } from "./theme.js";
import { CARD, PILL } from "./layout.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const NAME = 13; // sizes of text at zoom 1
const CAPTION = 11;
const PILL_NAME = 11.5;
const SMALLEST = 11; // pixels on the screen
const LINE = 12; // pixels on the screen that a card needs for its name
const LABELS = 120; // labels drawn at once, far out
const LABEL = 150; // maximum width of a label in pixels
const EDGE = 9; // pixels before and after the text of a card
const TONES = { programmed: "good", partly: "wait", refused: "danger", overridden: "dim", idle: "dim" }; // colors of outcomes and violations

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
      if (item.pill) this.#pill(context, item);
      else this.#card(context, item);
    }
  }

  /**
   * A font of a size at zoom 1, enlarged so that it can be read on the screen.
   *
   * @param {number} size @param {number | string} weight
   */
  #font(size, weight = "") {
    return font(Math.max(size, SMALLEST / this.zoom), weight);
  }

  #isReadable(size) {
    return size * this.zoom >= SMALLEST - 0.01;
  }

  #card(context, item) {
    const { width } = item.size;
    const start = item.x - width / 2 + EDGE;
    const mark = item.mark ?? item.violation?.sign ?? "";
    const room = width - 2 * EDGE - Math.max(item.badge ? 10 + 7 * item.badge.length : 0, 8 * mark.length);
    const hasCaption = item.caption !== "" && this.#isReadable(CAPTION);
    if (hasCaption) {
      context.fillStyle = this.colors.dim;
      context.font = this.#font(CAPTION);
      context.fillText(cut(context, item.caption, room, 0), start, item.y - 9);
    }
    context.fillStyle = item.dim ? this.colors.dim : this.colors.ink;
    context.font = this.#font(NAME, item.dim ? 400 : 600);
    context.fillText(cut(context, item.name, room), start, item.y + (hasCaption ? 8 : 0.5));
    context.textAlign = "right";
    if (item.badge) {
      context.font = this.#font(PILL_NAME);
      context.fillStyle = this.colors.accent;
      context.fillText(item.badge, item.x + width / 2 - EDGE, item.y + 0.5);
    }
    if (mark) {
      context.font = this.#font(NAME, 600);
      context.fillStyle = item.mark ? this.colors.changed : this.colors[TONES[item.violation.tone]];
      context.fillText(mark, item.x + width / 2 - EDGE, item.y + (item.badge ? -9 : 0.5));
    }
    context.textAlign = "left";
  }

  /** Far out: names beside their cards, the chosen one and the top of the hierarchy first. */
  #labels(context, ratio, { zoom, x, y, width, height }) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.textBaseline = "middle";
    context.font = font(SMALLEST, 600);
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
      context.fillStyle = this.colors.card;
      context.fillRect(box.left, box.top, box.right - box.left, 14);
      context.fillStyle = item.dim ? this.colors.dim : this.colors.ink;
      context.fillText(text, left + 3, middle + 0.5);
      if (placed.length === LABELS) break;
    }
  }

  #pill(context, item) {
    const left = item.x - item.size.width / 2;
    // The line from the card to the pill.
    context.strokeStyle = this.colors.line;
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(left - 8, item.y - (PILL.height + PILL.gap) + (item.first ? 3 : 0));
    context.lineTo(left - 8, item.y);
    context.lineTo(left - 1, item.y);
    context.stroke();
    if (!this.#isReadable(PILL_NAME)) return;
    context.font = this.#font(PILL_NAME, 600);
    context.fillStyle = this.colors[TONES[item.tone]] ?? this.colors.dim;
    context.textAlign = "center";
    context.fillText(item.sign, left + 13, item.y + 0.5);
    context.textAlign = "right";
    const mark = item.mark || item.violation?.sign || "";
    context.fillStyle = item.mark ? this.colors.changed : this.colors[TONES[item.violation?.tone]] ?? this.colors.ink;
    context.fillText(mark, left + item.size.width - 9, item.y + 0.5);
    context.textAlign = "left";
    context.font = this.#font(PILL_NAME);
    let start = left + (item.sign ? 24 : EDGE);
    const end = left + item.size.width - 9 - 8 * mark.length;
    context.fillStyle = this.colors.dim;
    const kind = cut(context, item.kind, end - start);
    context.fillText(kind, start, item.y + 0.5);
    if (kind) start += context.measureText(kind).width + 6;
    context.fillStyle = item.dim || item.muted ? this.colors.dim : this.colors.ink;
    const text = cut(context, item.name, end - start);
    context.fillText(text, start, item.y + 0.5);
    if (!item.struck) return;
    context.strokeStyle = this.colors.dim;
    context.beginPath();
    context.moveTo(start, item.y + 0.5);
    context.lineTo(start + context.measureText(text).width, item.y + 0.5);
    context.stroke();
  }
}

const font = (size, weight) => `${weight} ${size.toFixed(2)}px ${FONT}`;

/**
 * The width that an item needs at zoom 1, so that nothing of its texts is cut.
 *
 * @param {any} item
 */
export function neededWidth({ pill, name, caption = "", kind = "", sign = "", badge = "", mark, violation }) {
  const signs = mark ?? violation?.sign ?? "";
  if (pill) return PILL.indent + (sign ? 24 : EDGE) + measured(kind, PILL_NAME) + (kind ? 6 : 0) + measured(name, PILL_NAME) + 12 + 8 * signs.length;
  const text = Math.max(measured(name, NAME, 600), measured(caption, CAPTION));
  return 2 * EDGE + 2 + text + Math.max(badge ? 12 + 7 * badge.length : 0, signs ? 6 + 8 * signs.length : 0);
}

/** @type {any} */
const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();

/** @param {string} text @param {number} size @param {number | string} weight */
function measured(text, size, weight = "") {
  const id = `${size} ${weight} ${text}`;
  let found = widths.get(id);
  if (found === undefined) {
    ruler.font = font(size, weight);
    found = Math.ceil(ruler.measureText(visible(text)).width);
    if (widths.size > 20_000) widths.clear();
    widths.set(id, found);
  }
  return found;
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
