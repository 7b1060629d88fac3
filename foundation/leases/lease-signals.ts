import { Type } from '../base/type.ts';
import type { Events } from '../messages/events/events.ts';
import { defineEvent } from '../messages/events/events.ts';
import type { LeasePlace } from './lease-request.ts';

/**
 * Reports to other processes that a lease may have become free, or that a holder of theirs is asked to end, so that
 * they need not learn it with their next question. Signals may be late or missing; nothing depends on them but time.
 */
export interface LeaseSignals {
  freed(place: LeasePlace): void;
  revoked(ticket: string): void;
  /** Listens to the signals of other processes; the result ends that. */
  subscribe(listener: Pick<LeaseSignals, 'freed' | 'revoked'>): () => void;
}

const text = Type.String({ maxLength: 200 });
const LeaseFreed = defineEvent('kernel.lease-freed', Type.Object({ key: text, name: text }));
const LeaseRevoked = defineEvent(
  'kernel.lease-revoked',
  Type.Object({ ticket: Type.String({ maxLength: 36 }) }),
);

/** Signals by the events of the gateway. */
export function eventSignals(events: Pick<Events, 'emit' | 'on'>): LeaseSignals {
  return {
    freed: ({ key, name }) => events.emit(LeaseFreed, { key, name }),
    revoked: (ticket) => events.emit(LeaseRevoked, { ticket }),
    subscribe(listener) {
      // This process's own waiters know already.
      const ends = [
        events.on(LeaseFreed, (place, { origin }) => {
          if (origin === 'remote') listener.freed(place);
        }),
        events.on(LeaseRevoked, ({ ticket }) => listener.revoked(ticket)),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
