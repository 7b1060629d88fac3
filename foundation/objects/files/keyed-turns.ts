/** Lets one work at a time on each key, in the order of arrival; keys do not wait for each other. */
export class KeyedTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does `work` when everything before it on the same key is done, also when that failed. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
