import type { Clock } from '../../foundation/base/clock.ts';
import { messageOf } from '../../foundation/base/failure.ts';
import { StateHistory } from '../../foundation/base/state-history.ts';
import { placeOf } from '../../foundation/code/error-place.ts';
import type { Rest } from '../../foundation/config/desired.ts';
import type { Logging } from '../../foundation/observability/logger.ts';
import type { Plugin } from '../api/plugin.ts';
import type { Discovered } from './plugin-folders.ts';
import type { PluginInstance } from './plugin-instance.ts';

/** Where a plugin stands (DESIGN 3). */
export type PluginState = 'declared' | 'waiting' | 'starting' | 'active' | 'draining' | 'stopped' | 'failed';

/** A failure that the operator should see. */
interface LastError {
  readonly message: string;
  readonly at: Date;
}

/** One plugin of the deployment, whether it runs or not. */
export class Slot {
  readonly name: string;
  folder: string;
  /** What runs, or would; absent when `plugin.ts` could not be loaded. */
  plugin: Plugin | undefined;
  /** How often the code of `plugin` had been imported before; `undefined` for one that is no folder's. */
  generation: number | undefined;
  readonly status: StateHistory<PluginState>;
  /** The generation that serves. */
  current: PluginInstance | undefined;
  startedAt: Date | undefined;
  /** Milliseconds that the latest start took. */
  startMilliseconds: number | undefined;
  lastError: LastError | undefined;
  /** What a stop leads to: `stopped`, or `waiting` for what it needs. */
  rest: Rest = { state: 'stopped', reason: 'stopped' };
  /** What could not be undone at the latest stop. */
  leaks: readonly string[] = [];
  readonly #now: () => number;
  readonly #shown: (text: string) => string;

  constructor(
    { name, folder }: { readonly name: string; readonly folder: string },
    { clock, logging }: { readonly clock: Clock; readonly logging: Pick<Logging, 'withoutSecrets'> },
  ) {
    this.name = name;
    this.folder = folder;
    this.#now = () => clock.now();
    this.#shown = logging.withoutSecrets;
    this.status = new StateHistory(this.#now, 'declared', `found in ${folder}`);
  }

  /** Takes the code that was found for what runs, or would. */
  hold(found: Extract<Discovered, { plugin: Plugin }>): void {
    this.folder = found.folder;
    this.plugin = found.plugin;
    this.generation = found.generation;
  }

  /** Notes a failure; the state changes only when nothing of the plugin serves. */
  fail(cause: unknown): void {
    const place = placeOf(cause, this.folder);
    const said = messageOf(cause);
    // A plugin may say anything: what is shown holds no credential, like the log.
    const message = this.#shown(place === undefined || said.includes(place) ? said : `${said} (${place})`);
    this.lastError = { message, at: new Date(this.#now()) };
    if (this.current === undefined) this.status.set('failed', message);
  }

  /** Notes that it is not started, since it ended the process again and again, at `last` for the last time. */
  leaveOut(last: Date): void {
    const times = `three times within ten minutes, at last ${last.toISOString()}`;
    this.fail(
      new Error(
        `left out: errors that it did not handle ended the process ${times}; enable it to try it again`,
      ),
    );
  }

  /** Notes why the plugin does not run; while it drains, that comes afterwards. */
  settle(rest: Rest): void {
    this.rest = rest;
    if (this.status.state !== 'draining') this.status.set(rest.state, rest.reason);
  }

  started(instance: PluginInstance, milliseconds: number, reason: string): void {
    this.current = instance;
    this.startedAt = new Date(this.#now());
    this.startMilliseconds = milliseconds;
    this.lastError = undefined;
    this.status.set('active', reason);
  }
}
