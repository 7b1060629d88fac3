/*
 * Collections that live as long as the process, whose members come and go with requests. A plain Map or Set keeps such
 * members for longer than they are in it: V8 links a table that has become too full to the one that takes its place,
 * for the sake of iterators. Once such a dead table has reached the old generation, so do all that come after it, with
 * whatever was a member each time that a table was replaced and with all that it refers to; only a full collection
 * frees them. Of sixteen short-lived members that are replaced in a loop that is every one. A Map that is made anew has
 * no predecessor.
 */

/** Members that leave until the table is made anew; with more members, as many as there are. */
const RENEWED_AFTER = 32;

/**
 * A Map that lives long, for values that come and go with requests: a plain one keeps them in memory until the next
 * full collection of garbage. An iteration that is under way may also show what has left since it began, and not what
 * has come.
 */
export class TransientMap<K, V> implements Iterable<[K, V]> {
  #values = new Map<K, V>();
  #left = 0;

  get size(): number {
    return this.#values.size;
  }

  has(key: K): boolean {
    return this.#values.has(key);
  }

  get(key: K): V | undefined {
    return this.#values.get(key);
  }

  set(key: K, value: V): this {
    this.#values.set(key, value);
    return this;
  }

  /** Whether there was a value. */
  delete(key: K): boolean {
    if (!this.#values.delete(key)) return false;
    this.#left += 1;
    if (this.#left >= RENEWED_AFTER && this.#left >= this.#values.size) {
      this.#values = new Map(this.#values);
      this.#left = 0;
    }
    return true;
  }

  clear(): void {
    this.#values = new Map();
    this.#left = 0;
  }

  keys(): MapIterator<K> {
    return this.#values.keys();
  }

  values(): MapIterator<V> {
    return this.#values.values();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#values.entries();
  }
}

/** The same for a Set. */
export class TransientSet<T> implements Iterable<T> {
  readonly #members = new TransientMap<T, undefined>();

  get size(): number {
    return this.#members.size;
  }

  has(member: T): boolean {
    return this.#members.has(member);
  }

  add(member: T): this {
    this.#members.set(member, undefined);
    return this;
  }

  /** Whether it was a member. */
  delete(member: T): boolean {
    return this.#members.delete(member);
  }

  clear(): void {
    this.#members.clear();
  }

  [Symbol.iterator](): MapIterator<T> {
    return this.#members.keys();
  }
}
