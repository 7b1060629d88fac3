import test from 'ava';
import { parseGatewayFile } from '../../../foundation/config/gateway-file.ts';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import { serviceRef } from '../../../kernel/api/refs.ts';
import { changedEntries, planRun, withEnabled } from '../../../kernel/host/desired.ts';
import { buildGraph } from '../../../kernel/host/graph.ts';
import { testPlugin } from '../../support/plugins.ts';

const Engine = serviceRef<object>('engine.engine');
const engine = testPlugin('engine', { offers: [Engine] });
const car = testPlugin('car', { needs: { engine: Engine } });
const radio = testPlugin('radio', { wants: { engine: Engine } });
const nothing = parseGatewayFile('gateway.yaml', undefined);

function plan(options: { plugins?: Plugin[]; yaml?: string; only?: string[]; failed?: string[] } = {}) {
  const plugins = options.plugins ?? [car, engine, radio];
  const { run, idle } = planRun({
    graph: buildGraph(plugins),
    plugins: new Map(plugins.map((one) => [one.name, one])),
    desired: parseGatewayFile('gateway.yaml', options.yaml),
    only: options.only ?? [],
    failed: new Set(options.failed),
  });
  return { run, idle: Object.fromEntries([...idle].map(([name, { state }]) => [name, state])) };
}

test('without a file every plugin runs, in the order of the graph', (t) => {
  t.deepEqual(plan(), { run: ['engine', 'car', 'radio'], idle: {} });
});

test('what needs a plugin that does not run waits; what only wants it runs', (t) => {
  const expected = { run: ['radio'], idle: { car: 'waiting', engine: 'stopped' } };
  t.deepEqual(plan({ yaml: 'plugins: {engine: {enabled: false}}' }), expected);
  t.deepEqual(plan({ failed: ['engine'] }), { run: ['radio'], idle: { car: 'waiting' } });
  t.deepEqual(plan({ plugins: [car, radio] }), { run: ['radio'], idle: { car: 'waiting' } });
});

test('SVC_PLUGINS stops all others', (t) => {
  t.deepEqual(plan({ only: ['engine'] }), { run: ['engine'], idle: { car: 'stopped', radio: 'stopped' } });
});

test('the difference of two desired states is told by name', (t) => {
  const disabled = withEnabled(nothing, 'car', false);
  t.deepEqual(changedEntries(nothing, disabled), ['car']);
  t.deepEqual(changedEntries(disabled, withEnabled(disabled, 'car', true)), ['car']);
  t.deepEqual(changedEntries(nothing, withEnabled(nothing, 'car', true)), []);
});
