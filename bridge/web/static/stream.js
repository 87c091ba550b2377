// The stream of what changes. A connection that breaks is made anew until it holds, and listeners are told of both.

const AGAIN = 1_000; // ms between two tries

/**
 * Follow the bridge. `on`: `topology(change)`, `state(state)`, `connected()`, `lost()`. `since()`: the revision that the
 * page has, after which it goes on.
 * Returns what stops it.
 */
export function follow(on, since) {
  let source;
  let timer;
  let stopped = false;

  const open = () => {
    source = new EventSource(`api/stream?since=${encodeURIComponent(since())}`);
    source.addEventListener("open", () => {
      alive();
      on.connected();
    });
    for (const name of ["topology", "state"]) {
      source.addEventListener(name, (event) => {
        alive();
        on[name](JSON.parse(event.data));
      });
    }
    source.addEventListener("error", () => again(AGAIN));
  };
  const again = (wait) => {
    if (stopped) return;
    source.close(); // the browser's own retry gives up on an answer that is no stream
    on.lost();
    clearTimeout(timer);
    timer = setTimeout(open, wait);
  };
  const alive = () => {
    clearTimeout(timer);
    timer = undefined;
  };

  open();
  return () => {
    stopped = true;
    clearTimeout(timer);
    source.close();
  };
}
