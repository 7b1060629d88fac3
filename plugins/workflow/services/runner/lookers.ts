/** Those who wait until somebody has looked at one run. They are told together, each once; who comes after that waits for the next look. */
export class Lookers {
  #waiting: ((hasLooked: boolean) => void)[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Whether what was due could be done. Never rejects. */
  wait(): Promise<boolean> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  tell(hasLooked: boolean): void {
    if (this.isEmpty) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const told of waiting) told(hasLooked);
  }
}
