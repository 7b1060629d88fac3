import { KeyedMutex } from '../../foundation/base/semaphore.ts';
import { type FolderEvent, watchSources } from '../../foundation/code/watch-sources.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import type { PluginFolders } from './plugin-folders.ts';
import type { PluginHost } from './plugin-host.ts';

/** What following the plugin folders needs. */
export interface HotPluginsOptions {
  readonly folders: PluginFolders;
  readonly host: PluginHost;
  /** `SVC_WATCH_PLUGINS`: saved code is reloaded automatically. */
  readonly watchCode: boolean;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** What is done about each event, for the log. */
const DONE = { found: 'added', edited: 'reloaded', gone: 'stopped, though its folder is gone' } as const;

/**
 * Follows the plugin folders while the gateway runs: a new folder's plugin is started, one whose folder is gone is
 * stopped. Saved code is reloaded with `watchCode`, and without it only where a failed plugin has nothing running.
 */
export function followPluginFolders({ folders, host, watchCode, log, signal }: HotPluginsOptions): void {
  const turns = new KeyedMutex();
  /** Plugins that could not come, by name, with the names that they had before: one of those may be about to go. */
  const heirs = new Map<string, readonly string[]>();
  const handle = async ({ kind, name }: FolderEvent) => {
    try {
      if (kind === 'gone') {
        // What gateway.yaml names stays until it is taken out there: npm puts the folder aside while it installs.
        if ((await folders.sources()).has(name) || host.slots.find(name) === undefined) return;
        await host.change({ gone: [name] });
        log.info({ plugin: name }, 'a plugin was stopped: its folder is gone');
        for (const [heir, formerly] of heirs) {
          if (formerly.includes(name)) void handleLater({ kind: 'found', name: heir });
        }
        return;
      }
      // What gateway.yaml names was loaded with it.
      if (host.slots.find(name)?.current !== undefined && !(await folders.isEdited(name))) return;
      const found = await folders.load(name);
      if (found === undefined) return;
      heirs.set(name, ('plugin' in found && found.plugin.formerly) || []);
      await host.change({ found: [found] });
      heirs.delete(name);
      log.info({ plugin: name, folder: found.folder }, `a plugin was ${DONE[kind]}`);
    } catch (err) {
      if (!signal.aborted)
        log.error({ err, plugin: name }, `a plugin could not be ${DONE[kind]}; everything runs as before`);
    }
  };
  // Plugins do not wait for each other: one may hang.
  const handleLater = async (event: FolderEvent) => void turns.run(event.name, () => handle(event));
  const isFailed = (name: string) => host.slots.find(name)?.status.state === 'failed';
  watchSources({ folders, code: watchCode, follows: isFailed, handle: handleLater, log, signal });
}
