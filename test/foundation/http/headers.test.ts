import test from 'ava';
import { textHeaderOf } from '../../../foundation/http/headers.ts';

/** As Node reads the bytes of a header. */
const read = (bytes: Buffer) => ({ 'x-name': bytes.toString('latin1') });

test('the text of a header is read as UTF-8, or else as ISO-8859-1', (t) => {
  for (const text of ['ada', '', 'zoë', '日本', '🍵', '\ufeffx'])
    t.is(textHeaderOf(read(Buffer.from(text, 'utf8')), 'X-Name'), text);
  t.is(textHeaderOf(read(Buffer.from('zoë', 'latin1')), 'x-name'), 'zoë');
  t.is(textHeaderOf({}, 'x-name'), undefined);
  t.is(
    textHeaderOf({ 'x-name': ['zoë', 'ada'].map((one) => read(Buffer.from(one))['x-name']) }, 'x-name'),
    'zoë',
  );
});
