// Dark, light, or the system's theme. The browser stores the choice.

import { recall, remember } from "./storage.js";

const CHOICES = ["auto", "light", "dark"];
const NAMES = { auto: "system", light: "light", dark: "dark" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

/** Set up the switch; `changed` is called when the colors change. */
export function setUpTheme(button, changed) {
  const kept = recall("theme");
  let choice = kept !== undefined && CHOICES.includes(kept) ? kept : "auto";
  const apply = () => {
    document.documentElement.dataset.theme = choice;
    button.textContent = SIGNS[choice];
    button.setAttribute("aria-label", `Theme: ${NAMES[choice]}`);
    button.title = `Theme: ${NAMES[choice]}`;
    changed();
  };
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    remember("theme", choice);
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  apply();
}

/** The page's current colors, for the picture. */
export function colors() {
  const style = getComputedStyle(document.documentElement);
  /** @type {Record<string, string>} */
  const found = {};
  for (const name of ["canvas", "card", "card-section", "line", "soft", "edge", "ink", "dim", "accent", "changed", "danger", "wait", "good", "found"]) {
    found[name] = style.getPropertyValue(`--${name}`).trim();
  }
  return found;
}
