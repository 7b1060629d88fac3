import { placeOf } from '../../foundation/code/error-place.ts';
import type { Plugin } from '../../kernel/api/plugin.ts';
import type { ConformanceOptions } from './options.ts';

/** Thrown by a check: what the plugin does wrong, a line each. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError';
}

/** The plugin does not run in the gateway of a check: there is nothing to check. */
export class NotRunning extends ConformanceError {}

/** What is checked, and what the checks have found out that concerns the later ones. */
export interface Subject {
  readonly plugin: Plugin;
  readonly options: ConformanceOptions;
  /** The URL of a server; `undefined`: SQLite. */
  readonly server: string | undefined;
  /** Routes and methods that did not answer in time: that is reported, and they are not called again. */
  readonly silent: Set<string>;
  /** Whether it was reported that the plugin does not run. */
  isIdle: boolean;
}

/** ` (routes/items.ts:12)`: the line of the plugin's code from which an error comes; empty where it cannot be known. */
export function placed(error: unknown, { folder }: Pick<ConformanceOptions, 'folder'>): string {
  const place = folder === undefined ? undefined : placeOf(error, folder);
  return place === undefined ? '' : ` (${place})`;
}

/** The first line of what went wrong. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0]!;
}
