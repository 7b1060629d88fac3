import test from 'ava';
import Type from 'typebox';
import type { NodeType } from '../../../../../plugins/workflow/contract/node-types.ts';
import { createNodeTypes } from '../../../../../plugins/workflow/services/nodes/node-types.ts';
import { heardLog } from './kit.ts';

const type = (name: string): NodeType => ({
  type: name,
  summary: name,
  config: Type.Object({}),
  execute: async () => ({ output: {} }),
});

test('built-in types come first, and those of plugins come and go', (t) => {
  const { log } = heardLog();
  let contributed: NodeType[] = [];
  const builtin = [type('agent_task'), type('service_task')];
  const types = createNodeTypes({ builtin, contributed: () => contributed, log });
  t.deepEqual(types.names(), ['agent_task', 'service_task']);
  contributed = [type('acme/ship')];
  t.deepEqual(types.names(), ['agent_task', 'service_task', 'acme/ship']);
  t.is(types.get('acme/ship'), contributed[0]);
  contributed = [];
  t.is(types.get('acme/ship'), undefined);
  t.is(types.get('agent_task'), builtin[0]);
});

for (const name of [
  'ship',
  'agent_task',
  'Acme/ship',
  'acme/Ship',
  'acme/',
  '/ship',
  'acme/ship/now',
  'acme ship',
  `acme/${'x'.repeat(65)}`,
  'acme/ship\n',
  '',
]) {
  test(`a plugin's type called ${JSON.stringify(name.slice(0, 20))} is left out, and that is logged once`, (t) => {
    const { log, lines } = heardLog();
    const bad = type(name);
    const builtin = [type('agent_task')];
    const types = createNodeTypes({ builtin, contributed: () => [bad, type('acme/ship')], log });
    for (let asked = 0; asked < 3; asked += 1) t.deepEqual(types.names(), ['agent_task', 'acme/ship']);
    t.not(types.get(name), bad);
    t.is(lines.length, 1);
  });
}

test('of two types of one name the first wins, and the other one is named in the log once', (t) => {
  const { log, lines } = heardLog();
  const [first, second] = [type('acme/ship'), type('acme/ship')];
  const types = createNodeTypes({ builtin: [], contributed: () => [first, second], log });
  t.is(types.get('acme/ship'), first);
  t.is(types.get('acme/ship'), first);
  t.deepEqual(
    lines.map(({ node_type }) => node_type),
    ['acme/ship'],
  );
});
