import type { RunPlace } from '../../../../plugins/workflow/contract.ts';
import type { Notifier } from '../../../../plugins/workflow/services/ports/runtime.ts';
import type { Runner } from '../../../../plugins/workflow/services/runner/runner.ts';
import type { Faults } from './faults.ts';
import type { SimulatedProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** Who hears messages. */
export interface Listener {
  readonly process: SimulatedProcess;
  readonly runner: Runner;
}

/** The wake of one process over a queue that loses, repeats, delays and reorders what it is given, or is dead. */
export function createWake(options: {
  readonly from: SimulatedProcess;
  /** Processes that take messages now. */
  readonly listeners: () => readonly Listener[];
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly faults: () => Faults;
}): Notifier {
  const { from, listeners, scheduler, random, faults } = options;

  const send = (delayMs: number, arrive: () => void) => {
    if (!from.isAlive || faults().queue === 'dead' || random.isTrue(faults().lostMessage)) return;
    const copies = random.isTrue(faults().repeatedMessage) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const way = random.isTrue(faults().slowMessage)
        ? random.longTailed(2000, 40_000)
        : random.longTailed(2, 100);
      scheduler.after(delayMs + way, '', arrive);
    }
  };
  // A message that a replica cannot follow goes to another, a few times.
  const look = (place: RunPlace, left: number) => {
    const all = listeners();
    if (all.length === 0) return;
    const { process, runner } = random.pick(all);
    process.deliver(0.01, `is told to look at ${place.runId}`, () => {
      runner.poll(place).then((hasLooked) => {
        if (!hasLooked && left > 0)
          scheduler.after(random.longTailed(200, 5000), '', () => look(place, left - 1));
      });
    });
  };

  return {
    poll: (place, delayMs = 0) => send(delayMs, () => look(place, 2)),
    changed(place) {
      for (const { process, runner } of listeners()) {
        send(0, () => process.deliver(0, `hears of ${place.runId}`, () => runner.changed(place)));
      }
    },
  };
}
