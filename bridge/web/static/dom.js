// Elements made by code. Text becomes text nodes only: the content of manifests is never parsed as markup.

/**
 * Make an element. `properties`: `class`, `on` (listeners by event), `data` (data-…), anything else is an attribute;
 * undefined, null and false leave it out, true writes it empty. Children: nodes, texts, lists of them.
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else {
      const text = value === true ? "" : String(value);
      element.setAttribute(name, name === "title" || name === "aria-label" ? visible(text) : text);
    }
  }
  element.append(...content(children));
  return element;
}

/** Replace the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...content(children));
  return element;
}

/** Set a CSS property of an element that depends on data. */
export function paint(element, name, value) {
  element.style.setProperty(name, value);
  return element;
}

/** A name that may wrap after its dots, slashes and number signs, not in the middle of a word or a color. */
export const breakable = (name) => name.split(/(?<=[./]|.#)/).flatMap((piece, at) => (at ? [document.createElement("wbr"), piece] : [piece]));

/**
 * An element of index.html, which has it: its kind is not checked.
 *
 * @param {string} id
 * @returns {any}
 */
export const byId = (id) => document.getElementById(id);

/** Let screen readers say one sentence: the content that changes is no live region. */
export const announce = (sentence) => void (byId("announcement").textContent = visible(sentence));

/** Scroll a container, and nothing around it, until an element in it is in sight: at its edge, or with `centered` in the middle. */
export function scrollWithin(container, element, centered = false) {
  const [outer, inner] = [container.getBoundingClientRect(), element.getBoundingClientRect()];
  if (centered) container.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2;
  else if (inner.top < outer.top) container.scrollTop += inner.top - outer.top;
  else if (inner.bottom > outer.bottom) container.scrollTop += inner.bottom - outer.bottom;
}

/** Returns a function that reports whether the focus is where it was, or nowhere: then an answer may move it. */
export function focusGuard() {
  const before = document.activeElement;
  return () => document.activeElement === before || document.activeElement === document.body;
}

/** Move the focus to the verdict of an answer, and the answer to the top if little of it is in sight. */
export function showVerdict(answer) {
  const verdict = answer.querySelector(".verdict");
  if (!verdict) return;
  verdict.tabIndex = -1;
  verdict.focus({ preventScroll: true });
  const { top, bottom } = verdict.getBoundingClientRect();
  const panel = answer.closest("[role=tabpanel]").getBoundingClientRect();
  const space = Math.min(panel.bottom, innerHeight) - bottom;
  if (top < Math.max(panel.top, 0) || space < Math.min(answer.offsetHeight - verdict.offsetHeight, 160)) verdict.scrollIntoView({ block: "start" });
}

/** Show an error at the input of a form that it is about, or at the form; without a message, remove all. `mayFocus()`: see `focusGuard`. */
export function showError(form, message, input, mayFocus = () => false) {
  for (const one of form.querySelectorAll("[aria-invalid]")) {
    one.removeAttribute("aria-invalid");
    one.removeAttribute("aria-describedby");
  }
  form.querySelector(".error")?.remove();
  if (!message) return;
  const id = `${form.id}-error`;
  const error = h("span", { class: "error all", id, role: "alert" }, message);
  if (!input) return void form.append(error);
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", id);
  input.after(error);
  if (mayFocus()) input.focus();
}

// Characters that change how others are shown, such as a direction override, are replaced, as in a terminal.
const INVISIBLE = /[^\P{Cc}\n\t]|\p{Cf}/gu;

/** A text as it is shown: without characters that change how others are shown. */
export const visible = (text) => text.replace(INVISIBLE, "\ufffd");

function content(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== undefined && child !== null && child !== false && child !== "")
    .map((child) => (typeof child === "string" ? visible(child) : child));
}
