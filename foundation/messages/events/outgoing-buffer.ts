/** Messages that wait to be sent, in order. A full buffer loses its oldest message. */
export class OutgoingBuffer {
  readonly #bound: number;
  #messages: string[] = [];

  constructor(bound: number) {
    this.#bound = bound;
  }

  get size(): number {
    return this.#messages.length;
  }

  /** Adds a message; false when the oldest one was dropped for it. */
  push(message: string): boolean {
    const hasRoom = this.#messages.length < this.#bound;
    if (!hasRoom) this.#messages.shift();
    this.#messages.push(message);
    return hasRoom;
  }

  /** Takes out the oldest `count` messages, or fewer. */
  take(count: number): string[] {
    return this.#messages.splice(0, count);
  }
}
