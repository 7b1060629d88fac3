import type { TSchema } from 'typebox';
import Type from 'typebox';
import { defineEvent, type EventRef, type Events } from './events/events.ts';

/** What wake-ups travel through. */
export type WakeUpEvents = Pick<Events, 'emit' | 'on' | 'onMissed'>;

/** Reports to every replica that something waits in a table. A wake-up may be lost: who waits for one also looks from time to time. */
export interface WakeUps {
  /** Wakes the listeners of `name` here and elsewhere. */
  send(name: string): void;
  /** Calls `listener` when something may wait under the name, also when wake-ups may have been missed. Returns the undo. */
  on(name: string, listener: () => void): () => void;
  close(): void;
}

/** Wake-ups of one name that come within so many milliseconds are one event. */
const TOGETHER_MS = 5;

const Waiting = Type.Object({ name: Type.String({ maxLength: 128 }) });

/** The event under which one kind of wake-ups travels. */
export function wakeUpEvent(id: string): EventRef<{ readonly name: string }> {
  return defineEvent(id, Waiting as TSchema) as EventRef<{ readonly name: string }>;
}

export function createWakeUps(events: WakeUpEvents, event: EventRef<{ readonly name: string }>): WakeUps {
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
  /** Names that wait for the end of the pause. */
  const pending = new Set<string>();
  let pause: NodeJS.Timeout | undefined;

  function emitPending(): void {
    pause = undefined;
    if (pending.size === 0) return;
    for (const name of pending) events.emit(event, { name });
    pending.clear();
    pause = setTimeout(emitPending, TOGETHER_MS);
  }

  return {
    send(name) {
      pending.add(name);
      if (pause === undefined) emitPending();
    },
    on(name, listener) {
      const ofName = listeners.get(name) ?? new Set();
      listeners.set(name, ofName.add(listener));
      return () => {
        ofName.delete(listener);
        if (ofName.size === 0) listeners.delete(name);
      };
    },
    close() {
      clearTimeout(pause);
      for (const end of undo) end();
      listeners.clear();
    },
  };
}
