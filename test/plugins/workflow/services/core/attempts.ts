import fc from 'fast-check';
import type { TaskCompletion } from '../../../../../plugins/workflow/contract/runs.ts';

/** Something to try on a run. Numbers choose among what is there. */
export type Attempted =
  | { readonly try: 'claim'; readonly worker: string; readonly room: number }
  | { readonly try: 'succeed'; readonly which: number; readonly pick: number }
  | { readonly try: 'fail'; readonly which: number; readonly isRetryable: boolean }
  | { readonly try: 'release' | 'late'; readonly which: number }
  | { readonly try: 'lose'; readonly worker: string }
  | { readonly try: 'complete'; readonly which: number; readonly payload: TaskCompletion }
  | { readonly try: 'pass'; readonly ms: number }
  | { readonly try: 'tick' | 'retry' | 'cancel' };

const is = <T extends string>(name: T) => fc.constant(name);
const which = fc.nat(20);
const worker = fc.constantFrom('w1', 'w2');
const payload: fc.Arbitrary<TaskCompletion> = fc.record(
  {
    outcome: fc.constantFrom('a', 'b', 'c'),
    output: fc.record({ pick: fc.nat(1) }),
    variables: fc.record({ way: fc.nat(1) }),
  },
  { requiredKeys: [] },
);

/** What happens to runs, in about the proportions in which it tells something. */
export const attempts: fc.Arbitrary<Attempted[]> = fc.array(
  fc.oneof(
    { weight: 40, arbitrary: fc.record({ try: is('claim'), worker, room: fc.nat(4) }) },
    { weight: 40, arbitrary: fc.record({ try: is('succeed'), which, pick: fc.nat(2) }) },
    { weight: 15, arbitrary: fc.record({ try: is('fail'), which, isRetryable: fc.boolean() }) },
    { weight: 10, arbitrary: fc.record({ try: fc.constantFrom('release', 'late'), which }) },
    { weight: 15, arbitrary: fc.record({ try: is('lose'), worker }) },
    { weight: 35, arbitrary: fc.record({ try: is('complete'), which, payload }) },
    { weight: 20, arbitrary: fc.record({ try: is('pass'), ms: fc.constantFrom(50, 100, 200) }) },
    { weight: 25, arbitrary: fc.record({ try: fc.constantFrom('tick', 'retry') }) },
    { weight: 1, arbitrary: fc.record({ try: is('cancel') }) },
  ) as fc.Arbitrary<Attempted>,
  { minLength: 10, maxLength: 60, size: 'max' },
);
