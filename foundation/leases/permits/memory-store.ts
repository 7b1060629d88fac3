import type { PermitStore } from './permit-store.ts';

interface Holder {
  readonly ticket: string;
  readonly note: string;
}

/** The form for a single process: holders live as long as the process, so there is nothing to renew or to expire. */
export function createMemoryStore(): PermitStore {
  const keys = new Map<string, Map<string, Holder>>();
  return {
    isLeased: false,
    async take({ key, name, ticket, note, limit }) {
      const holders = keys.get(key);
      if (holders?.has(name)) return 'held';
      if ((holders?.size ?? 0) >= limit) return 'full';
      if (holders === undefined) keys.set(key, new Map([[name, { ticket, note }]]));
      else holders.set(name, { ticket, note });
      return 'granted';
    },
    async renew({ key, name, ticket }) {
      return keys.get(key)?.get(name)?.ticket === ticket ? 'held' : 'gone';
    },
    async release({ key, name, ticket }) {
      const holders = keys.get(key);
      if (holders?.get(name)?.ticket !== ticket) return;
      holders.delete(name);
      if (holders.size === 0) keys.delete(key);
    },
    // Nothing to mark: the holder is in this process and is told at once.
    revoke: async ({ key, name }) => keys.get(key)?.get(name)?.ticket,
    async find({ key, name }) {
      const holder = keys.get(key)?.get(name);
      return holder && { note: holder.note };
    },
    async close() {},
  };
}
