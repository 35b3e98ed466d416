import { signal } from "@preact/signals";

let timer: ReturnType<typeof setInterval> | undefined;

/** Unix seconds; ticks only while something on the page shows an elapsed time. */
export const now = signal(Date.now() / 1000, {
  watched() {
    timer = setInterval(() => {
      now.value = Date.now() / 1000;
    }, 1000);
  },
  unwatched() {
    clearInterval(timer);
  },
});
