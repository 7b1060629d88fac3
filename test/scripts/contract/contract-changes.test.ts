import test from 'ava';
import {
  contractChanges,
  declarationsOf,
  leastVersion,
  reachOf,
} from '../../../scripts/contract/contract-changes.ts';

const report = (...blocks: readonly string[]) =>
  declarationsOf(
    ['## API', '', '```ts', '', "import type { Static } from 'typebox';", '', ...blocks, '```'].join('\n'),
  );

const SCOPE = '// @public\nexport interface Scope {\n    // (undocumented)\n    readonly name: string;\n}\n';
const KIND = "// @public\nexport type Kind = 'a' | 'b';\n";

test('declarations are read by name, without comments', (t) => {
  const read = report(SCOPE, KIND, 'export { defineEntity }\n', '// @public\nexport const first = 1;\n');
  t.deepEqual([...read.keys()], ['Scope', 'Kind', 'defineEntity', 'first']);
  t.deepEqual(read.get('Scope'), ['export interface Scope {', '    readonly name: string;', '}']);
});

test('what stays is no change, and no version is asked for', (t) => {
  const changes = contractChanges(report(SCOPE, KIND), report(KIND, SCOPE.replace('undocumented', 'x')));
  t.deepEqual(changes, []);
  t.is(leastVersion('1.2.3', reachOf(changes)), '1.2.3');
});

test('new declarations and new lines ask for a minor version', (t) => {
  const grown = SCOPE.replace('}', '    readonly log: Logger;\n}');
  const changes = contractChanges(report(SCOPE), report(grown, KIND));
  t.deepEqual(changes, [
    { name: 'Scope', reach: 'minor', what: 'has more lines' },
    { name: 'Kind', reach: 'minor', what: 'is new' },
  ]);
  t.is(leastVersion('1.2.3', reachOf(changes)), '1.3.0');
});

test('what is gone or changed asks for a major version, unless it was decided to be compatible', (t) => {
  const widened = KIND.replace("'b'", "'b' | 'c'");
  const changes = contractChanges(report(SCOPE, KIND), report(widened));
  t.deepEqual(
    changes.map(({ name, reach }) => [name, reach]),
    [
      ['Scope', 'major'],
      ['Kind', 'major'],
    ],
  );
  t.is(leastVersion('1.2.3', reachOf(changes)), '2.0.0');
  t.is(reachOf(contractChanges(report(KIND), report(widened), new Set(['Kind']))), 'minor');
});
