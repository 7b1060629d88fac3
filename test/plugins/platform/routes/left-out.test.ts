import test from 'ava';
import { startPlatform } from '../platform-gateway.ts';

/**
 * A record that limits somebody: how it is written, and what a body that leaves all other members out makes of them.
 */
interface Limiting {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  /** Everything that is read back of `closed`. */
  readonly read: (body: Record<string, unknown>) => Readonly<Record<string, unknown>>;
  readonly closed: Readonly<Record<string, unknown>>;
  readonly open: Readonly<Record<string, unknown>>;
  /** Members without which a body is refused. */
  readonly required: readonly string[];
  /** What becomes of a member that is left out, where it does not stay as it is. */
  readonly without: Readonly<Record<string, unknown>>;
}

const records: readonly (Limiting & { readonly name: string })[] = [
  {
    name: 'a sandbox policy',
    method: 'POST',
    path: '/admin/v1/tenants/{tenant}/sandbox-policy',
    read: ({ sandbox_policy }) => sandbox_policy as Record<string, unknown>,
    closed: {
      enabled: false,
      max_timeout_seconds: 1,
      allowed_tools: [],
      allow_docker: false,
      restrict_network: true,
      max_output_kb: 1,
    },
    open: {
      enabled: true,
      max_timeout_seconds: 3600,
      allowed_tools: null,
      allow_docker: true,
      restrict_network: false,
      max_output_kb: 10_240,
    },
    required: [],
    without: {},
  },
  {
    name: "a tenant's limits",
    method: 'PUT',
    path: '/v1/tenants/{tenant}',
    read: (body) => body,
    closed: { name: 'Closed', plan: 'free', rate_limit_rpm: 1, max_sessions: 1 },
    open: { name: 'Open', plan: 'enterprise', rate_limit_rpm: 1_000_000, max_sessions: 1_000_000 },
    required: [],
    without: {},
  },
  {
    name: 'a pricing rule',
    method: 'PUT',
    path: '/admin/v1/pricing-rules/m',
    read: (body) => body,
    closed: { input_per_1k: 9, output_per_1k: 9, cache_read_per_1k: 9, cache_write_per_1k: 9 },
    open: { input_per_1k: 0, output_per_1k: 0, cache_read_per_1k: 0, cache_write_per_1k: 0 },
    required: ['input_per_1k', 'output_per_1k'],
    // As much as input, the most that a cached token may cost by default.
    without: { cache_read_per_1k: null, cache_write_per_1k: null },
  },
];

for (const { name, method, path: pattern, read, closed, open, required, without } of records) {
  test(`${name}: what a body leaves out opens nothing, and no body is no change`, async (t) => {
    const gateway = await startPlatform(t);
    const path = pattern.replace('{tenant}', await gateway.tenant());
    const write = (body?: unknown) => gateway.request(path, { method, body });
    t.deepEqual(Object.keys(closed).toSorted(), Object.keys(open).toSorted());
    for (const member of Object.keys(closed)) {
      t.is((await write(closed)).status, 200);
      const { [member]: _, ...rest } = open;
      const { status, body } = await write(rest);
      if (required.includes(member)) {
        t.deepEqual([status, body.errors?.[0]?.pointer], [400, `/body/${member}`]);
        continue;
      }
      t.is(status, 200);
      const left = member in without ? without[member] : closed[member];
      t.like(read(body), { ...rest, [member]: left }, `without ${member}`);
    }
    const before = (await write(closed)).body;
    const nothing = await write();
    t.deepEqual([nothing.status, nothing.body.errors?.[0]?.pointer], [400, '/body']);
    if (required.length > 0) return;
    t.like(read((await write({})).body), closed);
    t.like(read(before), closed);
  });
}
