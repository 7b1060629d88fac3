import type { Timers } from '../../../../plugins/workflow/services/ports/runtime.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * One process of the deployment. All that reaches it (answers, messages, timers) comes through `deliver`: nothing
 * reaches one that is gone, and one that is stalled gets it afterwards, all at once and in any order.
 */
export interface SimulatedProcess {
  readonly name: string;
  readonly isAlive: boolean;
  /** When it was started, or stood still the last time: until then it stands still, when that is to come. */
  readonly awakeSince: number;
  /** Its own clock, and what it is told by it. */
  readonly timers: Timers;
  deliver(ms: number, label: string, call: () => void): () => void;
  /** It stands still for a time, as in a long pause of the collector or of its machine; `isFrozen`: its clock too. */
  stall(ms: number, isFrozen: boolean): void;
  /** It vanishes: what it waits for never comes. */
  crash(): void;
}

/** Looks at the clock while one event is dealt with. */
const MAX_LOOKS = 20_000;

/** A process whose clock runs `drift` too fast (0.01: 1 %). */
export function startProcess(options: {
  readonly name: string;
  readonly drift: number;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /**
   * Called when it goes on and on without anything happening: a real process would stand still for ever, and all in it.
   */
  readonly spins: () => void;
}): SimulatedProcess {
  const { name, drift, scheduler, random, spins } = options;
  const bornAt = scheduler.now;
  const offset = random.integer(0, 1_000_000);
  let isAlive = true;
  let stalledUntil = bornAt;
  let frozenMs = 0;
  let lastLook = { event: -1, looks: 0 };

  const deliver = (ms: number, label: string, call: () => void) => {
    let cancel = scheduler.after(ms, '', function arrive() {
      if (!isAlive) return;
      if (scheduler.now < stalledUntil) {
        cancel = scheduler.after(stalledUntil - scheduler.now + random.next(), '', arrive);
        return;
      }
      trace(label);
      call();
    });
    return () => cancel();
  };
  const trace = (label: string) => {
    if (label !== '') scheduler.note(`${name} ${label}`);
  };
  // A clock that was frozen shows less than has passed. One that is frozen now shows what it showed when it froze;
  // nobody looks at it then.
  const monotonic = () => offset + (scheduler.now - bornAt - frozenMs) * (1 + drift);

  return {
    name,
    get isAlive() {
      return isAlive;
    },
    get awakeSince() {
      return stalledUntil;
    },
    deliver,
    timers: {
      monotonic() {
        if (lastLook.event !== scheduler.count) lastLook = { event: scheduler.count, looks: 0 };
        lastLook.looks += 1;
        if (lastLook.looks > MAX_LOOKS) {
          spins();
          throw new Error('the process spins');
        }
        return monotonic();
      },
      after(ms, call) {
        const due = monotonic() + ms;
        let cancel = deliver(ms / (1 + drift), '', function ring() {
          const rest = due - monotonic();
          if (rest > 0.001) {
            cancel = deliver(rest / (1 + drift), '', ring);
            return;
          }
          call();
        });
        return () => cancel();
      },
    },
    stall(ms, isFrozen) {
      if (scheduler.now < stalledUntil) return;
      stalledUntil = scheduler.now + ms;
      if (isFrozen) frozenMs += ms;
    },
    crash() {
      isAlive = false;
    },
  };
}
