import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { changeGatewayFile } from '../../foundation/config/change-gateway-file.ts';
import { ConfigurationError } from '../../foundation/config/configuration-error.ts';
import { type GatewayFile, loadGatewayFile } from '../../foundation/config/gateway-file.ts';
import { watchGatewayFile } from '../../foundation/config/watch-gateway-file.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import { withEnabled } from './desired.ts';
import { GatewayFileError } from './errors.ts';
import type { Discovered, PluginFolders } from './plugin-folders.ts';
import type { PluginHost } from './plugin-host.ts';

/** Where the code of plugins comes from. */
type PluginCode = Pick<PluginFolders, 'load' | 'isEdited'>;

export type GatewayConfiguration = ReturnType<typeof createConfiguration>;

/** `gateway.yaml` as the desired state: what it says is made so, and what the administration changes is written to it. */
export function createConfiguration(path: string, host: PluginHost, folders: PluginCode, log: Logger) {
  const stop = new AbortController();
  let changes: Promise<unknown> = Promise.resolve();

  /** Changes the running gateway first: the file only ever says what works. */
  async function setEnabled(name: string, enabled: boolean): Promise<void> {
    const found = enabled ? await newCode(name) : undefined;
    const { drained } = await exclusively(async () => {
      // First, since what runs must not differ from a file that cannot be written.
      await asFileError(loadGatewayFile(path));
      const desired = withEnabled(host.desired, name, enabled);
      const change = await host.change({
        desired,
        restart: enabled ? [name] : [],
        found: found === undefined ? [] : [found],
      });
      await asFileError(changeGatewayFile(path, { plugins: { [name]: { enabled } } }));
      // As an object: a promise alone would be awaited on the way out.
      return { drained: change.drained };
    });
    if (!enabled) await drained;
  }

  /** The code of a plugin that does not run, when it was edited or could not be loaded. */
  async function newCode(name: string): Promise<Discovered | undefined> {
    const slot = host.slot(name);
    if (slot?.current !== undefined) return undefined;
    const isStale = slot?.plugin === undefined || (await folders.isEdited(name));
    return isStale ? folders.load(name) : undefined;
  }

  /** Reads the file anew: what the watcher saw may be older than a change that was made through the administration. */
  async function follow(): Promise<void> {
    try {
      await exclusively(async () => {
        const desired = await loadGatewayFile(path);
        const found = await Promise.all(host.lacking(desired).map((name) => folders.load(name)));
        return host.change({ desired, found: found.filter((one) => one !== undefined) });
      });
      log.info({ file: path }, 'gateway.yaml was applied');
    } catch (err) {
      if (stop.signal.aborted) return;
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
      await host.start(file);
      watchGatewayFile(
        file,
        (event) => {
          if (event.kind === 'changed') void follow();
          else log.error({ err: event.error }, 'gateway.yaml is not valid; the last good state stays');
        },
        stop.signal,
      );
    },

    enable(name: string): Promise<void> {
      return setEnabled(name, true);
    },

    /** Resolves when the plugin's calls in flight have ended, or its drain time is over. */
    disable(name: string): Promise<void> {
      return setEnabled(name, false);
    },

    /** Imports the plugin's code and sets it up anew; the old generation drains behind it. */
    async reload(name: string): Promise<void> {
      const found = await folders.load(name);
      const change = found === undefined ? { restart: [name] } : { found: [found] };
      await exclusively(() => host.change(change));
    },

    /** From now on nothing is changed any more; resolves when the change under way is done. A second call does the same. */
    async close(): Promise<void> {
      stop.abort();
      await changes;
    },
  };
}

/** @throws GatewayFileError in place of the ConfigurationError with which `work` may reject. */
async function asFileError(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    if (!(cause instanceof ConfigurationError)) throw cause;
    throw new GatewayFileError(cause.message, { cause });
  }
}
