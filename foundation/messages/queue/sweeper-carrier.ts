import type { Carrier } from './carrier.ts';

/** Carries nothing: work is found by the sweepers of its consumers alone. */
export function createSweeperCarrier(): Carrier {
  return {
    form: 'sweeper',
    delivers: false,
    send: async () => 'none',
    receive: () => ({ stop: () => undefined, end: async () => undefined }),
    close: async () => undefined,
  };
}
