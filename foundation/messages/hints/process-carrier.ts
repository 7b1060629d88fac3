import { TransientSet } from '../../base/transient.ts';
import type { Carrier, Hands, Message } from './create-hints.ts';

/** A queue with its consumers. */
interface Desk {
  readonly line: ReturnType<typeof createWaitingLine>;
  readonly takers: Hands[];
  /** The consumer whose turn it is. */
  turn: number;
  isScheduled: boolean;
}

/**
 * Carries messages inside this process; they are gone with it. Messages wait for a consumer that comes later (a plugin
 * that restarts), in the bounds of its line. Consumers of one queue take turns.
 */
export function createProcessCarrier(): Carrier {
  const desks = new Map<string, Desk>();

  function deskOf(queueId: string): Desk {
    const known = desks.get(queueId);
    if (known !== undefined) return known;
    const desk: Desk = {
      line: createWaitingLine(() => schedule(desk)),
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

/** Messages of one queue that wait, the delayed ones included. */
const MAX_WAITING = 10_000;
/** Characters of their payloads: with the greatest payloads, the number alone would not be much of a bound. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * What waits in the memory of this process for one queue: first in, first out, each id once.
 *
 * @param onDue called when there is something to take
 */
function createWaitingLine(onDue: () => void) {
  const ids = new Set<string>();
  const delayed = new TransientSet<NodeJS.Timeout>();
  let due: Message[] = [];
  /** Where in `due` the first one is. */
  let first = 0;
  let characters = 0;

  function becomesDue(message: Message): void {
    due.push(message);
    onDue();
  }

  function later(message: Message): void {
    const timer = setTimeout(() => {
      delayed.delete(timer);
      becomesDue(message);
    }, message.delay);
    // A hint is no reason for a process to stay.
    timer.unref();
    delayed.add(timer);
  }

  return {
    /**
     * False when there is no room. A message whose id waits already is dropped, with true: the other one stands for it.
     */
    add(message: Message): boolean {
      if (ids.has(message.id)) return true;
      const isFull = ids.size >= MAX_WAITING || characters + message.text.length > MAX_CHARACTERS;
      if (isFull) return false;
      ids.add(message.id);
      characters += message.text.length;
      if (message.delay === 0) becomesDue(message);
      else later(message);
      return true;
    },

    /** The message that is due for the longest time. */
    take(): Message | undefined {
      const message = due[first];
      if (message === undefined) return undefined;
      first += 1;
      if (first * 2 >= due.length) {
        due = due.slice(first);
        first = 0;
      }
      ids.delete(message.id);
      characters -= message.text.length;
      return message;
    },

    /** Forgets everything. */
    clear(): void {
      for (const timer of delayed) clearTimeout(timer);
      delayed.clear();
      ids.clear();
      due = [];
      first = 0;
      characters = 0;
    },
  };
}
