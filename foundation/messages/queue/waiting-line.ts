import type { Message } from './message.ts';

/** Messages of one queue that wait, the delayed ones included. */
const MAX_WAITING = 10_000;
/** Characters of their payloads: with the greatest payloads, the number alone would not be much of a bound. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** What waits in the memory of this process for one queue: first in, first out, each id once. */
export class WaitingLine {
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
