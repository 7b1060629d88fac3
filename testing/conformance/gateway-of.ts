import { setTimeout as pause } from 'node:timers/promises';
import { within } from '../../foundation/base/deadline.ts';
import type { Plugin } from '../../kernel/api/plugin.ts';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import { createDatabase } from '../fresh-database.ts';
import { startTestGateway, type TestGateway } from '../start-test-gateway.ts';
import { mountedOperations } from './mounted-operations.ts';
import { bundledPlugins, providersFor } from './providers.ts';
import { ConformanceError, NotRunning, type Subject } from './subject.ts';

/**
 * Milliseconds that a set-up may take where the options say nothing, and within which a gateway stops and answers its
 * operator.
 */
const SETUP_TIMEOUT = 30_000;
const PATIENCE = 60_000;
const BETWEEN_LOOKS = 10;

/**
 * Runs `work` with a gateway that has the plugin and, by `beside`, only the plugins that it needs or all bundled ones
 * too. Always stops the gateway.
 */
export async function withGateway<T>(
  subject: Subject,
  work: (gateway: TestGateway) => Promise<T>,
  beside: 'providers' | 'bundled' = 'providers',
): Promise<T> {
  await using stack = new AsyncDisposableStack();
  return await work(await start(subject, beside, stack));
}

async function start(
  { plugin, options, server }: Subject,
  beside: 'providers' | 'bundled',
  stack: AsyncDisposableStack,
): Promise<TestGateway> {
  const { env = {}, yaml, folder, setupTimeout = SETUP_TIMEOUT } = options;
  const bundled = await bundledPlugins();
  const given = options.with ?? providersFor(plugin, bundled);
  const others = (beside === 'bundled' ? [...bundled, ...given] : given).filter(
    ({ name }) => name !== plugin.name,
  );
  const database = server === undefined ? undefined : await createDatabase(server);
  if (database !== undefined) stack.defer(() => database.drop());
  const gateway = await startTestGateway({
    // The plugin comes last: a collision with another one is then reported as its problem.
    plugins: [...new Map(others.map((other) => [other.name, other])).values(), plugin],
    codeOf: (one) => (one === plugin ? folder : undefined),
    env: { ...(database && { DATABASE_URL: database.url }), ...env },
    // The suite reports leaks itself, together with all other problems.
    allowLeaks: true,
    setupTimeout,
    ...(yaml === undefined ? {} : { yaml }),
  });
  stack.defer(() => within(PATIENCE, 'the stop of the gateway', gateway.stop()));
  await settled(gateway, plugin, setupTimeout);
  return gateway;
}

/** Waits for the plugin's set-up, which a start need not do. @throws NotRunning with the reason */
async function settled({ gateway }: TestGateway, { name }: Plugin, setupTimeout: number): Promise<void> {
  const { status } = gateway.host.slots.find(name)!;
  const until = performance.now() + setupTimeout + PATIENCE;
  while ((status.state === 'declared' || status.state === 'starting') && performance.now() < until)
    await pause(BETWEEN_LOOKS);
  if (status.state === 'active') return;
  const { reason } = status.current;
  throw new NotRunning(`${name} does not start, it is ${status.state}: ${reason.split('\n', 1)[0]}`);
}

/** The routes that the plugin serves now, with each operation that its mounted routers declare. */
export function routesOf(gateway: TestGateway, plugin: Plugin): readonly CompiledRoute[] {
  const routes = gateway.gateway.host.slots.find(plugin.name)?.current?.effects.routes ?? [];
  return routes.flatMap((route) =>
    route.kind === 'router' ? [route, ...mountedOperations(route)] : [route],
  );
}

/** How a route is named in samples and messages: `GET /v1/notes/{id}`. */
export function nameOf(route: CompiledRoute): string {
  return `${route.methods[0]} ${route.pattern}`;
}

/**
 * Where a route says what it takes and answers: for an operation of a mounted router that is the router's `openapi`.
 */
export function schemaOf({ middleware }: CompiledRoute): 'schema' | 'openapi' {
  return middleware === undefined ? 'schema' : 'openapi';
}

/** Enables or disables the plugin as an operator does. @throws ConformanceError with the gateway's own words. */
export async function turn(gateway: TestGateway, plugin: Plugin, verb: 'enable' | 'disable'): Promise<void> {
  const where = `/admin/v1/plugins/${plugin.name}/${verb}`;
  const answer = await gateway.request(where, { method: 'POST', signal: AbortSignal.timeout(PATIENCE) });
  if (answer.status !== 200)
    throw new ConformanceError(`${plugin.name} cannot be ${verb}d: ${answer.body.detail}`);
}
