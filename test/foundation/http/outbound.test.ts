import test from 'ava';
import { readAnswer } from '../../../foundation/http/outbound.ts';

test('an answer is read whole, up to its bound', async (t) => {
  const body = async function* () {
    yield Buffer.from('ab');
    yield Buffer.from('cd');
  };
  t.is((await readAnswer(body(), 4, 'the answer')).toString(), 'abcd');
  t.is((await readAnswer(null, 4, 'the answer')).length, 0);
});

test('a longer answer is given up, and not read on', async (t) => {
  let pieces = 0;
  let isClosed = false;
  const endless = async function* () {
    try {
      for (;;) {
        pieces += 1;
        yield Buffer.alloc(3);
      }
    } finally {
      isClosed = true;
    }
  };
  await t.throwsAsync(readAnswer(endless(), 5, 'the answer of the hub'), {
    message: 'the answer of the hub is longer than 5 bytes',
  });
  t.is(pieces, 2);
  t.true(isClosed);
});
