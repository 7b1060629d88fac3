import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { messageOf } from '../foundation/base/failure.ts';
import { InFlight } from '../foundation/base/in-flight.ts';
import type { Offer } from '../foundation/base/offers.ts';
import type { DoubtfulSettings } from '../foundation/code/doubts.ts';
import { ConfigurationError, describeProblem } from '../foundation/config/configuration-error.ts';
import { describeConfig } from '../foundation/config/describe-config.ts';
import { entryOf, restOf } from '../foundation/config/desired.ts';
import { type GatewayFile, loadGatewayFile } from '../foundation/config/gateway-file.ts';
import type { KernelSettings } from '../foundation/config/kernel-settings.ts';
import type { Environment } from '../foundation/config/read-config.ts';
import { unknownInFile, unknownInVariable } from '../foundation/config/unknown-plugins.ts';
import type { Registration } from '../foundation/data/database.ts';
import { kernelRegistrations } from '../foundation/gateway-tables.ts';
import type { Address } from '../foundation/http/address.ts';
import { createLogger } from '../foundation/observability/logger.ts';
import { createPluginMetrics } from '../foundation/observability/plugin-metrics.ts';
import { createReadiness } from '../foundation/observability/readiness.ts';
import { type Infrastructure, openInfrastructure } from '../foundation/open-infrastructure.ts';
import type { FileReport } from '../foundation/resources/resources.ts';
import type { Deployment } from '../kernel/api/deployment.ts';
import type { Plugin } from '../kernel/api/plugin.ts';
import { DoubtfulSettingsPoint, ObjectStoresPoint } from '../kernel/api/points.ts';
import type { Route } from '../kernel/api/route.ts';
import { openAuthentication } from '../kernel/auth/open-authentication.ts';
import { pluginRoutes, pluginStatus } from '../kernel/host/admin-routes.ts';
import { PluginChangeError } from '../kernel/host/errors.ts';
import { createConfiguration } from '../kernel/host/gateway-configuration.ts';
import { jobRoutes } from '../kernel/host/job-routes.ts';
import { withNeeded } from '../kernel/host/needed-plugins.ts';
import { readSettings, registrationOf } from '../kernel/host/plugin-configuration.ts';
import { PluginFolders, pluginsOf } from '../kernel/host/plugin-folders.ts';
import { PluginHost } from '../kernel/host/plugin-host.ts';
import { createPublication, type Publication, type PublicationParts } from '../kernel/host/publication.ts';
import { type CompiledRoute, compileRoute } from '../kernel/http/compiled-route.ts';
import { kernelRoutes, readinessRoute } from '../kernel/http/kernel-routes.ts';
import { type OpenApiDocument, openApiDocument } from '../kernel/http/openapi.ts';
import { RouteTable } from '../kernel/http/route-table.ts';
import { kernelServices } from '../kernel/open-kernel.ts';
import { VERSION } from '../kernel/version.ts';
import { reachSqlite } from './reachability.ts';

/** What is rehearsed. */
interface RehearsalOptions {
  readonly settings: KernelSettings;
  readonly env: Environment;
  /** Read agents.d as well; default false. */
  readonly withResources?: boolean;
  /** Called with each secret that is read. */
  readonly onSecret?: (secret: string) => void;
}

/** A start that was rehearsed. */
export interface Rehearsal extends AsyncDisposable {
  /** Why plugins that should run would not: one line each. The caller removes credentials before it prints them. */
  readonly problems: readonly string[];
  /** The plugins that would run. */
  readonly plugins: readonly string[];
  /** What settings name and no plugin that would run brings: one line each. */
  readonly doubts: readonly string[];
  /** The object storage that plugins would bring. */
  readonly objectStores: readonly Offer[];
  /** The variables of the plugins that are there. */
  readonly variables: readonly string[];
  /** What the kernel, and the plugins that would run, register with the database. */
  readonly registrations: readonly Registration[];
  /** The outcome for each file of agents.d. */
  readonly resources: readonly FileReport[];
  /** What `GET /v1/openapi` would answer. */
  openapi(): OpenApiDocument;
}

/**
 * Sets all plugins up as a start with these settings would, over tables and files in a temporary folder: nothing
 * listens, no background work starts, and no server is asked; of files of SQLite that plugins open it finds out whether
 * they can be used. A plugin that fails hinders no other that does not need it.
 *
 * @throws ConfigurationError for a gateway.yaml that is not valid
 */
export async function rehearse({
  settings,
  env,
  withResources = false,
  onSecret = () => {},
}: RehearsalOptions): Promise<Rehearsal> {
  await using opened = new AsyncDisposableStack();
  const file = await loadGatewayFile(settings.configFile);
  const folder = await mkdtemp(path.join(tmpdir(), 'saas-api-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const logging = { ...createLogger({ level: 'silent', destination: { write: () => {} } }), hide: onSecret };
  const options = {
    settings: elsewhere(settings, folder, withResources),
    env,
    logging,
    processMetrics: false,
  };
  const infrastructure = await openInfrastructure(
    { ...options, version: VERSION },
    opened,
    () => Number.POSITIVE_INFINITY,
  );
  const { acpToken = settings.production ? undefined : 'made at the first start', jwt } = settings;
  const { services } = infrastructure;
  const authentication = await openAuthentication({ ...infrastructure, ...services, acpToken, jwt });
  opened.defer(() => authentication.close());

  const { metrics } = infrastructure;
  const readiness = createReadiness({
    withoutSecrets: logging.withoutSecrets,
    log: infrastructure.log,
    isServing: () => false,
    pingDatabase: async () => {},
    probes: () => [],
    degraded: () => [],
  });
  const exposition = { metrics: () => metrics.text(), metricsType: metrics.contentType };
  const listeners = silentListeners(compiled(kernelRoutes({ readiness, ...exposition })));
  const publication = createPublication({
    listeners,
    grpc: { open: async () => {}, prepare: () => () => {}, abandon: async () => {} },
    resources: infrastructure.resources,
    authentication: authentication.chain,
    onePort: settings.onePort,
  });
  const folders = PluginFolders.of(settings);
  const found = await folders.loadAll(file, settings.plugins);
  const only = withNeeded(settings.plugins ?? [], pluginsOf(found)).names;
  const deployment = deploymentOf(infrastructure, settings, readiness, () => host);
  const address: Address = { ...settings.listen, variable: 'SAAS_API_PORT' };
  const kernel = kernelServices(options, infrastructure, authentication, listeners, deployment);
  const host: PluginHost = new PluginHost(found, {
    ...infrastructure,
    ...infrastructure.services,
    services: {
      ...kernel,
      // The plugin's own file is only looked at.
      async openSqlite(file) {
        if (file !== undefined) await reachSqlite(file);
        return kernel.openSqlite();
      },
    },
    publication: withoutOwnWork(publication),
    env,
    address,
    only,
    drainTimeout: 0,
    metricsFor: (plugin) => createPluginMetrics(metrics.registry, plugin),
  });
  opened.defer(() => host.stop(0));
  const configuration = createConfiguration(settings.configFile, host, { folders, log: infrastructure.log });
  const own = [
    readinessRoute(readiness),
    ...pluginRoutes(host, configuration, VERSION),
    ...jobRoutes(infrastructure.services.jobs.administration),
  ];
  await publication.addKernelRoutes(address, compiled(own));
  await startAll(host, file);

  const closing = opened.move();
  const running = host.slots.all.filter(({ current }) => current !== undefined);
  const known = new Map(running.map(({ name, plugin }) => [name, plugin!]));
  return {
    problems: problemsOf(host, file, env, settings.plugins ?? [], only),
    plugins: [...known.keys()],
    doubts: publication.contributions(DoubtfulSettingsPoint.id).flatMap(doubtsOf),
    objectStores: publication.contributions(ObjectStoresPoint.id) as readonly Offer[],
    variables: host.slots.all.flatMap(({ plugin }) => variablesOf(plugin)),
    registrations: [
      ...kernelRegistrations(),
      ...[...known.values()].map((one) => registrationOf(one, file, known)),
    ],
    resources: infrastructure.resources.report().files,
    openapi: () => openApiDocument(listeners.routes(), VERSION, authentication.chain.kinds()),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** The same settings with all data in a folder of our own, and without anything that needs another machine. */
function elsewhere(settings: KernelSettings, folder: string, withResources: boolean): KernelSettings {
  const { services } = settings;
  const { form } = services.objectStore;
  return {
    ...settings,
    dataDir: folder,
    database: { driver: 'sqlite', file: path.join(folder, 'gateway.db'), setBy: 'SVC_DATA_DIR' },
    redisUrl: undefined,
    tracing: undefined,
    services: {
      ...services,
      objectStore: form === 'none' ? { form } : { form: 'files', folder: path.join(folder, 'objects') },
      agentsDir: withResources ? services.agentsDir : path.join(folder, 'agents.d'),
    },
  };
}

/**
 * The listeners of a host, without one that listens: the tables are built, with the routes of `everywhere` in each, and
 * collisions found.
 */
function silentListeners(
  everywhere: readonly CompiledRoute[],
): PublicationParts['listeners'] & { routes(): readonly CompiledRoute[] } {
  let tables: readonly RouteTable[] = [];
  return {
    key: ({ host, port }) => `${host}:${port}`,
    open: async () => {},
    closeOthers: () => {},
    prepare(routes) {
      const next = [...routes.values()].map((own) => new RouteTable([...everywhere, ...own]));
      return () => {
        tables = next;
      };
    },
    routes: () => [...new Set(tables.flatMap(({ routes }) => routes))],
  };
}

/**
 * The same publication, where plugins start no background work: no task, no listener, no worker. Everything that
 * requests need is there.
 */
function withoutOwnWork(publication: Publication): Publication {
  return {
    ...publication,
    prepare(leaving, arriving) {
      for (const { instance } of arriving.values()) {
        const { tasks, listeners, hints, workers, drains } = instance.effects;
        for (const effects of [tasks, listeners, hints, workers, drains]) effects.length = 0;
      }
      return publication.prepare(leaving, arriving);
    },
  };
}

/**
 * Starts the plugins, also those behind one whose failure would end a start, so that all problems are reported
 * together.
 */
async function startAll(host: PluginHost, file: GatewayFile): Promise<void> {
  const entries = host.slots.all.map(({ name }) => {
    return [name, { ...entryOf(file, name), onFailure: 'continue' }] as const;
  });
  const desired: GatewayFile = { ...file, plugins: new Map([...file.plugins, ...entries]) };
  for (const _ of host.slots.all) {
    try {
      await host.start(desired);
      return;
    } catch (failure) {
      // A variable that is wrong. The plugin is noted as failed, so the next round goes on behind it.
      if (!(failure instanceof PluginChangeError)) throw failure;
    }
  }
}

/** All that keeps plugins from running; the settings of one that waits for another are looked at too. */
function problemsOf(
  host: PluginHost,
  file: GatewayFile,
  env: Environment,
  named: readonly string[],
  only: readonly string[],
): readonly string[] {
  const mayRun = host.slots.all.filter(({ name }) => restOf(name, file, only) === undefined);
  const settings = new Map(mayRun.map((slot) => [slot.name, settingProblems(slot.plugin, file, env)]));
  const known = host.slots.all.map(({ name }) => name);
  return [
    ...unknownInVariable(named, known).map(describeProblem),
    ...[...settings].flatMap(([name, lines]) => lines.map((line) => `${name}: ${line}`)),
    ...host.slots
      .degraded()
      .filter(({ name, state }) => state !== 'failed' || settings.get(name)?.length === 0)
      .flatMap(({ name, reason }) => reason.split('\n').map((line) => `${name}: ${line}`)),
    ...unknownInFile(file, known).map(describeProblem),
  ];
}

/** A plugin that cannot tell its own keeps nothing else from being told. */
function doubtsOf(contribution: unknown): readonly string[] {
  try {
    return [...(contribution as DoubtfulSettings).doubts()];
  } catch (error) {
    return [`a plugin could not say what its settings name in vain: ${messageOf(error)}`];
  }
}

function variablesOf(plugin: Plugin | undefined): readonly string[] {
  const settings = plugin?.config === undefined ? [] : describeConfig(plugin.config);
  return settings.flatMap(({ env }) => (env === undefined ? [] : [env]));
}

function settingProblems(plugin: Plugin | undefined, file: GatewayFile, env: Environment): readonly string[] {
  if (plugin === undefined) return [];
  try {
    readSettings(plugin, file, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message.split('\n');
    throw error;
  }
}

function deploymentOf(
  { metrics }: Infrastructure,
  { database }: Pick<KernelSettings, 'database'>,
  readiness: Deployment['readiness'],
  host: () => PluginHost,
): Deployment {
  return {
    databaseFamily: database.driver,
    uptime: () => 0,
    plugins: () => host().slots.all.map((slot) => pluginStatus(slot, host().desired, VERSION)),
    readiness,
    metrics: { text: () => metrics.text(), contentType: metrics.contentType },
    followLog: () => () => {},
  };
}

function compiled(routes: readonly Route[]): readonly CompiledRoute[] {
  return routes.map((route) => compileRoute(route, 'kernel', new InFlight()));
}
