import type { ExecutionContext } from 'ava';
import type { RunPlace } from '../../../../../plugins/workflow/contract.ts';
import type { NewEvent } from '../../../../../plugins/workflow/services/core/commands.ts';
import type { RunStore } from '../../../../../plugins/workflow/services/ports/run-store.ts';

/** A store under test, empty. */
export interface Subject {
  readonly store: RunStore;
  /** Milliseconds on the store's clock. */
  now(): Promise<number>;
  /** All events of a run as they were stored, oldest first. */
  events(place: RunPlace): Promise<readonly NewEvent[]>;
  /** Lets time pass on the store's clock until the condition holds; rejects when it does not within seconds. */
  eventually(condition: () => Promise<boolean>): Promise<void>;
}

/** Defines one test: a title, and what is done with a store of its own. */
export type Define = (title: string, run: (t: ExecutionContext, subject: Subject) => Promise<void>) => void;
