import { PassThrough } from 'node:stream';
import test from 'ava';
import { ObjectErrors } from '../../../foundation/objects/object-errors.ts';
import { everythingIn, freshFolder, openForTest } from './open-for-test.ts';

test('a body that does not come to its end ends with the storage', async (t) => {
  const folder = await freshFolder(t);
  const { objects } = await openForTest(t, `file:${folder}`);
  const body = new PassThrough();
  body.write('begun');
  const storing = objects.forTenant('acme').put('endless', body);
  const refused = t.throwsAsync(storing, { code: ObjectErrors.unavailable.definition.code });
  await objects.close();
  // Without an end of its own the write would go on for five minutes.
  await refused;
  t.true(body.destroyed);
  t.deepEqual(
    (await everythingIn(folder)).filter((name) => name.includes('endless')),
    [],
  );
  await t.throwsAsync(objects.all().put('acme/late', new PassThrough()), { code: 'objects.unavailable' });
});
