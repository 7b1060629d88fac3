import test from 'ava';
import { readKinds } from '../../../foundation/redaction/kind-table.ts';
import { createRedactor, redactionProgram } from '../../../foundation/redaction/redactor.ts';

function redactWith(forms: string) {
  const program = redactionProgram(readKinds(`x  ${forms}\n  Some kind gitleaks:x`));
  return (text: string) => {
    const redactor = createRedactor(program);
    return redactor.push(text) + redactor.end();
  };
}

const FORMS: readonly (readonly [form: string, text: string, redacted: string])[] = [
  ['ab_{hex 4}', 'ab_12345678z_ ab_123 xab_1234 -ab_1234', '[REDACTED:x] ab_123 xab_1234 -[REDACTED:x]'],
  ['(a|b)(1|2)-{hex 2} c{hex 3}', 'a1-ff b2-ff c3-ff c123', '[REDACTED:x] [REDACTED:x] c3-ff [REDACTED:x]'],
  ['^ab-{hex 2}', 'ab-ff x-ab-ff', '[REDACTED:x] x-ab-ff'],
  ['*ab-{hex 2}', 'xab-ff', 'x[REDACTED:x]'],
  ['ab{hex 2-2}!', 'ab12 ab123 ab12-', '[REDACTED:x] ab123 [REDACTED:x]-'],
  ['ab{hex 2-3}.{digit 1}', 'ab12.3 ab1234.5', '[REDACTED:x] ab1234.5'],
  ['ab{lower+.= 3}!', 'ab1.= ab1.', '[REDACTED:x] ab1.'],
  ['ab{alnum 6~}', 'abcdefgh1 ab1c2d3e', 'abcdefgh1 [REDACTED:x]'],
  ['ab{alnum 6-6~}!', 'ab1c2d3e ab1c2d3e4', '[REDACTED:x] ab1c2d3e4'],
  ['*Host/{digit 1}/→{hex 2}', 'host/12/ff', 'host/12/[REDACTED:x]'],
  ['{digit 3-3}{digit 0-1}:{hex 2}', '123:ff 1234:ff 12:ff', '[REDACTED:x] [REDACTED:x] 12:ff'],
];

for (const [form, text, redacted] of FORMS) {
  test(`${form} finds what it says`, (t) => t.is(redactWith(form)(text), redacted));
}

test('a table that cannot be read says what is wrong', (t) => {
  t.throws(() => readKinds('x  ab_{hex 4}'), { message: /^x is no kind/ });
  t.throws(() => readKinds('x\n  Some kind gitleaks:x'), { message: /^x is no kind/ });
  t.throws(() => readKinds('x  ab_{hexa 4}\n  Some kind gitleaks:x'), { message: /hexa is no class/ });
});

test('a kind has its name, its title and the address of its source', (t) => {
  const [kind] = readKinds('x  ab_{hex 4}\n  Some kind, described gitleaks:some-rule');
  t.like(kind, {
    kind: 'x',
    title: 'Some kind, described',
    source: 'https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml#some-rule',
  });
});
