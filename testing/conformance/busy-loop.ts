/** Milliseconds between two turns of the loop that are looked for. */
const LOOK_MS = 10;

/** How long the event loop was kept from its next turn. */
export interface BusyLoop extends Disposable {
  /** The longest piece of work without a turn since this was asked last, in milliseconds of the CPU time of this thread. */
  longest(): number;
}

/** Measures the event loop. CPU time counts, since on a busy machine a process waits for its turn through no fault of its own. */
export function meterLoop(): BusyLoop {
  let longest = 0;
  let last = process.threadCpuUsage();
  const look = () => {
    const now = process.threadCpuUsage();
    longest = Math.max(longest, (now.user - last.user + now.system - last.system) / 1000);
    last = now;
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    longest() {
      look();
      const found = longest;
      longest = 0;
      return found;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
