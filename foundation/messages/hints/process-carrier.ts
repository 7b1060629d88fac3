import type { Carrier, Hands, Message } from './create-hints.ts';

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

/** Messages of one queue that wait, the delayed ones included. */
const MAX_WAITING = 10_000;
/** Characters of their payloads: with the greatest payloads, the number alone would not be much of a bound. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** What waits in the memory of this process for one queue: first in, first out, each id once. */
class WaitingLine {
  readonly #onDue: () => void;
  readonly #ids = new Set<string>();
  readonly #delayed = new Set<NodeJS.Timeout>();
  #due: Message[] = [];
  /** Where in `#due` the first one is. */
  #first = 0;
  #characters = 0;

  /** @param onDue called when there is something to take */
  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  /** False when there is no room. A message whose id waits already is dropped, with true: the other one stands for it. */
  add(message: Message): boolean {
    if (this.#ids.has(message.id)) return true;
    const isFull = this.#ids.size >= MAX_WAITING || this.#characters + message.text.length > MAX_CHARACTERS;
    if (isFull) return false;
    this.#ids.add(message.id);
    this.#characters += message.text.length;
    if (message.delay === 0) this.#becomesDue(message);
    else this.#later(message);
    return true;
  }

  /** The message that is due for the longest time. */
  take(): Message | undefined {
    const message = this.#due[this.#first];
    if (message === undefined) return undefined;
    this.#first += 1;
    if (this.#first * 2 >= this.#due.length) {
      this.#due = this.#due.slice(this.#first);
      this.#first = 0;
    }
    this.#ids.delete(message.id);
    this.#characters -= message.text.length;
    return message;
  }

  /** Forgets everything. */
  clear(): void {
    for (const timer of this.#delayed) clearTimeout(timer);
    this.#delayed.clear();
    this.#ids.clear();
    this.#due = [];
    this.#first = 0;
    this.#characters = 0;
  }

  #becomesDue(message: Message): void {
    this.#due.push(message);
    this.#onDue();
  }

  #later(message: Message): void {
    const timer = setTimeout(() => {
      this.#delayed.delete(timer);
      this.#becomesDue(message);
    }, message.delay);
    // A hint is no reason for a process to stay.
    timer.unref();
    this.#delayed.add(timer);
  }
}
