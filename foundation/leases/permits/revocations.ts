import Type from 'typebox';
import { defineEvent, type Events } from '../../messages/events/events.ts';

/**
 * Tells other processes that a holder of theirs is asked to end, so that he need not learn it with his next renewal. Messages may be late
 * or missing; nothing depends on them but time.
 */
export interface Revocations {
  notify(ticket: string): void;
  /** Calls the listener with the tickets that other processes tell; the result ends that. */
  subscribe(listener: (ticket: string) => void): () => void;
}

/** A holder is asked to end. */
const PermitRevoked = defineEvent(
  'kernel.permit-revoked',
  Type.Object({ ticket: Type.String({ maxLength: 36 }) }),
);

/** Revocations by the kernel's events. */
export function eventRevocations(events: Pick<Events, 'emit' | 'on'>): Revocations {
  return {
    notify: (ticket) => events.emit(PermitRevoked, { ticket }),
    subscribe: (listener) => events.on(PermitRevoked, ({ ticket }) => listener(ticket)),
  };
}
