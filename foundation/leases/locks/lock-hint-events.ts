import Type from 'typebox';
import { defineEvent, type Events } from '../../messages/events/events.ts';
import type { LockHints } from './lock-hints.ts';

/** A lock may have become free. */
const LockFreed = defineEvent('kernel.lock-freed', Type.Object({ key: Type.String({ maxLength: 200 }) }));

/** Wakes those who wait for a lock in other replicas through the events. */
export function eventLockHints(events: Pick<Events, 'emit' | 'on'>): LockHints {
  return {
    notify: (key) => events.emit(LockFreed, { key }),
    subscribe: (listener) =>
      events.on(LockFreed, ({ key }, { origin }) => {
        // This process's own waiters know already.
        if (origin === 'remote') listener(key);
      }),
  };
}
