// Asks again and again while somebody looks, and ever more rarely while it fails.

const EVERY_MS = 3_000;
const LONGEST_MS = 60_000;

// Calls `refresh` at once and then every few seconds; returns what stops it.
export function follow(refresh, { failed, succeeded, isPaused }) {
  const stop = new AbortController();
  let wait = EVERY_MS;
  let timer = 0;
  let busy = false;
  let wanted = false;

  async function turn() {
    clearTimeout(timer);
    wanted = busy;
    if (stop.signal.aborted || busy) return;
    busy = true;
    try {
      await refresh(stop.signal);
      wait = EVERY_MS;
      if (!stop.signal.aborted) succeeded();
    } catch (reason) {
      wait = Math.min(LONGEST_MS, wait * 2);
      if (!stop.signal.aborted) failed(reason, wait);
    }
    busy = false;
    // Somebody has changed something meanwhile and wants to see it.
    if (wanted) turn();
    else if (!stop.signal.aborted) timer = setTimeout(next, wait);
  }

  function next() {
    // Nobody sees a hidden page; it is brought up to date when it shows again.
    if (document.hidden || isPaused()) timer = setTimeout(next, EVERY_MS);
    else turn();
  }

  document.addEventListener("visibilitychange", () => !document.hidden && !isPaused() && turn(), {
    signal: stop.signal,
  });
  turn();
  return { stop: () => (stop.abort(), clearTimeout(timer)), now: turn };
}
