/** Waits, but not longer than makes sense: the network coming back, the page being looked at, or an abort end it. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const listening = new AbortController();
    const end = () => {
      clearTimeout(timer);
      listening.abort();
      resolve();
    };
    const timer = setTimeout(end, ms);
    const options = { signal: listening.signal };
    window.addEventListener("online", end, options);
    document.addEventListener("visibilitychange", () => !document.hidden && end(), options);
    signal.addEventListener("abort", end, options);
  });
}
