import test from 'ava';
import fc from 'fast-check';
import { createSuggest } from '../../../../../plugins/workflow/services/graph/problems.ts';

const KNOWN = ['agent_task', 'service_task', 'human_task', 'start', 'end', 'eq', 'startsWith'];

const ROWS: readonly (readonly [wrong: string, meant: string | undefined])[] = [
  ['agent-task', 'agent_task'],
  ['AgentTask', 'agent_task'],
  ['agnet_task', 'agent_task'],
  ['servic_tsk', 'service_task'],
  ['strat', 'start'],
  ['ende', 'end'],
  ['startswith', 'startsWith'],
  ['EQ', 'eq'],
  ['ex', undefined],
  ['task', undefined],
  ['', undefined],
  ['colour', undefined],
  ['agent_task'.repeat(20_000), undefined],
];

for (const [wrong, meant] of ROWS) {
  test(`"${wrong.slice(0, 20)}" probably means ${meant ?? 'nothing known'}`, (t) => {
    t.is(createSuggest()(wrong, KNOWN), meant === undefined ? '' : ` Did you mean "${meant}"?`);
  });
}

test('of several names the nearest is meant, of those that are as near the first', (t) => {
  t.is(createSuggest()('node_13', ['node_25', 'node_12', 'node_14']), ' Did you mean "node_12"?');
});

test('one search in a check after another ends', (t) => {
  const suggest = createSuggest();
  const found = Array.from({ length: 60 }, () => suggest('strat', KNOWN)).filter((text) => text !== '');
  t.is(found.length, 50);
});

/** Levenshtein distance, as the book has it. */
function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => i + j),
  );
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      rows[i]![j] = Math.min(substitution, rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1);
    }
  }
  return rows[a.length]![b.length]!;
}

test('two typing errors are forgiven, one in names below five letters, none below three', (t) => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 });
  fc.assert(
    fc.property(word, word, (wrong, known) => {
      const allowed = wrong.length < 3 ? 0 : wrong.length < 5 ? 1 : 2;
      t.is(createSuggest()(wrong, [known]) !== '', distance(wrong, known) <= allowed);
    }),
    { numRuns: 3_000 },
  );
});
