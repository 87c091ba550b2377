// Dark, light, or as the system says. The browser keeps a choice.

import { recall, remember } from "./storage.js";

const CHOICES = ["auto", "light", "dark"];
const NAMES = { auto: "as the system", light: "light", dark: "dark" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

/** Set up the switch; `changed` is called when colours are others. */
export function setUpTheme(button, changed) {
  const kept = recall("theme");
  let choice = CHOICES.includes(kept) ? kept : "auto";
  const apply = () => {
    document.documentElement.dataset.theme = choice;
    button.textContent = SIGNS[choice];
    button.setAttribute("aria-label", `Colours: ${NAMES[choice]}`);
    button.title = `Colours: ${NAMES[choice]}`;
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

/** The page's colours as they are now, for what is drawn. */
export function colors() {
  const style = getComputedStyle(document.documentElement);
  const found = {};
  for (const name of ["canvas", "card", "card-section", "line", "edge", "ink", "dim", "accent", "changed", "danger"]) {
    found[name] = style.getPropertyValue(`--${name}`).trim();
  }
  return found;
}
