import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { placeOf } from '../../foundation/code/error-place.ts';
import type { Plugin } from '../../kernel/api/plugin.ts';

/** What keeps a process busy, by the names that Node has for it. */
const KINDS: Readonly<Record<string, string>> = {
  Timeout: 'a timer',
  TCPSERVERWRAP: 'a server that listens',
  PIPESERVERWRAP: 'a server that listens',
  TCPWRAP: 'a connection',
  PIPEWRAP: 'a pipe',
  TLSWRAP: 'a connection',
  UDPWRAP: 'a UDP socket',
  PROCESSWRAP: 'a child process',
  WORKER: 'a worker thread',
  FSEVENTWRAP: 'a file watcher',
  STATWATCHER: 'a file watcher',
  SIGNALWRAP: 'a listener of a signal',
};
/** Frames of a stack that are looked at. */
const DEPTH = 50;
const GATEWAY = fileURLToPath(new URL('../..', import.meta.url));
/**
 * The gateway's own code, and the libraries of its connections: their timers come and go with the load, no matter which
 * plugin's code calls them.
 */
const OWN = new RegExp(
  `${RegExp.escape(GATEWAY)}(?:kernel|foundation|testing)/|node_modules/(?:pg|pg-pool|mariadb|ioredis|bullmq|kysely|undici|@mikro-orm)/|node:internal/deps/undici`,
);

interface Handle {
  readonly what: string;
  readonly place: string | undefined;
  readonly resource: WeakRef<object>;
}

/** The handles that a plugin began and did not end. */
export interface LeftHandles extends Disposable {
  /** The plugin, whose set-ups are watched. */
  readonly plugin: Plugin;
  /** Those that keep the process busy now, a sentence each. */
  list(): readonly string[];
}

/**
 * Watches the handles that a plugin begins: in its set-up and all async work that follows from it, or on a line of its
 * folder. Other handles of the process do not count: the pool of PostgreSQL, say, arms a timer for each idle
 * connection.
 */
export function watchHandles(plugin: Plugin, folder: string | undefined): LeftHandles {
  const inSetup = new AsyncLocalStorage<true>();
  const handles = new Map<number, Handle>();
  const hook = createHook({
    trackPromises: false,
    init(id, type, _, resource) {
      const what = KINDS[type];
      if (what === undefined) return;
      const error = stackOf();
      const place = folder === undefined ? undefined : placeOf(error, folder);
      if (!isOf(error.stack ?? '', folder, place, inSetup.getStore() === true)) return;
      handles.set(id, { what, place, resource: new WeakRef(resource) });
    },
    destroy: (id) => void handles.delete(id),
  }).enable();
  return {
    plugin: { ...plugin, setup: (scope, needs) => inSetup.run(true, () => plugin.setup(scope, needs)) },
    list: () =>
      [...handles.values()]
        .filter(({ resource }) => keepsBusy(resource.deref()))
        .map(
          ({ what, place }) => `after its stop ${what} is left${place === undefined ? '' : ` (${place})`}`,
        ),
    [Symbol.dispose]: () => void hook.disable(),
  };
}

function stackOf(): Error {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = DEPTH;
  try {
    return new Error('a handle');
  } finally {
    Error.stackTraceLimit = before;
  }
}

/** Whether the plugin's code came before any of the gateway's, seen from where the handle was made. */
function isOf(stack: string, folder: string | undefined, place: string | undefined, isInSetup: boolean) {
  const frames = stack.split('\n').filter((line) => line.includes(' at ') || line.includes('at file:'));
  const outer = frames.filter((line) => !line.includes(`${path.sep}left-handles.ts`));
  const own = outer.findIndex((line) => OWN.test(line));
  const theirs = place === undefined ? -1 : outer.findIndex((line) => line.includes(folder!));
  if (theirs >= 0) return own < 0 || theirs < own;
  return isInSetup && own < 0;
}

/** A handle without a reference lets the process end. */
function keepsBusy(resource: object | undefined): boolean {
  if (resource === undefined) return false;
  const { hasRef } = resource as { hasRef?: () => boolean };
  return hasRef === undefined || hasRef.call(resource);
}
