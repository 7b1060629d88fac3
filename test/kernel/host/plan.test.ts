import test from 'ava';
import { parseGatewayFile } from '../../../foundation/config/gateway-file.ts';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import { serviceRef } from '../../../kernel/api/refs.ts';
import { buildGraph, Catalogue } from '../../../kernel/host/graph.ts';
import {
  type ExchangeConditions,
  planExchange,
  planRun,
  type RunConditions,
} from '../../../kernel/host/plan.ts';
import { testPlugin } from '../../support/plugins.ts';

const Engine = serviceRef<object>('engine.engine');
const engine = testPlugin('engine', { offers: [Engine] });
const car = testPlugin('car', { needs: { engine: Engine } });
const radio = testPlugin('radio', { wants: { engine: Engine } });
const lamp = testPlugin('lamp');

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

test('a service that no plugin offers is named with the one that was probably meant', (t) => {
  const lorry = testPlugin('lorry', { needs: { engine: serviceRef<object>('engine.engines') } });
  const graph = buildGraph([engine, lorry]);
  const plugins = new Map([engine, lorry].map((one) => [one.name, one]));
  const desired = parseGatewayFile('gateway.yaml', undefined);
  const { idle } = planRun({ graph, plugins, desired, only: [], failed: new Set() });
  t.is(
    idle.get('lorry')?.reason,
    'needs engine.engines, which no plugin offers, did you mean engine.engine?',
  );
});

test('what waits says why the plugin that it needs does not run', (t) => {
  const { graph, plugins } = new Catalogue([car, engine]);
  const reasonOf = (conditions: Partial<RunConditions>) => {
    const desired = parseGatewayFile('gateway.yaml', undefined);
    const { idle } = planRun({ graph, plugins, desired, only: [], failed: new Set(), ...conditions });
    return idle.get('car')?.reason;
  };
  const needs = 'needs engine.engine of engine, which does not run';
  const desired = parseGatewayFile('gateway.yaml', 'plugins: {engine: {enabled: false}}');
  t.is(reasonOf({ desired }), `${needs} (disabled in gateway.yaml)`);
  t.is(reasonOf({ only: ['car'] }), `${needs} (SVC_PLUGINS does not name it)`);
  t.is(reasonOf({ failed: new Set(['engine']) }), `${needs} (failed)`);
});

test('SVC_PLUGINS stops all others', (t) => {
  t.deepEqual(plan({ only: ['engine'] }), { run: ['engine'], idle: { car: 'stopped', radio: 'stopped' } });
});

const all = new Catalogue([car, engine, radio, lamp]);
const names = ['engine', 'car', 'radio', 'lamp'];

function exchange(conditions: Partial<ExchangeConditions> = {}) {
  const { arriving, leaving, upstream } = planExchange({
    before: all,
    after: all,
    run: names,
    running: names,
    touched: new Set(),
    isUnderWay: () => false,
    ...conditions,
  });
  return { arriving, leaving: [...leaving].sort(), upstream: [...upstream] };
}

test('what runs and is not touched stays', (t) => {
  t.deepEqual(exchange(), { arriving: [], leaving: [], upstream: [] });
});

test('what is touched comes anew, and with it what needs or wants it, each after what it needs', (t) => {
  const [arriving, leaving] = [
    ['engine', 'car', 'radio'],
    ['car', 'engine', 'radio'],
  ];
  t.deepEqual(exchange({ touched: new Set(['engine']) }), { arriving, leaving, upstream: [] });
  const own = { arriving: ['car'], leaving: ['car'], upstream: ['engine'] };
  t.deepEqual(exchange({ touched: new Set(['car']) }), own);
});

test('what is not to run any more leaves, and so does what is not there any more', (t) => {
  const without = { arriving: ['radio'], leaving: ['car', 'engine', 'radio'], upstream: [] };
  t.deepEqual(exchange({ run: ['radio', 'lamp'] }), without);
  const after = new Catalogue([car, engine, radio]);
  t.deepEqual(exchange({ after, run: ['engine', 'car', 'radio'] }), {
    arriving: [],
    leaving: ['lamp'],
    upstream: [],
  });
});

test('what another change has in hand is left alone', (t) => {
  const isUnderWay = (name: string) => name === 'lamp';
  t.deepEqual(exchange({ running: ['engine', 'car', 'radio'], isUnderWay }), exchange());
  t.deepEqual(exchange({ run: ['engine', 'car', 'radio'], isUnderWay }), exchange());
});
