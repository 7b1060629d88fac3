import test from 'ava';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import {
  createFill,
  type TemplateModes,
} from '../../../../../plugins/workflow/services/graph/fill-config.ts';
import { MAX_INSERTED } from '../../../../../plugins/workflow/services/graph/graph-schema.ts';
import { anyCodePoint } from '../../../../support/code-points.ts';
import { runData } from './kit.ts';

const DATA = runData({
  input: {
    text: 'hello',
    number: 1.5,
    yes: true,
    null: null,
    empty: '',
    url: 'https://a.example/b?c=d#e',
    object: { b: [1, '}}'] },
    list: ['zero', { name: 'one' }],
    tricky: '{{input.text}}',
    odd: 'a/b?c&d=é #%',
    'first name': 'Ada',
    dots: '..',
    dot: '.',
    half: 'a\ud800b',
  },
  variables: { limit: 10 },
  outputs: { ask: { text: 'fine' } },
});

/** Fills one text in. */
function fill(text: Json, mode: 'text' | 'url' | 'none' = 'text') {
  const { input, missing } = createFill({ text }, { text: mode })(DATA);
  return { filled: input.text, missing };
}

const ROWS: readonly (readonly [title: string, text: Json, mode: 'text' | 'url' | 'none', filled: Json])[] = [
  ['a text is a text', 'plain', 'text', 'plain'],
  ['a string is inserted', 'Say {{input.text}}!', 'text', 'Say hello!'],
  ['spaces in the braces are fine', 'Say {{ input.text }}!', 'text', 'Say hello!'],
  ['a name may have spaces in it', '{{input.first name}}', 'text', 'Ada'],
  ['a whole reference keeps a number', '{{input.number}}', 'text', 1.5],
  ['a whole reference keeps a boolean', '{{ input.yes }}', 'text', true],
  ['a whole reference keeps null', '{{input.null}}', 'text', null],
  ['a whole reference keeps an object', '{{input.object}}', 'text', { b: [1, '}}'] }],
  ['a whole reference keeps an output', '{{steps.ask.output}}', 'text', { text: 'fine' }],
  ['a reference with a space beside it is inserted', '{{input.number}} ', 'text', '1.5 '],
  [
    'numbers, booleans and null are inserted as JSON',
    '{{input.number}}{{input.yes}}{{input.null}}',
    'text',
    '1.5truenull',
  ],
  ['objects are inserted as JSON', 'is {{input.object}}', 'text', 'is {"b":[1,"}}"]}'],
  ['elements are named by number', '{{input.list.0}} {{input.list.1.name}}', 'text', 'zero one'],
  ['variables are inserted', '<{{variables.limit}}>', 'text', '<10>'],
  ['outputs are inserted', '<{{steps.ask.output.text}}>', 'text', '<fine>'],
  ['what is inserted is not scanned', '<{{input.tricky}}>', 'text', '<{{input.text}}>'],
  ['a whole reference is not scanned', '{{input.tricky}}', 'text', '{{input.text}}'],
  ['unclosed braces are text', '{{input.text', 'text', '{{input.text'],
  ['what is no path stays', '{{foo}} {{input.text}}', 'text', '{{foo}} hello'],
  ['nothing is filled in where it is no template', '{{input.text}}', 'none', '{{input.text}}'],
  ['a URL is percent-encoded', 'https://h/{{input.odd}}', 'url', 'https://h/a%2Fb%3Fc%26d%3D%C3%A9%20%23%25'],
  ['a whole URL stays as it is', '{{input.url}}', 'url', 'https://a.example/b?c=d#e'],
  [
    'objects in a URL are encoded JSON',
    'http://h?q={{input.list.1}}',
    'url',
    'http://h?q=%7B%22name%22%3A%22one%22%7D',
  ],
  ['half a character in a URL does not fail', 'http://h/{{input.half}}', 'url', 'http://h/a%EF%BF%BDb'],
  ['two dots in a URL are no step up', 'http://h/a/{{input.dots}}/b', 'url', 'http://h/a/%252E%252E/b'],
  ['a dot in a URL is no step', 'http://h/a/{{input.dot}}/b', 'url', 'http://h/a/%252E/b'],
  ['templates are filled in at any depth', { a: [{ b: '{{input.number}}' }] }, 'text', { a: [{ b: 1.5 }] }],
  [
    'a mode holds at any depth',
    [{ a: 'x{{input.odd}}' }],
    'url',
    [{ a: 'xa%2Fb%3Fc%26d%3D%C3%A9%20%23%25' }],
  ],
  ['names of members are never filled in', { '{{input.text}}': 1 }, 'text', { '{{input.text}}': 1 }],
  ['other values stay', [1, null, false, {}], 'text', [1, null, false, {}]],
];

for (const [title, text, mode, filled] of ROWS) {
  test(title, (t) => t.deepEqual(fill(text, mode), { filled, missing: [] }));
}

test('a reference that leads nowhere is an empty text, and is told once', (t) => {
  const { filled, missing } = fill('<{{ input.gone }}{{input.gone}}{{variables.a.b}}{{steps.call.output}}>');
  t.is(filled, '<>');
  t.deepEqual(missing, ['input.gone', 'variables.a.b', 'steps.call.output']);
  t.deepEqual(fill('{{input.gone}}'), { filled: '', missing: ['input.gone'] });
  t.deepEqual(fill('http://h/{{input.gone}}/x', 'url'), { filled: 'http://h//x', missing: ['input.gone'] });
});

test('null, an empty text and zero are there', (t) => {
  t.deepEqual(fill('{{input.null}}{{input.empty}}').missing, []);
});

test('only own members are found, and only elements of arrays', (t) => {
  for (const path of [
    'toString',
    '__proto__',
    'constructor',
    'list.length',
    'text.length',
    'text.0',
    'list.-1',
  ]) {
    t.deepEqual(fill(`{{input.${path}}}`), { filled: '', missing: [`input.${path}`] }, path);
  }
});

test('a member named __proto__ is a member, and pollutes nothing', (t) => {
  const config = JSON.parse(
    '{"__proto__": {"x": "{{input.text}}"}, "deep": {"__proto__": "{{input.text}}"}}',
  );
  const { input } = createFill(config, {})(DATA);
  t.is(JSON.stringify(input), '{"__proto__":{"x":"hello"},"deep":{"__proto__":"hello"}}');
  t.is(Object.getPrototypeOf(input), Object.prototype);
  t.is(({} as { x?: string }).x, undefined);
});

test('modes are their own members: an inherited one says nothing', (t) => {
  const modes = Object.create({ text: 'none' }) as TemplateModes;
  t.deepEqual(createFill({ text: '{{input.number}}' }, modes)(DATA).input, { text: 1.5 });
});

test('a configuration that grows without end is refused, not written out', (t) => {
  const data = runData({ input: { big: 'x'.repeat(1024 * 1024), list: Array(500_000).fill(1) } });
  for (const [text, mode] of [
    ['{{input.big}}'.repeat(5_000), 'text'],
    [`http://h/${'{{input.big}}'.repeat(5_000)}`, 'url'],
    [Array(5_000).fill('{{input.big}}'), 'text'],
    [Array(5_000).fill('{{input.list}}'), 'text'],
  ] as const) {
    const { input, failure } = createFill({ text }, { text: mode })(data);
    t.deepEqual(input, {});
    t.is(failure?.code, 'input_too_large');
  }
});

test('what is just small enough is filled in', (t) => {
  const half = 'x'.repeat(MAX_INSERTED / 2);
  const { input, failure } = createFill(
    { a: '{{input.half}}{{input.half}}' },
    {},
  )(runData({ input: { half } }));
  t.is(failure, undefined);
  t.is((input.a as string).length, MAX_INSERTED);
  const over = createFill({ a: '{{input.half}}{{input.half}}{{input.one}}' }, {});
  t.is(over(runData({ input: { half, one: '1' } })).failure?.code, 'input_too_large');
});

test('data that are too deep to be written out are refused', (t) => {
  let deep: Json = 1;
  for (let level = 0; level < 1_000_000; level += 1) deep = [deep];
  t.is(
    createFill({ a: '<{{input.deep}}>' }, {})(runData({ input: { deep } })).failure?.code,
    'input_too_large',
  );
});

test('a configuration that is too deep is not read', (t) => {
  let deep: Json = '{{input.text}}';
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  t.throws(() => createFill({ deep }, {}), { message: /nested too deeply/ });
});

const TEXT = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCodePoint }),
  fc.constantFrom('{{input.b}}', '{{', '}}', '..', '/', '%2e'),
);

test('what is inserted is never read as a template, whatever it is', (t) => {
  fc.assert(
    fc.property(TEXT, TEXT, fc.array(TEXT), (a, b, between) => {
      const literals = between.map((text) => text.replaceAll('{', '').replaceAll('}', ''));
      const config = { text: literals.map((text) => `${text}{{input.a}}`).join('') };
      const { input } = createFill(config, {})(runData({ input: { a, b } }));
      t.is(input.text, literals.map((text) => text + a).join(''));
    }),
  );
});

test('a whole reference keeps every JSON value as it is', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const { input, missing } = createFill(
        { a: ['{{input.v}}'] },
        {},
      )(runData({ input: { v: value as Json } }));
      t.is((input.a as readonly Json[])[0], value as Json);
      t.deepEqual(missing, []);
    }),
  );
});

test('own members are found by their names, whatever they are, and nothing else is', (t) => {
  const name = fc.string({ minLength: 1 }).filter((text) => !/[.{}[\]|\s\p{Cc}]/u.test(text));
  fc.assert(
    fc.property(
      fc.oneof(name, fc.constantFrom('__proto__', 'constructor', 'valueOf')),
      fc.boolean(),
      (key, isThere) => {
        const input = JSON.parse(`{${isThere ? `${JSON.stringify(key)}: "found"` : ''}}`) as JsonObject;
        const result = createFill({ a: `{{input.${key}}}` }, {})(runData({ input }));
        t.deepEqual(
          result,
          isThere ? { input: { a: 'found' }, missing: [] } : { input: { a: '' }, missing: [`input.${key}`] },
        );
      },
    ),
  );
});

test('nothing that is inserted into a URL changes more of it than its own part', (t) => {
  fc.assert(
    fc.property(TEXT, (value) => {
      const config = { url: 'https://host.example:8443/v1/{{input.v}}/tail?q={{input.v}}&r=1#{{input.v}}' };
      const url = new URL(
        createFill(config, { url: 'url' })(runData({ input: { v: value } })).input.url as string,
      );
      t.is(url.origin, 'https://host.example:8443');
      t.is(url.username + url.password, '');
      const [, version, part, tail, ...more] = url.pathname.split('/');
      t.deepEqual([version, tail, more.length], ['v1', 'tail', 0]);
      const kept = value.toWellFormed();
      const isDots = kept === '.' || kept === '..';
      t.is(decodeURIComponent(part ?? ''), isDots ? kept.replaceAll('.', '%2E') : kept);
      t.deepEqual([...url.searchParams.keys()], ['q', 'r']);
      if (!isDots) t.is(decodeURIComponent(url.search.slice(3, -4)), kept);
    }),
    { numRuns: 1_000 },
  );
});
