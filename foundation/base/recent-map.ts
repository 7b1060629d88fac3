import { LRUCache } from 'lru-cache';

/**
 * A map of at most so many entries, those that were used last. Given `max`, lru-cache makes room for all of them at once: megabytes and milliseconds
 * for each map at every start of a gateway, most of which never hold a hundredth of it. This one grows with what it holds.
 */
export function recentMap<V extends {}>(most: number): LRUCache<string, V> {
  return new LRUCache({ maxSize: most, sizeCalculation: () => 1 });
}
