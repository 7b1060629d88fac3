import { TransientMap } from '../base/transient.ts';
import type { LeaseStore, LeaseTicket } from './lease-store.ts';
import type { LeaseRefusal } from './leases.ts';

/** The store of a single process, whose own line is the only one. Holders live as long as it does: nothing expires. */
export function createMemoryStore(): LeaseStore {
  const keys = new TransientMap<
    string,
    TransientMap<string, { readonly id: string; readonly note: string }>
  >();
  function takeNow({ key, name, id, note, limit }: LeaseTicket): 'granted' | LeaseRefusal {
    const holders = keys.get(key) ?? new TransientMap();
    const holder = holders.get(name);
    if (holder !== undefined) return holder.id === id ? 'granted' : 'held';
    if (holders.size >= limit) return 'full';
    keys.set(key, holders.set(name, { id, note }));
    return 'granted';
  }

  return {
    isLeased: false,
    takeNow,
    take: async (ticket) => takeNow(ticket),
    renew: async ({ key, name, id }) => (keys.get(key)?.get(name)?.id === id ? 'held' : 'gone'),
    async release({ key, name, id }) {
      const holders = keys.get(key);
      if (holders?.get(name)?.id !== id) return false;
      holders.delete(name);
      if (holders.size === 0) keys.delete(key);
      return false;
    },
    // Nothing to mark: the holder is in this process and is notified at once.
    revoke: async ({ key, name }) => keys.get(key)?.get(name)?.id,
    async find({ key, name }) {
      const holder = keys.get(key)?.get(name);
      return holder && { note: holder.note };
    },
    list: async (key) => [...(keys.get(key) ?? [])].map(([name, { note }]) => ({ name, note })),
  };
}
