import { createHmac } from 'node:crypto';
import test from 'ava';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import { loginCookie } from '../../../../plugins/channels/services/cookies.ts';
import {
  hasHash,
  hashOf,
  isSecret,
  newSecret,
  userHash,
} from '../../../../plugins/channels/services/secrets.ts';

test('a secret is 20 to 128 letters and digits, another one each time, and known by its hash', (t) => {
  const ids = createIds(systemClock);
  const [one, other] = [newSecret(ids), newSecret(ids)];
  t.regex(one, /^[A-Za-z0-9]{20,128}$/);
  t.not(one, other);
  t.true(isSecret(one));
  t.true(hasHash(one, hashOf(one)));
  t.false(hasHash(other, hashOf(one)));
  t.false(hashOf(one).includes(one));
  for (const text of [
    '',
    one.slice(1),
    `${one}0`,
    one.toUpperCase(),
    `${one.slice(1)}\n`,
    `${one.slice(1)}ü`,
  ]) {
    t.is(isSecret(text), /^[0-9a-f]{64}$/.test(text) && text.length === 64, text);
  }
  t.regex(loginCookie(one), /^svc_login_[0-9a-f]{16}$/);
  t.not(loginCookie(one), loginCookie(other));
});

test('a user is stored as the HMAC of platform, app and id, which no other user has', (t) => {
  const key = 'k'.repeat(32);
  const user = { platform: 'feishu', appKey: 'cli_1', id: 'ou_1' } as const;
  t.is(userHash(key, user), createHmac('sha256', key).update('feishu\0cli_1\0ou_1').digest('hex'));
  const others = [
    { ...user, platform: 'wecom' as const },
    { ...user, appKey: 'cli_' },
    { ...user, id: 'ou_2' },
    { ...user, appKey: 'cli_', id: '1ou_1' },
  ].map((other) => userHash(key, other));
  t.is(new Set([...others, userHash(key, user), userHash('l'.repeat(32), user)]).size, 6);
});
