import { setTimeout as pause } from 'node:timers/promises';
import { endsWithin, within } from '../foundation/base/deadline.ts';
import { InFlight } from '../foundation/base/in-flight.ts';
import type { CrashRecord } from '../foundation/code/crash-record.ts';
import { type GatewayFile, loadGatewayFile } from '../foundation/config/gateway-file.ts';
import { requireKnown } from '../foundation/config/unknown-plugins.ts';
import { watchLoop } from '../foundation/observability/loop-watch.ts';
import { createPluginMetrics } from '../foundation/observability/plugin-metrics.ts';
import { openInfrastructure } from '../foundation/open-infrastructure.ts';
import type { Plugin } from './api/plugin.ts';
import type { KernelServices } from './api/services.ts';
import { pluginRoutes, pluginStatus } from './host/admin-routes.ts';
import { gatewayAddress } from './host/gateway-address.ts';
import { createConfiguration } from './host/gateway-configuration.ts';
import { followPluginFolders } from './host/hot-plugins.ts';
import { jobRoutes } from './host/job-routes.ts';
import { withNeeded } from './host/needed-plugins.ts';
import { type Discovered, PluginFolders, pluginsOf, type Unloaded } from './host/plugin-folders.ts';
import { PluginHost } from './host/plugin-host.ts';
import { warnOfUnread } from './host/unread-contributions.ts';
import { compileRoute } from './http/compiled-route.ts';
import { readinessRoute } from './http/kernel-routes.ts';
import { type Kernel, type KernelOptions, openKernel, type Phase } from './open-kernel.ts';
import { BUNDLED_PLUGINS, VERSION } from './version.ts';

/** Milliseconds after the drain within which plugins and services are closed where everything answers. */
const CLOSING = 6_000;

/** What a gateway is started with. */
export interface GatewayOptions extends KernelOptions {
  /** Instead of the bundled plugins and those of `SVC_PLUGIN_DIRS`; for tests. */
  readonly plugins?: readonly Plugin[];
  /** Where the code of such a plugin lies, for the file and line of what it does wrong; for tests. */
  readonly codeOf?: (plugin: Plugin) => string | undefined;
  /** Folders of plugins, also in addition to `plugins`; for tests. */
  readonly pluginFolders?: readonly string[];
  /** Plugins that ended processes before this one. */
  readonly crashes?: CrashRecord;
  /** Milliseconds that a plugin's set-up may take; for tests. Default 30,000. */
  readonly setupTimeout?: number;
}

/** A running gateway. */
export interface Gateway {
  /** Where the API answers, with the real port. */
  readonly url: string;
  /** True when the API has this path now. */
  serves(path: string): boolean;
  /** Where gRPC answers, as `host:port` with the real port; `undefined` while no plugin has a service. */
  grpcAddress(): string | undefined;
  readonly services: KernelServices;
  readonly host: PluginHost;
  /**
   * Ends it: not ready, clients are asked to leave for `SVC_STOP_DELAY`, no new connections, what is in flight finishes
   * within `SVC_DRAIN_TIMEOUT`, the rest is aborted, plugins stop, audit is written. A second call waits for the first.
   */
  stop(): Promise<void>;
}

/**
 * Starts a gateway: the kernel is opened, plugins are set up, and what they contribute is served.
 *
 * @throws the problem that prevents the start, worded for the operator; what was opened until then is closed.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const phase: Phase = {
    isServing: false,
    hasStarted: false,
    drainLeft: 0,
    closesBy: Number.POSITIVE_INFINITY,
  };
  // Closed in reverse order, at the end or when the start fails.
  await using opened = new AsyncDisposableStack();
  const file = await loadGatewayFile(options.settings.configFile);
  // Plugins are imported while the servers that the gateway needs are asked for connections.
  const code = findPlugins(options, file);
  code.found.catch(() => {});
  const infrastructure = await openInfrastructure(
    { ...options, version: VERSION },
    opened,
    () => phase.closesBy,
  );
  const kernel = await openKernel(options, infrastructure, phase, opened);
  const host = openHost(options, kernel, { folders: code.folders, found: await code.found, file });
  const serving = await serve(options, kernel, host, file, phase, opened);
  const closing = opened.move();
  let stopping: Promise<void> | undefined;
  return {
    ...serving,
    services: kernel.services,
    host: host.plugins,
    stop: () => {
      stopping ??= stop(options, kernel, host, phase, closing);
      return stopping;
    },
  };
}

/** Where plugins lie that a test gives as values. */
const GIVEN = 'the test';

/** The plugins of the folders, those that shall not run excepted; a test's plugins come as values. */
function findPlugins(
  { settings, plugins, codeOf, pluginFolders, crashes }: GatewayOptions,
  file: GatewayFile,
) {
  const isGiven = plugins !== undefined || pluginFolders !== undefined;
  const folders = isGiven ? new PluginFolders(pluginFolders ?? [], settings) : PluginFolders.of(settings);
  const given = (plugins ?? []).map((plugin) => ({
    name: plugin.name,
    folder: codeOf?.(plugin) ?? GIVEN,
    plugin,
  }));
  const loading = folders.loadAll(file, settings.plugins, crashes?.leftOut());
  const found = loading.then((loaded) => {
    const all = [...given, ...loaded];
    requireKnown(settings.plugins, all);
    return all;
  });
  return { folders, found };
}

/** The plugins that were found, and their code. */
interface Code {
  readonly folders: PluginFolders;
  readonly found: readonly (Discovered | Unloaded)[];
  readonly file: GatewayFile;
}

type Host = ReturnType<typeof openHost>;

/** The plugin host, with nothing started yet. */
function openHost(
  { settings, env, setupTimeout, crashes }: GatewayOptions,
  kernel: Kernel,
  { folders, found, file }: Code,
) {
  const { log, metrics } = kernel;
  const loaded = pluginsOf(found);
  const only = withNeeded(settings.plugins ?? [], loaded).names;
  const address = gatewayAddress({ settings, plugins: loaded, file, only, env });
  const plugins = new PluginHost(found, {
    ...kernel,
    env,
    address: address.own,
    only,
    isBundled: (folder) => folder === GIVEN || folder.startsWith(BUNDLED_PLUGINS),
    ...(crashes && { leftOut: crashes.leftOut() }),
    drainTimeout: settings.drainTimeout,
    ...(setupTimeout === undefined ? {} : { setupTimeout }),
    metricsFor: (plugin) => createPluginMetrics(metrics.registry, plugin),
  });
  kernel.degraded.read = () => plugins.slots.degraded();
  kernel.states.read = () => plugins.slots.all.map((slot) => pluginStatus(slot, plugins.desired, VERSION));
  const forgive = (name: string) => crashes?.forgive(name);
  const configuration = createConfiguration(settings.configFile, plugins, { folders, forgive, log });
  metrics.watchPlugins({
    degraded: () => plugins.slots.degraded().map(({ name }) => name),
    generations: () => folders.generations(),
    isFileInForce: configuration.isInForce,
  });
  return { plugins, configuration, folders, address, following: new AbortController() };
}

/** Opens the gateway's address, starts the plugins and follows their folders: from here on it is ready. */
async function serve(
  { settings }: GatewayOptions,
  { listeners, grpc, publication, resources, jobs, readiness, log }: Kernel,
  { plugins, configuration, folders, address, following }: Host,
  file: GatewayFile,
  phase: Phase,
  opened: AsyncDisposableStack,
): Promise<Pick<Gateway, 'url' | 'serves' | 'grpcAddress'>> {
  opened.defer(async () => {
    following.abort();
    await configuration.close();
    await plugins.stop(phase.drainLeft);
    listeners.destroy();
    // Calls that were aborted just now have their status on the way, behind messages that the client still takes.
    await endsWithin(250, grpc.close());
    grpc.destroy();
    await listeners.close();
  });
  const own = [
    readinessRoute(readiness),
    ...pluginRoutes(plugins, configuration, VERSION),
    ...jobRoutes(jobs.administration),
  ];
  if (address.own !== undefined) {
    await listeners.open(address.own, address.owner, true);
    await publication.addKernelRoutes(
      address.own,
      own.map((route) => compileRoute(route, 'kernel', new InFlight())),
    );
  }
  await configuration.start(file);
  resources.started();
  warnOfUnread(plugins.slots.all, log);
  const { signal } = following;
  watchLoop(log, () => plugins.slots.busy(), signal);
  followPluginFolders({ folders, host: plugins, watchCode: settings.watchPlugins, log, signal });
  phase.isServing = true;
  phase.hasStarted = true;
  return {
    url: listeners.url(address.main),
    serves: (path) => listeners.routes().some(({ pattern }) => pattern === path),
    grpcAddress: () => grpc.address,
  };
}

/** See `Gateway.stop`. */
async function stop(
  { settings }: GatewayOptions,
  { listeners, grpc, clock, log }: Kernel,
  { plugins, configuration, following }: Host,
  phase: Phase,
  closing: AsyncDisposableStack,
): Promise<void> {
  phase.isServing = false;
  listeners.leave();
  following.abort();
  void configuration.close();
  if (settings.stopDelay > 0) await pause(settings.stopDelay);
  const until = clock.monotonic() + settings.drainTimeout;
  // Background work ends in parallel with the requests, so that a long stream does not use up its time. `plugins.stop`
  // waits for what still runs when the requests have ended, in the rest of that time and before any plugin ends.
  plugins.drain(settings.drainTimeout);
  const ended = Promise.all([listeners.close(), grpc.close()]);
  await within(settings.drainTimeout, 'the requests in flight', ended).catch((err: unknown) =>
    log.warn({ err }, 'what is still in flight is aborted'),
  );
  phase.drainLeft = Math.max(0, until - clock.monotonic());
  phase.closesBy = clock.monotonic() + phase.drainLeft + CLOSING;
  await closing.disposeAsync();
}
