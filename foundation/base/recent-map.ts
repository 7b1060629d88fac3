import { LRUCache } from 'lru-cache';

/** A map that forgets what was not used for longest. */
export interface RecentMap<V> {
  /** Counts as a use. */
  get(key: string): V | undefined;
  has(key: string): boolean;
  set(key: string, value: V): unknown;
  delete(key: string): boolean;
  clear(): void;
  /** Newest use first. Does not count as a use. */
  entries(): Iterable<readonly [string, V]>;
}

/**
 * A map of at most `most` entries, those that were used last. It takes memory for what it holds: lru-cache makes room
 * for all of its `max` at once, which is megabytes and milliseconds at every start for maps that hardly ever hold a
 * hundredth of it.
 */
export function recentMap<V extends {}>(most: number): RecentMap<V> {
  return new LRUCache<string, V>({ maxSize: most, sizeCalculation: () => 1 });
}
