import type { Carrier, Hands } from './carrier.ts';
import { WaitingLine } from './waiting-line.ts';

/** A queue with those who take from it. */
interface Desk {
  readonly line: WaitingLine;
  readonly takers: Hands[];
  /** The taker whose turn it is. */
  turn: number;
  isScheduled: boolean;
}

/**
 * Carries messages inside this process; they are gone with it. Messages wait for a consumer that comes later (a plugin that
 * restarts), in the bounds of `WaitingLine`. Consumers of one queue take turns.
 */
export function createProcessCarrier(): Carrier {
  const desks = new Map<string, Desk>();

  function deskOf(queueId: string): Desk {
    const known = desks.get(queueId);
    if (known !== undefined) return known;
    const desk: Desk = {
      line: new WaitingLine(() => schedule(desk)),
      takers: [],
      turn: 0,
      isScheduled: false,
    };
    desks.set(queueId, desk);
    return desk;
  }

  /** Messages are handed out in turns of the event loop, so that a full line does not stop everything else. */
  function schedule(desk: Desk): void {
    if (desk.isScheduled || desk.takers.length === 0) return;
    desk.isScheduled = true;
    setImmediate(() => {
      desk.isScheduled = false;
      handOut(desk);
    });
  }

  function handOut(desk: Desk): void {
    let passed = 0;
    while (passed < desk.takers.length) {
      desk.turn = (desk.turn + 1) % desk.takers.length;
      const taker = desk.takers[desk.turn] as Hands;
      if (taker.size >= taker.concurrency) {
        passed += 1;
        continue;
      }
      passed = 0;
      const message = desk.line.take();
      if (message === undefined) return;
      void taker.start(message.id, message.text).then(() => schedule(desk));
    }
  }

  return {
    form: 'process',
    delivers: true,
    send: async (queueId, message) => (deskOf(queueId).line.add(message) ? 'ok' : 'full'),

    receive(queueId, hands) {
      const desk = deskOf(queueId);
      desk.takers.push(hands);
      schedule(desk);
      return {
        stop() {
          const index = desk.takers.indexOf(hands);
          if (index >= 0) desk.takers.splice(index, 1);
        },
        end: async () => undefined,
      };
    },

    async close() {
      for (const { line } of desks.values()) line.clear();
      desks.clear();
    },
  };
}
