import test from 'ava';
import fc from 'fast-check';
import {
  isToolRef,
  matchesRef,
  mayHold,
  toToolName,
  uniqueNames,
} from '../../../../../plugins/agent-engine/services/tools/tool-catalog.ts';

test('names are those that every provider accepts, each once, and the same each time', (t) => {
  const wish = fc.oneof(fc.string(), fc.constantFrom('search', 'search_2', 'a.b', 'a/b', 'x'.repeat(80)));
  fc.assert(
    fc.property(fc.array(wish, { maxLength: 40 }), fc.array(wish.map(toToolName)), (wishes, taken) => {
      const names = uniqueNames(wishes, taken);
      t.is(new Set([...names, ...taken]).size, names.length + new Set(taken).size);
      t.true(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)));
      t.deepEqual(uniqueNames(wishes, taken), names);
    }),
  );
});

test('a name that is free stays as it is, a second one is numbered', (t) => {
  t.deepEqual(uniqueNames(['search', 'search', 'look', 'search']), [
    'search',
    'search_2',
    'look',
    'search_3',
  ]);
  t.deepEqual(uniqueNames(['search'], ['search']), ['search_2']);
});

for (const [ref, isRef] of [
  ['builtin/calculator', true],
  ['mcp://search/web', true],
  ['mcp://search/web.find', true],
  ['mcp://search/*', true],
  ['skill://write-email', true],
  ['plugin/notes/add_note', true],
  ['calculator', false],
  ['builtin/', false],
  ['builtin/*', false],
  ['builtin/a/b', false],
  ['mcp://search', false],
  ['mcp://*/web', false],
  ['mcp://search/a*', false],
  ['skill://', false],
  ['plugin/notes', false],
  ['http://example.com/', false],
] as const) {
  test(`${ref} is ${isRef ? 'a' : 'no'} name of a tool`, (t) => t.is(isToolRef(ref), isRef));
}

test('a star stands for all tools of a server', (t) => {
  t.true(matchesRef({ ref: 'mcp://search/web' }, 'mcp://search/*'));
  t.false(matchesRef({ ref: 'mcp://search2/web' }, 'mcp://search/*'));
  t.false(matchesRef({ ref: 'mcp://search/web' }, 'mcp://search/we'));
});

test('only sources that may have a tool are asked for it', (t) => {
  t.true(mayHold({ prefix: 'mcp://' }, 'mcp://search/web'));
  t.true(mayHold({ prefix: 'mcp://search/' }, 'mcp://search/*'));
  t.false(mayHold({ prefix: 'mcp://other/' }, 'mcp://search/*'));
  t.false(mayHold({ prefix: 'builtin/' }, 'plugin/notes/add'));
});
