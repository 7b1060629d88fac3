import { Readable } from 'node:stream';
import test from 'ava';
import pino from 'pino';
import { withoutSpans } from '../../../../../foundation/observability/tracing.ts';
import { createGuard } from '../../../../../plugins/agent-engine/services/guard/create-guard.ts';
import { createAgents } from '../../../../../plugins/agent-engine/services/loop/create-agents.ts';
import { createDemoModel } from '../../../../../plugins/agent-engine/services/models/demo-model.ts';
import { modelMetrics } from '../../../../../plugins/agent-engine/services/models/metrics.ts';
import { createModelRegistry } from '../../../../../plugins/agent-engine/services/models/model-registry.ts';
import { createArgumentCheck } from '../../../../../plugins/agent-engine/services/tools/argument-check.ts';
import { builtinTools } from '../../../../../plugins/agent-engine/services/tools/builtin-tools.ts';
import { createToolCatalog } from '../../../../../plugins/agent-engine/services/tools/tool-catalog.ts';
import { createReceipts } from '../../../../../plugins/records/services/receipts.ts';
import {
  receipts as migration,
  receiptIndexes,
  receiptSpans,
} from '../../../../../plugins/records/store/migrations.ts';
import { ExecutionReceipt } from '../../../../../plugins/records/store/receipts.ts';
import { fakeEgress } from '../../../../../testing/fakes/fake-egress.ts';
import { eachDatabase } from '../../../../support/databases.ts';
import { engineTables } from '../../engine-tables.ts';
import { fakeMetrics } from '../../fake-metrics.ts';
import { catalogOf, collect, context, liveAgents, openExperience, openGuards, tool, user } from './fakes.ts';

const TENANT = '01900000-0000-7000-8000-00000000000a';

/** Made when the test runs, so that nobody who looks for secrets finds one here. */
const secret = `ghp_${'a1B2'.repeat(9)}`;

eachDatabase(
  test,
  'the demo model uses the calculator, and the receipt is in the database, redacted',
  async (t, fresh) => {
    const engine = await engineTables(t, fresh, {
      entities: [ExecutionReceipt],
      migrations: [migration, receiptSpans, receiptIndexes],
    });
    const { clock, ids, database } = engine;
    const receipts = createReceipts(engine);
    const guard = createGuard({ input: 'block', output: 'block', onFinding: () => {} });
    const vault = tool('vault', () => ({ content: JSON.stringify({ token: secret }) }));
    const agents = createAgents({
      guard,
      openGuards,
      openExperience,
      receipts,
      database,
      tracing: withoutSpans,
      clock,
      ids,
      checkArguments: createArgumentCheck(),
      models: createModelRegistry({
        metrics: modelMetrics(fakeMetrics()),
        logFailure: () => {},
        tracing: withoutSpans,
        timeout: 1000,
        demo: createDemoModel({ clock, ids, chunkDelayMs: 0 }),
        clock,
      }),
      toolCatalog: createToolCatalog({
        sources: () => [
          builtinTools({ clock, egress: fakeEgress(() => undefined) }),
          { prefix: 'builtin/', list: () => [vault] },
        ],
        policies: { of: () => ({ allowedTools: null }) as never },
        log: pino({ enabled: false }),
        clock,
      }),
      agents: catalogOf(liveAgents().view),
    });
    const principal = { tenantId: TENANT, identityId: 'key-1', userId: 'anna' };
    const ask = (text: string) =>
      collect(agents.run({ messages: [user(text)], pauses: 'allow', context: context({ principal }) }));
    const { result } = await ask('Use the calculator: what is 17 * 23?');
    t.regex(result.text, /391/);
    t.is(result.uses.length, 2);
    t.is(result.uses[0]?.provider, 'demo');

    const again = await ask('Open the vault');
    t.false(JSON.stringify(again).includes(secret));
    const found = await receipts.list(database.forTenant(TENANT), {}, { limit: 10, offset: 0 });
    const written = await Readable.from(found.receipts).toArray();
    t.deepEqual(
      written.map(({ toolName, input, output, status }) => [toolName, input, output, status]).sort(),
      [
        ['calculator', '{"expression":"17 * 23"}', '391', 'success'],
        ['vault', '{}', written.find(({ toolName }) => toolName === 'vault')?.output, 'success'],
      ],
    );
    t.true(written.some(({ output }) => output.includes('[REDACTED:')));
    t.notThrows(() => written.map(({ output }) => JSON.parse(output)));
  },
);
