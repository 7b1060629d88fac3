import test from 'ava';
import {
  type SandboxPolicies,
  SandboxPoliciesRef,
  type Tool,
  ToolsPoint,
} from '../../../plugins/agent-engine/contract.ts';
import { testPlugin } from '../../support/plugins.ts';
import { PROTOS, SERVICES } from './grpc-kit.ts';
import { startRecords } from './records-gateway.ts';

const tool = (name: string): Tool => ({
  ref: `plugin/notes/${name}`,
  name,
  description: `does ${name}`,
  parameters: { type: 'object' },
  invoke: async () => ({ content: '' }),
});

test('tools are listed as the tenant may use them now: with those of plugins, within its policy', async (t) => {
  let policies: SandboxPolicies | undefined;
  let isAway = false;
  const notes = testPlugin('notes', {
    needs: { policies: SandboxPoliciesRef },
    setup(scope, needed) {
      policies = (needed as { policies: SandboxPolicies }).policies;
      scope.contribute(ToolsPoint, {
        prefix: 'plugin/notes/',
        list: async (tenantId) => {
          if (isAway) throw new Error('away');
          return [tool('calculator'), tool(`of_${tenantId.slice(-4)}`)];
        },
      });
    },
  });
  const gateway = await startRecords(t, { plugins: [notes] });
  const [one, two] = [await gateway.makeTenant(), await gateway.makeTenant()];
  const listed = async (token: string | null) => {
    const { status, body } = await gateway.request('/api/v2/tools', { token });
    t.deepEqual([status, Object.keys(body), body.count], [200, ['tools', 'count'], body.tools.length]);
    return new Map<string, string>(
      body.tools.map(({ name, description }: Tool) => [name, description] as const),
    );
  };
  const own = `of_${one.id.slice(-4)}`;
  const mine = await listed(one.token);
  t.true(mine.has('calculator') && mine.has('memory_save'));
  t.is(mine.get('calculator_2'), 'does calculator', 'a name that is taken gets a number');
  t.is(mine.get(own), `does ${own}`);
  t.false((await listed(two.token)).has(own));
  t.true((await listed(null)).has('calculator'), 'without a credential the default tenant’s');

  const policy = await policies!.of(two.id);
  const entities = gateway.database.forTenant(two.id);
  await policies!.change(entities, { ...policy, allowedTools: ['current_time'] });
  t.deepEqual([...(await listed(two.token)).keys()], ['current_time']);
  isAway = true;
  t.false((await listed(one.token)).has(own), 'a source that is away is left out');
});

test('a tool that is called by its ref does not wait for another source that hangs', async (t) => {
  const asked: string[] = [];
  const hung = testPlugin('hung', {
    setup(scope) {
      scope.contribute(ToolsPoint, {
        prefix: 'plugin/hung/',
        list: (tenantId) => {
          asked.push(tenantId);
          return new Promise(() => {});
        },
      });
    },
  });
  const gateway = await startRecords(t, { plugins: [hung] });
  const proto = new URL('svc/tool/v1/tool.proto', PROTOS);
  const call = { tool_id: 'builtin/calculator', parameters: { expression: '6*7' } };
  const { message } = await gateway.grpc({ proto, service: SERVICES.tool }).call('InvokeTool', call);
  t.like(message, { success: true, output: '42' });
  t.deepEqual(asked, []);
});
