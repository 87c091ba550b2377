// The stream of changes. A connection that breaks, or dies without a sign, is opened again until it works.

const AGAIN = 1_000; // ms between two attempts
const SILENT = 40_000; // ms without an event after which a connection counts as dead: the bridge sends one every 15 s
const LOOK = 5_000; // ms between two checks for silence

/**
 * Follow the bridge.
 *
 * @param {{topology: (change: any) => void, state: (state: any) => void, violations: () => void, connected: () => void, lost: () => void}} on
 * @param {() => string} since Returns the revision that the page has, after which the stream continues.
 * @returns {() => void} Stops it.
 */
export function follow(on, since) {
  /** @type {EventSource} */
  let source;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let received = Date.now(); // wall-clock time: it continues while the machine sleeps
  let stopped = false;

  const open = () => {
    alive();
    source = new EventSource(`api/stream?since=${encodeURIComponent(since())}`);
    source.addEventListener("open", () => {
      alive();
      on.connected();
    });
    source.addEventListener("heartbeat", alive);
    for (const name of /** @type {const} */ (["topology", "state", "violations"])) {
      source.addEventListener(name, (event) => {
        alive();
        on[name](JSON.parse(event.data));
      });
    }
    source.addEventListener("error", () => again(AGAIN));
  };
  const again = (/** @type {number} */ wait) => {
    if (stopped) return;
    source.close(); // the browser's own retry gives up on an answer that is not a stream
    on.lost();
    clearTimeout(timer);
    timer = setTimeout(open, wait);
  };
  const alive = () => {
    received = Date.now();
    clearTimeout(timer);
    timer = undefined;
  };
  // A laptop that slept, or a network that drops packets, ends no connection: only its silence shows it.
  const check = () => {
    if (timer === undefined && Date.now() - received > SILENT) again(0);
  };

  open();
  const looking = setInterval(check, LOOK);
  document.addEventListener("visibilitychange", check);
  return () => {
    stopped = true;
    clearTimeout(timer);
    clearInterval(looking);
    document.removeEventListener("visibilitychange", check);
    source.close();
  };
}
