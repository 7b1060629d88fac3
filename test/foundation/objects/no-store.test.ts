import test from 'ava';
import type { GatewayError } from '../../../foundation/base/gateway-error.ts';
import { openForTest } from './open-for-test.ts';

test('without object storage every use is refused as unavailable, and readiness is not concerned', async (t) => {
  const { objects } = await openForTest(t, 'none');
  t.false(objects.available);
  const refused = { code: 'objects.unavailable', message: /OBJECT_STORE_URL/ };
  const error = await t.throwsAsync<GatewayError>(objects.all().get('acme/a'));
  t.deepEqual(error.extras, { retryable: false }, 'no time is named after which it would succeed');
  for (const space of [objects.forTenant('acme'), objects.all()]) {
    const key = 'acme/a';
    await t.throwsAsync(space.put(key, 'x'), refused);
    await t.throwsAsync(space.get(key), refused);
    await t.throwsAsync(space.text(key, 1), refused);
    await t.throwsAsync(space.head(key), refused);
    await t.throwsAsync(space.delete(key), refused);
    await t.throwsAsync(space.list('acme/'), refused);
    await t.throwsAsync(space.deleteAll('acme/'), refused);
  }
  await objects.check(AbortSignal.timeout(1000));
});
