import test from 'ava';
import { changedEntries, withEnabled } from '../../../foundation/config/desired.ts';
import { parseGatewayFile } from '../../../foundation/config/gateway-file.ts';

const nothing = parseGatewayFile('gateway.yaml', undefined);

test('the difference of two desired states is a list of names', (t) => {
  const disabled = withEnabled(nothing, 'car', false);
  t.deepEqual(changedEntries(nothing, disabled), ['car']);
  t.deepEqual(changedEntries(disabled, withEnabled(disabled, 'car', true)), ['car']);
  t.deepEqual(changedEntries(nothing, withEnabled(nothing, 'car', true)), []);
});
