import type { Random } from './random.ts';
import type { Trace } from './trace.ts';

/** What is to happen. Of events at one time the seed decides which comes first. */
interface Event {
  readonly time: number;
  readonly tie: number;
  readonly order: number;
  readonly label: string;
  readonly call: () => void;
  isCancelled: boolean;
}

/** The only source of time and order: time moves when the next event is taken, and never otherwise. */
export interface Scheduler {
  /** Milliseconds since the beginning of the simulation. */
  readonly now: number;
  /** Events that were carried out. */
  readonly count: number;
  /** Writes into the trace, with the time. */
  note(line: string): void;
  /** Calls once, `ms` from now; returns what prevents it. An empty label keeps it out of the trace. */
  after(ms: number, label: string, call: () => void): () => void;
  /**
   * Takes events until none is left at or before `time`, or `isOver` says so. After each one everything that it set off
   * (promises, not timers) has come to rest before the next is taken.
   */
  runUntil(time: number, isOver?: () => boolean): Promise<void>;
}

/** A scheduler whose order a seed decides. */
export function createScheduler(random: Random, trace: Trace): Scheduler {
  const heap: Event[] = [];
  let now = 0;
  let count = 0;
  let order = 0;
  return {
    get now() {
      return now;
    },
    get count() {
      return count;
    },
    note: (line) => trace.note(now, line),
    after(ms, label, call) {
      order += 1;
      const event = {
        time: now + Math.max(0, ms),
        tie: random.next(),
        order,
        label,
        call,
        isCancelled: false,
      };
      push(heap, event);
      return () => {
        event.isCancelled = true;
      };
    },
    async runUntil(time, isOver = () => false) {
      while (!isOver()) {
        const event = heap[0];
        if (event === undefined || event.time > time) break;
        pop(heap);
        if (event.isCancelled) continue;
        now = event.time;
        count += 1;
        if (event.label !== '') trace.note(now, event.label);
        event.call();
        await rest();
      }
      if (!isOver()) now = Math.max(now, time);
    },
  };
}

/**
 * The real event loop is a barrier: it goes on when no promise is left to be carried on. It gives no time and no order.
 */
function rest(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isBefore(one: Event, other: Event): boolean {
  if (one.time !== other.time) return one.time < other.time;
  if (one.tie !== other.tie) return one.tie < other.tie;
  return one.order < other.order;
}

function push(heap: Event[], event: Event): void {
  let index = heap.push(event) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (!isBefore(event, heap[parent]!)) break;
    heap[index] = heap[parent]!;
    index = parent;
  }
  heap[index] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
    if (!isBefore(heap[child]!, last)) break;
    heap[index] = heap[child]!;
    index = child;
  }
  heap[index] = last;
}
