// Dark, light, or as the system says. A choice is kept in the browser.

const KEPT = "policy-bridge-theme";
const CHOICES = ["auto", "light", "dark"];
const NAMES = { auto: "as the system", light: "light", dark: "dark" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

/** Set up the switch; `changed` is called when colours are others. */
export function setUpTheme(button, changed) {
  let choice = read();
  const apply = () => {
    document.documentElement.dataset.theme = choice;
    button.textContent = SIGNS[choice];
    button.setAttribute("aria-label", `Colours: ${NAMES[choice]}`);
    button.title = `Colours: ${NAMES[choice]}`;
    changed();
  };
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    write(choice);
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

function read() {
  try {
    const kept = localStorage.getItem(KEPT);
    return CHOICES.includes(kept) ? kept : "auto";
  } catch {
    return "auto"; // a browser that keeps nothing
  }
}

function write(choice) {
  try {
    localStorage.setItem(KEPT, choice);
  } catch {
    // then it holds until the page is left
  }
}
