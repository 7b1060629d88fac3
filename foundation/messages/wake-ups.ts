import type { TSchema } from 'typebox';
import { Type } from '../base/type.ts';
import { defineEvent, type EventRef, type Events } from './events/events.ts';

/** What wake-ups travel through. */
export type WakeUpEvents = Pick<Events, 'emit' | 'on' | 'onMissed'>;

/** Made by `createWakeUps`. */
export type WakeUps = ReturnType<typeof createWakeUps>;

const Waiting = Type.Object({ name: Type.String({ maxLength: 128 }) });

/** The event under which one kind of wake-ups travels. */
export function wakeUpEvent(id: string): EventRef<{ readonly name: string }> {
  return defineEvent(id, Waiting as TSchema) as EventRef<{ readonly name: string }>;
}

/**
 * Reports to every replica that something waits in a table. A wake-up may be lost: a listener also looks from time to
 * time.
 */
export function createWakeUps(events: WakeUpEvents, event: EventRef<{ readonly name: string }>) {
  const listeners = new Map<string, Set<() => void>>();
  const wake = (name: string) => {
    for (const listener of listeners.get(name) ?? []) listener();
  };
  const undo = [
    events.on(event, ({ name }) => wake(name)),
    events.onMissed(() => {
      for (const name of listeners.keys()) wake(name);
    }),
  ];
  /** Names of this turn of the event loop: a burst is one event for each. */
  const pending = new Set<string>();
  let isClosed = false;

  function emitPending(): void {
    if (!isClosed) for (const name of pending) events.emit(event, { name });
    pending.clear();
  }

  return {
    /** Wakes the listeners of `name` here and elsewhere. */
    send(name: string): void {
      if (pending.size === 0) setImmediate(emitPending);
      pending.add(name);
    },
    /**
     * Calls `listener` when something may wait under the name, also when wake-ups may have been missed. Returns the
     * undo.
     */
    on(name: string, listener: () => void): () => void {
      const ofName = listeners.get(name) ?? new Set();
      listeners.set(name, ofName.add(listener));
      return () => {
        // A second call finds nothing, and what the name has by then is of others.
        if (ofName.delete(listener) && ofName.size === 0) listeners.delete(name);
      };
    },
    close(): void {
      isClosed = true;
      for (const end of undo) end();
      listeners.clear();
    },
  };
}
