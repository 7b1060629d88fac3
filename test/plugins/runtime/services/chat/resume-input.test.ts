import test from 'ava';
import type { Interrupt } from '../../../../../plugins/agent-engine/contract.ts';
import {
  placeInInput,
  type ResumeInput,
  readDecisions,
} from '../../../../../plugins/runtime/services/chat/resume-input.ts';

const pause = (id: string, type: Interrupt['type'], ...names: string[]) =>
  ({ id, type, fields: names.map((name) => ({ name })) }) as unknown as Interrupt;
const APPROVAL = pause('a', 'approval');
const QUESTION = pause('q', 'question', 'n');
const REVIEW = pause('r', 'question', 'decision', 'answers');
const BOTH = [APPROVAL, QUESTION];

const cases: readonly (readonly [string, ResumeInput, readonly Interrupt[], object, string, string])[] = [
  [
    ...(['a plain decision', { decision: 'maybe' }, [APPROVAL], { a: { decision: 'maybe' } }] as const),
    ...(['/decisions/a/decision', '/body/input/decision'] as const),
  ],
  [
    ...(['answers', { answers: { n: 'x' } }, [QUESTION], { q: { answers: { n: 'x' } } }] as const),
    ...(['/decisions/q/answers/n', '/body/input/answers/n'] as const),
  ],
  [
    ...(['answers without their member', { n: 'x' }, [QUESTION], { q: { answers: { n: 'x' } } }] as const),
    ...(['/decisions/q/answers/n', '/body/input/n'] as const),
  ],
  [
    ...([
      'an answer called decision',
      { decision: 'x' },
      [REVIEW],
      { r: { answers: { decision: 'x' } } },
    ] as const),
    ...(['/decisions/r/answers/decision', '/body/input/decision'] as const),
  ],
  [
    ...([
      'an answer called answers',
      { answers: 'x' },
      [REVIEW],
      { r: { answers: { answers: 'x' } } },
    ] as const),
    ...(['/decisions/r/answers/answers', '/body/input/answers'] as const),
  ],
  [
    ...(['a decision by id', { a: { decision: 'maybe' } }, BOTH, { a: { decision: 'maybe' } }] as const),
    ...(['/decisions/a/decision', '/body/input/a/decision'] as const),
  ],
  [
    ...(['a text by id', { a: 'maybe' }, BOTH, { a: { decision: 'maybe' } }] as const),
    ...(['/decisions/a/decision', '/body/input/a'] as const),
  ],
  [
    ...(['an unknown id', { 'z/z': {} }, [APPROVAL], { 'z/z': {} }] as const),
    ...(['/decisions/z~1z', '/body/input/z~1z'] as const),
  ],
  [
    ...(['arguments alone', { arguments: {} }, [APPROVAL], { a: { arguments: {} } }] as const),
    ...(['/decisions/a/decision', '/body/input/decision'] as const),
  ],
];

for (const [name, input, open, decisions, pointer, place] of cases) {
  test(`${name}: it is read, and its problems have a place in the body`, (t) => {
    t.deepEqual(readDecisions(input, open) as object, decisions);
    t.is(placeInInput(input, open, pointer), place);
  });
}
