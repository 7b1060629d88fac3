import test, { type ExecutionContext } from 'ava';
import type { GatewayError } from '../../../../foundation/base/gateway-error.ts';
import type { Platform } from '../../../../plugins/channels/contract.ts';
import {
  createProviders,
  type Providers,
} from '../../../../plugins/channels/services/providers/providers.ts';
import type { FakeMessenger, WrongAnswer } from '../../../support/fake-messenger.ts';
import { until } from '../../../support/until.ts';
import { messengerOf, PLATFORMS } from '../channel-kit.ts';

const REDIRECT = 'https://gateway.example/auth/channel/x/callback';
const STATE = 'a'.repeat(64);
const never = new AbortController().signal;

interface Place {
  readonly messenger: FakeMessenger;
  readonly providers: Providers;
  /** Confirms at the messenger; what the browser comes back with. */
  confirm(): Promise<string>;
  identify(code: string, more?: { readonly secret?: string; readonly signal?: AbortSignal }): Promise<string>;
}

async function start(
  t: ExecutionContext,
  platform: Platform,
  options: { readonly appKey?: string; readonly timeout?: number } = {},
): Promise<Place> {
  const messenger = await messengerOf(t, platform, options);
  const providers = createProviders({ [platform]: messenger.url }, options);
  t.teardown(providers.close);
  const { appKey, secret } = messenger;
  return {
    messenger,
    providers,
    async confirm() {
      const page = providers.authorizeUrl(platform, { appKey, redirectUri: REDIRECT, state: STATE });
      const response = await fetch(page, { redirect: 'manual' });
      const back = new URL(response.headers.get('location') ?? '');
      t.is(back.searchParams.get('state'), STATE);
      t.is(`${back.origin}${back.pathname}`, REDIRECT);
      return back.searchParams.get('code') ?? '';
    },
    identify: (code, { secret: given = secret, signal = never } = {}) =>
      providers.identify(platform, { appKey, secret: given, code }, signal),
  };
}

/** The code of the error with which it fails; what its caller is told has nothing of the provider's words in it. */
async function codeOf(t: ExecutionContext, work: Promise<string>): Promise<string> {
  const error = (await t.throwsAsync(work)) as GatewayError;
  t.notRegex(
    `${error.message} ${JSON.stringify(error.extras.errors ?? [])}`,
    /words of the provider|invalid/i,
  );
  return error.code;
}

test('the pages are those of the providers', (t) => {
  const { authorizeUrl } = createProviders({});
  const url = (platform: Platform, appKey: string) =>
    new URL(authorizeUrl(platform, { appKey, redirectUri: REDIRECT, state: STATE }));
  const pages = [
    [url('feishu', 'cli_1'), 'https://accounts.feishu.cn/open-apis/authen/v1/authorize', ''],
    [url('weixin', 'wx1'), 'https://open.weixin.qq.com/connect/qrconnect', '#wechat_redirect'],
    [url('wecom', 'ww1'), 'https://open.weixin.qq.com/connect/oauth2/authorize', '#wechat_redirect'],
    [url('wecom', 'ww1:1000002'), 'https://login.work.weixin.qq.com/wwlogin/sso/login', ''],
  ] as const;
  for (const [page, at, hash] of pages) {
    t.is(`${page.origin}${page.pathname}`, at);
    t.is(page.hash, hash);
    t.is(page.searchParams.get('redirect_uri'), REDIRECT);
    t.is(page.searchParams.get('state'), STATE);
  }
  t.is(url('wecom', 'ww1').searchParams.has('agentid'), false);
});

for (const platform of PLATFORMS) {
  test(`${platform}: who has confirmed is known, once for each code`, async (t) => {
    const { messenger, confirm, identify } = await start(t, platform);
    const code = await confirm();
    t.is(await identify(code), 'ou_anna');
    t.is(await codeOf(t, identify(code)), 'channel.code-refused', 'a code works once');
    t.is(await codeOf(t, identify('&x=1#?')), 'channel.code-refused', 'a code stays a code');
    t.is(await codeOf(t, identify(await confirm(), { secret: 'wrong' })), 'channel.provider-failed');
    messenger.user = 'ou_ben';
    t.is(await identify(await confirm()), 'ou_ben');
  });

  test(`${platform}: whatever the provider answers wrongly, in any of its calls, is a failure without its words`, async (t) => {
    const { messenger, confirm, identify } = await start(t, platform);
    t.is(await identify(await confirm()), 'ou_anna');
    const paths = messenger.calls.map((call) => call.split('?')[0]!);
    t.true(paths.length > 0);
    const error = { code: 99999, errcode: -1, errmsg: 'words of the provider', msg: 'words of the provider' };
    const wrongs: readonly (readonly [title: string, answer: WrongAnswer])[] = [
      ['HTML', { headers: { 'content-type': 'text/html' }, body: '<html>words of the provider</html>' }],
      [
        'an error with status 200',
        { headers: { 'content-type': 'text/plain' }, body: JSON.stringify(error) },
      ],
      ['an error with status 400', { status: 400, body: JSON.stringify(error) }],
      ['a failure', { status: 502, body: 'words of the provider' }],
      ['nothing', { body: '' }],
      ['no content', { status: 204 }],
      ['another value', { body: 'null' }],
      ['a list', { body: '[]' }],
      ['a text for a number', { body: '{"code": "0", "errcode": "0", "access_token": "a", "openid": "o"}' }],
      ['no members', { body: '{"code": 0, "errcode": 0}' }],
      [
        'members of other types',
        {
          body: '{"code": 0, "errcode": 0, "data": 7, "access_token": {}, "app_access_token": [], "openid": 7, "userid": {}}',
        },
      ],
      [
        'empty members',
        {
          body: '{"code": 0, "errcode": 0, "data": {"access_token": "", "open_id": ""}, "access_token": "", "app_access_token": "", "openid": "", "userid": ""}',
        },
      ],
      [
        'a long id',
        {
          body: JSON.stringify({
            code: 0,
            errcode: 0,
            data: { open_id: 'x'.repeat(257) },
            openid: 'x'.repeat(257),
            userid: 'x'.repeat(257),
          }),
        },
      ],
      [
        'a header in a token',
        {
          body: JSON.stringify({
            code: 0,
            errcode: 0,
            app_access_token: 'a\r\nb: c',
            access_token: '',
            data: { access_token: 'a\r\nb: c' },
          }),
        },
      ],
      ['too much', { body: `{"code": 0, "filler": "${'x'.repeat(1_000_000)}"}` }],
      ['too much without an end', { body: 'x'.repeat(200_000), end: false }],
      ['a broken gzip', { headers: { 'content-encoding': 'gzip' }, body: 'words' }],
      [
        'a redirect',
        {
          status: 302,
          headers: { location: `${messenger.url}/elsewhere` },
          body: '{"code": 0, "errcode": 0, "openid": "o", "userid": "o"}',
        },
      ],
    ];
    for (const wrongPath of paths) {
      for (const [title, answer] of wrongs) {
        messenger.instead = (path) => (path === wrongPath ? answer : undefined);
        t.is(await codeOf(t, identify(await confirm())), 'channel.provider-failed', `${wrongPath}: ${title}`);
      }
    }
    messenger.instead = undefined;
    t.false(messenger.calls.includes('/elsewhere'), 'no redirect is followed');
    t.is(await identify(await confirm()), 'ou_anna');
  });

  test(`${platform}: a provider that hangs ends in its time, wherever it does, and when the caller leaves`, async (t) => {
    const { messenger, confirm, identify } = await start(t, platform, { timeout: 300 });
    const hangs: readonly WrongAnswer[] = [{ end: false }, { body: '{"code":', end: false }];
    for (const answer of hangs) {
      messenger.instead = () => answer;
      t.is(await codeOf(t, identify(await confirm())), 'channel.provider-timeout');
    }
    const patient = await start(t, platform);
    patient.messenger.instead = () => hangs[0]!;
    const caller = new AbortController();
    const left = patient.identify(await patient.confirm(), { signal: caller.signal });
    left.catch(() => {});
    await until(() => patient.messenger.calls.length > 0);
    caller.abort(new Error('gone'));
    await t.throwsAsync(left, { message: 'gone' });
  });

  test(`${platform}: a provider that is not there is a failure, and ending breaks what is under way`, async (t) => {
    const { messenger, providers, confirm, identify } = await start(t, platform);
    messenger.instead = () => ({ end: false });
    const broken = identify(await confirm());
    broken.catch(() => {});
    await until(() => messenger.calls.length > 0);
    await providers.close();
    t.is(await codeOf(t, broken), 'channel.provider-failed');
    await messenger.close();
    const { appKey, secret } = messenger;
    const nowhere = createProviders({ [platform]: messenger.url });
    t.teardown(nowhere.close);
    t.is(
      await codeOf(t, nowhere.identify(platform, { appKey, secret, code: 'c' }, never)),
      'channel.provider-failed',
    );
  });
}

test('wecom: an app key without an agent is that of a corporation, and who is no member of it is not let in', async (t) => {
  const { messenger, confirm, identify } = await start(t, 'wecom', { appKey: 'wwCorpId' });
  t.is(await identify(await confirm()), 'ou_anna');
  messenger.user = 'guest oAbc';
  t.is(await codeOf(t, identify(await confirm())), 'channel.not-member');
});

/**
 * The error codes of "Get user_access_token" (authen/v1/oidc) that say something about the code or the user, and those
 * of its present version.
 */
const FEISHU_REFUSALS = {
  'channel.code-refused': [20003, 20004, 20007, 20024, 20065],
  'channel.not-member': [20008, 20010, 20021, 20022, 20023],
};

for (const [refusal, codes] of Object.entries(FEISHU_REFUSALS)) {
  test(`feishu: what it says of a code or a user is ${refusal}`, async (t) => {
    const { messenger, confirm, identify } = await start(t, 'feishu');
    for (const code of codes) {
      messenger.instead = (path) =>
        path.endsWith('/oidc/access_token')
          ? { body: JSON.stringify({ code, msg: 'words of the provider' }) }
          : undefined;
      t.is(await codeOf(t, identify(await confirm())), refusal, `${code}`);
    }
  });
}
