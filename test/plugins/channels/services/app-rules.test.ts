import test from 'ava';
import type { UnreadBody } from '../../../../foundation/base/refusing.ts';
import { ConfigurationError } from '../../../../foundation/config/configuration-error.ts';
import { addressesOf } from '../../../../plugins/channels/services/addresses.ts';
import { appProblems, loginSecretOf, writersAfter } from '../../../../plugins/channels/services/app-rules.ts';
import type { AppRow } from '../../../../plugins/channels/store/tables.ts';

const places = (body: UnreadBody, isNew = true) => appProblems(body, isNew).map(({ pointer }) => pointer);

test('everything that is wrong with an app is told together, whatever else its body is', (t) => {
  const sound = { platform: 'feishu', app_key: 'cli_1', app_secret_ref: 'env:A' };
  t.deepEqual(places(sound), []);
  t.deepEqual(places({ ...sound, app_secret_ref: null, oauth_secret_ref: 'file:a/b' }), []);
  t.deepEqual(
    places({ ...sound, platform: 'wecom', app_key: 'a:b', app_secret_ref: 'x', webhook_secret_ref: 'y' }),
    ['/body/app_secret_ref', '/body/webhook_secret_ref', '/body/app_key'],
  );
  t.deepEqual(places({}), ['/body/app_secret_ref']);
  t.deepEqual(places({ enabled: true }, false), []);
  t.deepEqual(places({ oauth_secret_ref: 'a secret' }, false), ['/body/oauth_secret_ref']);
  t.deepEqual(places({ platform: 'wecom', app_key: {}, app_secret_ref: 7 }), []);
  for (const key of ['ww1', 'ww1:1000002'])
    t.deepEqual(places({ ...sound, platform: 'wecom', app_key: key }), [], key);
  for (const key of [':1', 'ww1:', 'ww1:x', 'ww1:1:2']) {
    t.deepEqual(places({ ...sound, platform: 'wecom', app_key: key }), ['/body/app_key'], key);
  }
});

test('the message of a bad reference does not hold it: it may be the secret itself', (t) => {
  t.notRegex(JSON.stringify(appProblems({ app_secret_ref: 'hunter2' }, true)), /hunter2/);
});

test('a reference is his who wrote it last, and may name what he may', (t) => {
  const first = writersAfter('', { appSecretRef: 'env:A', oauthSecretRef: 'env:B' }, 'tenant');
  t.is(first, 'app,oauth');
  t.is(writersAfter(first, { appSecretRef: 'env:C' }, 'operator'), 'oauth');
  t.is(writersAfter(first, {}, 'operator'), first);
  t.is(writersAfter('', { webhookSecretRef: null }, 'tenant'), 'webhook');
  const app = { appSecretRef: 'env:A', oauthSecretRef: null, tenantRefs: 'oauth' } as AppRow;
  t.deepEqual(loginSecretOf(app), { reference: 'env:A', from: 'operator' });
  t.deepEqual(loginSecretOf({ ...app, tenantRefs: 'app' }), { reference: 'env:A', from: 'tenant' });
  t.deepEqual(loginSecretOf({ ...app, oauthSecretRef: 'env:B' }), { reference: 'env:B', from: 'tenant' });
});

test('addresses lose slashes at their end, and one that cannot be used stops the start and is named', (t) => {
  const settings = { hash_secret: undefined, cookie_secure: true, wecom_url: undefined };
  const others = { weixin_url: 'http://127.0.0.1:9', feishu_url: 'https://open.larksuite.com/' };
  t.deepEqual(addressesOf({ ...settings, ...others, public_url: 'https://a.example/gateway//' }), {
    publicUrl: 'https://a.example/gateway',
    origins: { feishu: 'https://open.larksuite.com', weixin: 'http://127.0.0.1:9', wecom: undefined },
  });
  const wrong = {
    public_url: 'https://a.example/?a',
    feishu_url: 'https://u@a.example',
    weixin_url: 'https://a.example/b',
  };
  const error = t.throws(() => addressesOf({ ...settings, ...wrong }), { instanceOf: ConfigurationError });
  t.deepEqual(
    error.problems.map(({ name }) => name),
    ['SAAS_PUBLIC_URL', 'SVC_CHANNEL_FEISHU_URL', 'SVC_CHANNEL_WEIXIN_URL'],
  );
});
