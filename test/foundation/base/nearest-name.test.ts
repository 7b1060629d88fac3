import test from 'ava';
import { nearestName } from '../../../foundation/base/nearest-name.ts';

const known = ['max_steps', 'drainTimeout', 'enabled'];
const cases: [string, string | undefined][] = [
  ['max_step', 'max_steps'],
  ['maxSteps', 'max_steps'],
  ['drain_timeout', 'drainTimeout'],
  ['enabeld', 'enabled'],
  ['colour', undefined],
  ['x', undefined],
  ['e'.repeat(100_000), undefined],
];
for (const [wrong, meant] of cases) {
  test(`"${wrong.slice(0, 20)}" probably means ${meant ?? 'nothing known'}`, (t) =>
    t.is(nearestName(wrong, known), meant));
}
