import path from 'node:path';

/** A page of the reference, and what belongs on it. */
export interface PagePlan {
  /** Below docs/reference/, without `.md`. */
  readonly name: string;
  readonly title: string;
  /** The module that its names are imported from. */
  readonly entry: string;
  /**
   * Files and folders (with a slash) of the repository, in the order of the page; what they export through the entry is
   * on it.
   */
  readonly sources: readonly string[];
}

/** What `agent-gateway` exports, by subject. An export that no page takes fails the generation. */
const KERNEL: readonly Omit<PagePlan, 'entry'>[] = [
  {
    name: 'plugin',
    title: 'A plugin, its scope, and what it shares',
    sources: [
      'kernel/api/plugin.ts',
      'kernel/api/scope.ts',
      'kernel/api/services.ts',
      'kernel/api/refs.ts',
      'kernel/api/points.ts',
      'kernel/api/deployment.ts',
    ],
  },
  {
    name: 'http',
    title: 'HTTP: routes, calls, replies',
    sources: [
      'kernel/api/route.ts',
      'kernel/api/call.ts',
      'kernel/api/reply.ts',
      'kernel/api/stage.ts',
      'foundation/http/',
      'kernel/http/',
    ],
  },
  { name: 'grpc', title: 'gRPC', sources: ['kernel/api/grpc.ts'] },
  {
    name: 'access',
    title: 'Access: who may call, credentials, API keys, tenants',
    sources: [
      'kernel/api/access.ts',
      'kernel/access/',
      'kernel/auth/authenticator.ts',
      'kernel/auth/',
      'kernel/tenancy/',
      'foundation/tables/tenant.ts',
    ],
  },
  {
    name: 'errors',
    title: 'Errors',
    sources: [
      'foundation/base/gateway-error.ts',
      'foundation/base/refusing.ts',
      'foundation/base/error-catalogue.ts',
      'foundation/errors/',
    ],
  },
  { name: 'configuration', title: 'Settings', sources: ['foundation/config/', 'foundation/code/'] },
  {
    name: 'data',
    title: 'Tables, rows, transactions, migrations',
    sources: [
      'kernel/index.ts',
      'foundation/data/columns.ts',
      'foundation/data/migration.ts',
      'foundation/data/',
    ],
  },
  {
    name: 'messages',
    title: 'Events, hints, jobs, durable events',
    sources: ['foundation/messages/', 'foundation/tables/lifecycle-events.ts'],
  },
  { name: 'leases', title: 'Leases', sources: ['foundation/leases/leases.ts', 'foundation/leases/'] },
  { name: 'resources', title: 'YAML resources', sources: ['foundation/resources/'] },
  { name: 'objects', title: 'Objects', sources: ['foundation/objects/objects.ts', 'foundation/objects/'] },
  {
    name: 'egress',
    title: 'Calls to elsewhere',
    sources: ['foundation/egress/egress.ts', 'foundation/egress/'],
  },
  { name: 'secrets', title: 'Secrets', sources: ['foundation/secrets/secrets.ts', 'foundation/secrets/'] },
  {
    name: 'protection',
    title: 'Personal data, redaction, audit',
    sources: [
      'foundation/protection/',
      'foundation/redaction/',
      'foundation/observability/redact-text.ts',
      'foundation/audit/',
    ],
  },
  { name: 'observability', title: 'Log, metrics, readiness', sources: ['foundation/observability/'] },
  {
    name: 'schemas',
    title: 'Schemas, and what goes over the wire',
    sources: [
      'foundation/base/type.ts',
      'foundation/base/wire.ts',
      'foundation/base/page.ts',
      'foundation/base/schema-example.ts',
      'foundation/base/json-schema.ts',
      'foundation/base/text-search.ts',
    ],
  },
  {
    name: 'base',
    title: 'Time, turns, caches, names',
    sources: [
      'foundation/base/clock.ts',
      'foundation/base/ids.ts',
      'foundation/base/deadline.ts',
      'foundation/base/backoff.ts',
      'foundation/base/semaphore.ts',
      'foundation/base/cache.ts',
      'foundation/base/',
    ],
  },
];

/** The pages of all modules: those of `agent-gateway` by subject, then one for each other module. */
export function pagePlans(entries: ReadonlyMap<string, string>): readonly PagePlan[] {
  const [kernel, ...others] = entries.keys();
  if (kernel === undefined) throw new Error('package.json exports nothing');
  return [
    ...KERNEL.map((page) => ({ ...page, entry: kernel })),
    ...others.map((entry) => ({
      name: entry.slice(kernel.length + 1).replaceAll('/', '-'),
      title: `\`${entry}\``,
      entry,
      sources: [`${path.posix.dirname(entries.get(entry) as string)}/`],
    })),
  ];
}

/**
 * The page that takes the declarations of a file, and their rank on it; undefined when no page does. The longest source
 * that fits counts.
 */
export function pageOf(
  plans: readonly PagePlan[],
  file: string,
): { plan: PagePlan; rank: number } | undefined {
  let best: { plan: PagePlan; rank: number; length: number } | undefined;
  for (const plan of plans) {
    for (const [rank, source] of plan.sources.entries()) {
      const fits = source.endsWith('/') ? file.startsWith(source) : file === source;
      if (fits && source.length > (best?.length ?? -1)) best = { plan, rank, length: source.length };
    }
  }
  return best;
}
