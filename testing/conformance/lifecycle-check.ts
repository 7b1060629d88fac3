import { isDeepStrictEqual } from 'node:util';
import type { Plugin } from '../../kernel/api/plugin.ts';
import { reportEffects } from '../../kernel/host/effects.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import { assertNone, type ConformanceOptions, gatewayOf, turn } from './gateway-of.ts';

/** Milliseconds that sockets and the like get to close. */
const SETTLE = 3000;
const BETWEEN_LOOKS = 20;

/**
 * Disables and enables the plugin twice: its jobs and its workers belong together, both set-ups make the same effects, nothing is told as left behind, and the
 * process has no more timers, servers, watchers or children after the second stop than after the first.
 */
export async function lifecycleCheck(plugin: Plugin, options: ConformanceOptions): Promise<void> {
  const gateway = await gatewayOf(plugin, options);
  try {
    const effects = () => reportEffects(gateway.gateway.host.slot(plugin.name)!.current!.effects);
    const first = effects();
    await turn(gateway, plugin, 'disable');
    const metrics = await metricNames(gateway);
    const baseline = resources();
    const problems = [...leaksOf(gateway, plugin), ...jobProblems(plugin, first.jobs)];
    for (let round = 0; round < 2; round += 1) {
      await turn(gateway, plugin, 'enable');
      if (!isDeepStrictEqual(effects(), first))
        problems.push('it registers something else at the second set-up');
      await turn(gateway, plugin, 'disable');
      problems.push(...leaksOf(gateway, plugin));
    }
    const left = [...(await metricNames(gateway)).difference(metrics)];
    if (left.length > 0) problems.push(`its metrics stay: ${left.join(', ')}`);
    const grown = await growth(baseline);
    if (grown.length > 0) problems.push(`after its stop the process has more of: ${grown.join(', ')}`);
    assertNone([...new Set(problems)]);
  } finally {
    await gateway.stop();
  }
}

/** That each job of `jobs` has a worker is checked by the host, at each set-up. */
function jobProblems({ name, jobs = [] }: Plugin, workers: readonly string[]): readonly string[] {
  const declared = new Set(jobs.map(({ id }) => id));
  return [
    ...workers.filter((id) => !declared.has(id)).map((id) => `it works on ${id} without naming it in "jobs"`),
    ...[...declared]
      .filter((id) => !id.startsWith(`${name}.`))
      .map((id) => `its job ${id} is not called ${name}.<work>`),
  ];
}

function leaksOf(gateway: TestGateway, plugin: Plugin): readonly string[] {
  return gateway.gateway.host.slot(plugin.name)!.leaks;
}

async function metricNames(gateway: TestGateway): Promise<Set<string>> {
  const { body } = await gateway.request('/metrics', { token: null });
  return new Set([...String(body).matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]!));
}

/** What keeps the process busy, by kind. Connections of the suite's own client come and go. */
function resources(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (kind === 'TCPSocketWrap' || kind === 'CloseReq') continue;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** Kinds of which there are more than before, once everything had its time to end. */
async function growth(before: ReadonlyMap<string, number>): Promise<readonly string[]> {
  const deadline = performance.now() + SETTLE;
  for (;;) {
    const now = resources();
    const grown = [...now].filter(([kind, count]) => count > (before.get(kind) ?? 0));
    if (grown.length === 0) return [];
    if (performance.now() > deadline)
      return grown.map(([kind, count]) => `${kind} (${before.get(kind) ?? 0} → ${count})`);
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS).unref());
  }
}
