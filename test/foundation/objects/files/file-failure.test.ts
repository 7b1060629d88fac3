import test from 'ava';
import type { GatewayError } from '../../../../foundation/base/gateway-error.ts';
import { fileFailure } from '../../../../foundation/objects/files/object-file.ts';
import { ObjectErrors } from '../../../../foundation/objects/object-errors.ts';

const systemError = (code: string) => Object.assign(new Error(`${code}: '/secret/place'`), { code });

test('a full disk and a full quota are told apart from other failures, and the text stays inside', (t) => {
  for (const [code, expected] of [
    ['ENOSPC', 'objects.full'],
    ['EDQUOT', 'objects.full'],
    ['EACCES', 'objects.unavailable'],
    ['EROFS', 'objects.unavailable'],
    ['EIO', 'objects.unavailable'],
    ['EMFILE', 'objects.unavailable'],
  ] as const) {
    const cause = systemError(code);
    const failure = fileFailure(cause) as GatewayError;
    t.is(failure.code, expected);
    t.is(failure.kind, 'unavailable');
    t.is(failure.cause, cause);
    t.notRegex(failure.detail, /secret/);
  }
});

test('what is no failure of the system stays what it is', (t) => {
  for (const error of [new TypeError('a defect'), ObjectErrors.exists(), 'text', undefined]) {
    t.is(fileFailure(error), error);
  }
});
