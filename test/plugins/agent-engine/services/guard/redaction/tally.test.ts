import test from 'ava';
import {
  count,
  isNoPlaceholder,
  looksRandom,
  newTally,
} from '../../../../../../plugins/agent-engine/services/guard/redaction/pattern.ts';

function tallyOf(text: string) {
  const tally = newTally();
  for (const char of text) count(tally, char.charCodeAt(0));
  return tally;
}

test('a tally counts digits, cases and the changes between letters and digits', (t) => {
  t.deepEqual(tallyOf('aB3-4c'), {
    length: 6,
    digits: 2,
    hasUpper: true,
    hasLower: true,
    changes: 2,
    last: 'letter',
  });
});

test('letters and digits in turn look random, names do not', (t) => {
  for (const text of ['Xk9dk20Dkq93kd02kdk1', '1234567890abcdef1234', '9fceb02a4c', 'abcd1234efgh5678ijkl'])
    t.true(looksRandom(tallyOf(text)), text);
  for (const text of [
    'process.env.API_KEY_V2',
    'correct-horse-battery',
    'oauth2ClientSecret',
    '20240115-1200',
    '',
  ])
    t.false(looksRandom(tallyOf(text)), text);
});

test('a placeholder has one case and no digits, and is short', (t) => {
  for (const text of ['token', 'YOUR_ACCESS_TOKEN', 'your-token-here'])
    t.false(isNoPlaceholder(tallyOf(text)), text);
  for (const text of ['dXNlcjpwYXNz', 'token1', 'a'.repeat(32)]) t.true(isNoPlaceholder(tallyOf(text)), text);
});
