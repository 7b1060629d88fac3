import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { changeGatewayFile } from '../../foundation/config/change-gateway-file.ts';
import { ConfigurationError, describeProblem } from '../../foundation/config/configuration-error.ts';
import { changedEntries, type Desired, movedEntries, withEnabled } from '../../foundation/config/desired.ts';
import { type GatewayFile, loadGatewayFile } from '../../foundation/config/gateway-file.ts';
import { unknownInFile } from '../../foundation/config/unknown-plugins.ts';
import { watchGatewayFile } from '../../foundation/config/watch-gateway-file.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import { GatewayFileError } from './errors.ts';
import type { Discovered, PluginFolders } from './plugin-folders.ts';
import type { PluginHost } from './plugin-host.ts';

interface ConfigurationParts {
  /** Where the code of plugins comes from. */
  readonly folders: Pick<PluginFolders, 'load' | 'sources' | 'isEdited' | 'declare'>;
  /** Called when an operator enables a plugin, which may have been left out. */
  readonly forgive?: (name: string) => void;
  readonly log: Logger;
}

export type GatewayConfiguration = ReturnType<typeof createConfiguration>;

/** `gateway.yaml` as the desired state: its content is applied, and changes by the administration are written to it. */
export function createConfiguration(path: string, host: PluginHost, parts: ConfigurationParts) {
  const { folders, forgive = () => {}, log } = parts;
  const stop = new AbortController();
  let changes: Promise<unknown> = Promise.resolve();
  let isInForce = true;

  /** A warning and no more: the folder of a plugin may come later. */
  function warnOfUnknown(file: GatewayFile): void {
    const known = host.slots.all.map(({ name }) => name);
    for (const problem of unknownInFile(file, known))
      log.warn({ problem: describeProblem(problem) }, 'gateway.yaml names a plugin that no folder holds');
  }

  /** The file is written when all is set up and before it is visible: what cannot be written does not run. */
  async function setEnabled(name: string, enabled: boolean): Promise<void> {
    const found = enabled ? await newCode(name) : undefined;
    const change = {
      amend: (desired: Desired) => withEnabled(desired, name, enabled),
      ...(enabled ? { start: [name] } : { restart: [name] }),
      found: found === undefined ? [] : [found],
    };
    const entry = { plugins: { [name]: { enabled } } };
    const write = () => asFileError(changeGatewayFile(path, entry, host.desired));
    const { drained } = await host.change(change, (make) => exclusively(() => make(write)));
    if (enabled) forgive(name);
    else await drained;
  }

  /** The code of a plugin that does not run, when it was edited or could not be loaded. */
  async function newCode(name: string): Promise<Discovered | undefined> {
    const slot = host.slots.find(name);
    if (slot?.current !== undefined) return undefined;
    const isStale = slot?.plugin === undefined || (await folders.isEdited(name));
    return isStale ? folders.load(name) : undefined;
  }

  /** Reads the file again: what the watcher saw may be older than a change that was made through the administration. */
  async function follow(): Promise<void> {
    try {
      // While it is read, nothing that is not in it yet is made; set-ups may take their time.
      const { changed } = await exclusively(async () => {
        const desired = await loadGatewayFile(path, host.desired);
        warnOfUnknown(desired);
        const moved = movedEntries(host.desired, desired);
        const names = new Set([
          ...host.slots.lacking(host.desired, desired),
          ...moved.filter((name) => host.slots.mayRun(name, desired)),
        ]);
        const loaded = await Promise.all([...names].map((name) => folders.load(name, desired)));
        const found = loaded.filter((one) => one !== undefined);
        const sources = await folders.sources(desired);
        // Also of entries that led to no plugin, and are gone again.
        const missing = [...moved, ...host.slots.failed()].filter((name) => !sources.has(name));
        const gone = missing.filter((name) => !host.slots.isBundled(name));
        const entries = changedEntries(host.desired, desired);
        const change = host.change({ desired, found, gone }, (make) =>
          exclusively(async () => {
            const edited = changedEntries(desired, await loadGatewayFile(path));
            if (entries.some((name) => edited.includes(name))) throw new Outdated();
            return make();
          }),
        );
        return { changed: change.then(() => folders.declare(host.desired)) };
      });
      await changed;
      isInForce = true;
      log.info({ file: path }, 'gateway.yaml was applied');
    } catch (err) {
      if (stop.signal.aborted) return;
      if (err instanceof Outdated) return follow();
      isInForce = false;
      log.error({ err, file: path }, 'gateway.yaml could not be applied; everything runs as before');
    }
  }

  /** The running state and the file change together, one change after the other. */
  function exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = changes.then(() => {
      // A plugin that was started now would outlive the gateway.
      if (stop.signal.aborted) throw KernelErrors.draining();
      return work();
    });
    changes = result.catch(() => {});
    return result;
  }

  return {
    /** Starts the plugins as `file` says, and follows it from then on. */
    async start(file: GatewayFile): Promise<void> {
      warnOfUnknown(file);
      await host.start(file);
      watchGatewayFile(
        file,
        (event) => {
          if (event.kind === 'changed') return void follow();
          isInForce = false;
          log.error({ err: event.error }, 'gateway.yaml is not valid; the last good state stays');
        },
        stop.signal,
        { inForce: () => host.desired },
      );
    },

    /** False where the file says what could not be applied. */
    isInForce: () => isInForce,

    enable: (name: string): Promise<void> => setEnabled(name, true),

    /** Resolves when the plugin's calls in flight have ended, or its drain time is over. */
    disable: (name: string): Promise<void> => setEnabled(name, false),

    /** Imports the plugin's code and sets it up again; the old generation drains behind it. */
    async reload(name: string): Promise<void> {
      const found = await folders.load(name);
      const change = found === undefined ? { restart: [name] } : { found: [found] };
      await host.change(change);
    },

    /** From now on nothing is changed any more; resolves when the change under way is done. May be called again. */
    async close(): Promise<void> {
      stop.abort();
      await changes;
    },
  };
}

/** gateway.yaml says something else by now than what a change was prepared for. */
class Outdated extends Error {}

/** @throws GatewayFileError in place of the ConfigurationError with which `work` may reject. */
async function asFileError(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    if (!(cause instanceof ConfigurationError)) throw cause;
    throw new GatewayFileError(cause.message, { cause });
  }
}
