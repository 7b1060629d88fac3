import { Type } from 'agent-gateway';
import test from 'ava';
import { fromWire, toWire } from '../../../foundation/base/wire.ts';

const Key = Type.Object({
  id: Type.String(),
  created_at: Type.String(),
  input_per_1k: Type.Integer(),
  last_used_at: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
});

test('a record is written with the names of its schema, moments as text, and nothing else of it', (t) => {
  const record = {
    id: 'a',
    createdAt: new Date(0),
    inputPer1k: 0,
    lastUsedAt: undefined,
    hash: 'not for clients',
  };
  t.deepEqual(toWire(Key)(record), {
    id: 'a',
    created_at: '1970-01-01T00:00:00.000Z',
    input_per_1k: 0,
    last_used_at: null,
  });
});

test('a body is read as the code spells it; members that its schema does not name are left out', (t) => {
  const body = { id: 'a', created_at: 'now', input_per_1k: 1, last_used_at: null, deleted_at: 'never' };
  t.deepEqual(fromWire(Key)(body), { id: 'a', createdAt: 'now', inputPer1k: 1, lastUsedAt: null });
});
