import test from 'ava';
import { reason } from '../../../../foundation/data/drivers/driver.ts';
import { DatabaseErrors } from '../../../../foundation/data/errors.ts';

test('the reason of a failed connection is the original one where there is one', (t) => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  t.is(reason(refused), 'connect ECONNREFUSED');
  t.is(reason(DatabaseErrors.unavailable(undefined, { cause: refused })), 'connect ECONNREFUSED');
  t.is(reason(DatabaseErrors.unavailable('It hung up')), 'It hung up');
  t.is(reason(Object.assign(new Error(''), { code: 'ECONNRESET' })), 'ECONNRESET');
});
