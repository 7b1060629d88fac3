import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import Type from 'typebox';
import {
  DEFAULT_TENANT_ID,
  defineDurableEvent,
  defineHint,
  defineJob,
  defineKind,
  definePlugin,
  type ResourceView,
} from '../../kernel/index.ts';
import { type NodeType, NodeTypesPoint, WorkflowEnginesRef } from '../../plugins/workflow/contract.ts';
import { bundledPlugins, startTestGateway } from '../../testing/index.ts';
import { until } from '../support/until.ts';

/* The code that documents show in pieces (`from=` of their fences), as a whole that runs. */

const OrderPaid = defineDurableEvent('shop.order-paid', Type.Object({ order_id: Type.String() }));
const Look = defineHint('shop.look', Type.Object({ run_id: Type.String() }));
const Charge = defineJob('shop.charge', Type.Object({ invoice_id: Type.String() }), { attempts: 5 });

interface Preset {
  readonly text: string;
  readonly after: Preset | undefined;
}

const presetKind = defineKind({
  kind: 'Preset',
  summary: 'A text to begin with',
  spec: Type.Object({ text: Type.String(), after: Type.Optional(Type.String()) }),
  references: ({ spec }) =>
    spec.after === undefined ? [] : [{ kind: 'Preset', name: spec.after, pointer: '/spec/after' }],
  build: ({ spec }, { resolve }): Preset => ({
    text: spec.text,
    after: spec.after === undefined ? undefined : resolve<Preset>('Preset', spec.after),
  }),
});

const AGENTS = `
apiVersion: svc/v1
kind: Preset
metadata: { name: greeting }
spec: { text: Hello, after: smile }
---
apiVersion: svc/v1
kind: Preset
metadata: { name: smile }
spec: { text: ':-)' }
---
apiVersion: svc/v1
kind: Workflow
metadata: { name: bill }
spec:
  graph:
    nodes:
      - { id: start, type: start }
      - { id: invoice, type: shop/invoice, config: { customer: Ada, amount: '3' } }
      - { id: end, type: end }
    edges:
      - { from: start, to: invoice }
      - { from: invoice, to: end }
`;

const shout: NodeType = {
  type: 'own/shout',
  summary: 'Says it loudly.',
  config: Type.Object({}, { additionalProperties: false }),
  execute: async () => ({ output: {} }),
};

test('events, hints, jobs, kinds, node types and engines are used as the documents show', async (t) => {
  const done: string[] = [];
  const advance = async (id: string, _signal: AbortSignal) => void done.push(`look ${id}`);
  const invoices = {
    async write(invoice: object) {
      done.push(`invoice ${Object.keys(invoice).sort()}`);
      return '7';
    },
  };
  let presets!: ResourceView<Preset>;
  const shop = definePlugin({
    name: 'shop',
    summary: 'Sells and charges',
    kernel: '^1.0.0',
    needs: { engines: WorkflowEnginesRef },
    jobs: [Charge],
    async setup(scope, { engines }) {
      // In the set-up of whoever wants to know:
      scope.subscribe(
        OrderPaid,
        async ({ order_id }, { id }) => {
          done.push(`paid ${order_id} ${id.length}`);
        },
        { attempts: 5 },
      );
      scope.onHint(Look, ({ run_id }, { signal }) => advance(run_id, signal), { concurrency: 20 });
      // In the set-up of a plugin that lists the job in `jobs`:
      scope.worker(
        Charge,
        async ({ invoice_id }, { signal }) => {
          done.push(`charge ${invoice_id} ${signal.aborted}`);
        },
        { concurrency: 4 },
      );
      // In the set-up; the view is empty until that is published.
      presets = scope.kind(presetKind);
      scope.contribute(NodeTypesPoint, {
        type: 'shop/invoice',
        summary: 'Writes an invoice.',
        config: Type.Object(
          { customer: Type.String(), amount: Type.String() },
          { additionalProperties: false },
        ),
        async execute({ tenantId, input, idempotencyKey, signal }) {
          const id = await invoices.write({ tenantId, ...input, idempotencyKey, signal });
          return { output: { invoice: id }, record: { invoice: id } };
        },
      });
      const database = await scope.services.openSqlite();
      scope.defer(() => database.close());
      const engine = await engines.open(scope, { name: 'jobs', database, nodeTypes: [shout] });
      t.truthy(engine);
    },
  });
  const gateway = await startTestGateway({ plugins: [...(await bundledPlugins()), shop] });
  t.teardown(gateway.stop);
  const { durableEvents, hints, jobs, database, resources } = gateway.gateway.services;
  const order_id = 'o';
  const run_id = 'r';
  const invoice_id = 'i';
  await database.forTenant(DEFAULT_TENANT_ID).transaction(async (entities) => {
    // Inside `entities.transaction(…)`: with it, or not at all.
    await durableEvents.publish(entities, OrderPaid, { order_id });
    // Inside `entities.transaction(…)`: with it, or not at all.
    await jobs.publish(entities, Charge, { invoice_id });
  });
  // After the commit. False: the sweeper finds it.
  const isSent = await hints.send(Look, { run_id }, { id: run_id });
  t.true(isSent);
  await until(() => done.length === 3);
  t.deepEqual(done.toSorted(), ['charge i false', 'look r', 'paid o 36']);

  await writeFile(path.join(gateway.folder, 'agents.d/shop.yaml'), AGENTS);
  await resources.reload();
  // In a call: this version, until the end of the block.
  using held = presets.acquire('greeting');
  t.is(held?.value.after?.text, ':-)');

  const run = { method: 'POST', body: { definition_id: 'bill' } };
  const { body } = await gateway.request('/v1/workflow-runs?wait=30', run);
  t.is(body.status, 'completed');
  t.is(done.at(-1), 'invoice amount,customer,idempotencyKey,signal,tenantId');
});
