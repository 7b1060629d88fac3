import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { manualClock } from '../../../testing/index.ts';
import { type FreshDatabase, gatewayDatabase, SERVER_FAMILIES } from '../../support/databases.ts';
import { until } from '../../support/until.ts';
import { BINDINGS, Browser, channelEnv, linkOf, makeApp, messengerOf, startChannels } from './channel-kit.ts';

/** What the other replicas are given (decisions 1.2). */
const PROMISE_MS = 1_000;

const environment = ({ environment: given }: FreshDatabase) => ({ ...given, SVC_DATABASE_POOL: '4' });

/** No request that begins later than promised is served. */
async function endsInTime(t: ExecutionContext, status: () => Promise<number>): Promise<void> {
  const endedAt = performance.now();
  let lastServed = endedAt;
  await until(async () => {
    const began = performance.now();
    if ((await status()) === 401) return true;
    lastServed = began;
    return false;
  });
  t.true(lastServed - endedAt <= PROMISE_MS, `${lastServed - endedAt} ms`);
  t.is(await status(), 401);
}

for (const family of SERVER_FAMILIES) {
  test(`${family}: link, start, callback and what follows may reach any replica, and what ends a session ends it on all`, async (t) => {
    const fresh = await gatewayDatabase(t, family);
    if (fresh === undefined) return;
    const messenger = await messengerOf(t, 'wecom');
    const env = { ...channelEnv({ wecom: messenger }), ...environment(fresh) };
    const [one, two, three] = await Promise.all([
      startChannels(t, { env }),
      startChannels(t, { env }),
      startChannels(t, { env }),
    ]);
    const tenant = await one.makeTenant();
    const app = await makeApp(one, 'wecom', messenger, { tenant_id: tenant.id });
    const enter = async () => {
      const browser = new Browser();
      const page = await browser.logIn(await linkOf(one, app), two, three);
      t.is(page.status, 302, JSON.stringify(page.body));
      return browser;
    };
    const statusAt = (browser: Browser, at: typeof one) => async () =>
      (await browser.open('/v1/me', at.url)).status;

    const browser = await enter();
    for (const replica of [one, two, three]) t.is(await statusAt(browser, replica)(), 200);
    const init = {
      method: 'PUT',
      body: '{"value": "green"}',
      headers: { 'content-type': 'application/json', ...browser.csrf },
    };
    t.is((await browser.open('/v1/memories/tea', two.url, init)).status, 200);

    // Of one state that comes back to all of them at once, one wins.
    const racer = new Browser();
    const began = await racer.open(await linkOf(two, app), three.url);
    const { location } = await racer.open(began.location);
    const back = await Promise.all([one, two, three].map(({ url }) => racer.open(location, url)));
    t.deepEqual(back.map(({ status }) => status).sort(), [302, 400, 400]);
    t.is(await statusAt(racer, two)(), 200);
    const link = await linkOf(one, app);
    const opened = await Promise.all([one, two, three].map(({ url }) => new Browser().open(link, url)));
    t.deepEqual(opened.map(({ status }) => status).sort(), [302, 400, 400]);

    const [binding] = (await three.request(BINDINGS)).body.channel_bindings;
    t.is((await one.request(`${BINDINGS}/${binding.id}`, { method: 'DELETE' })).status, 204);
    t.is(await statusAt(browser, one)(), 401);
    await endsInTime(t, statusAt(browser, two));
    await endsInTime(t, statusAt(browser, three));

    const out = await enter();
    for (const replica of [one, two]) t.is(await statusAt(out, replica)(), 200);
    const copy = new Browser();
    for (const [name, value] of out.cookies) copy.cookies.set(name, value);
    t.is((await out.open('/auth/logout', one.url, { method: 'POST', headers: out.csrf })).status, 204);
    t.is(await statusAt(copy, one)(), 401);
    await endsInTime(t, statusAt(copy, two));

    const orphan = await enter();
    for (const replica of [one, two]) t.is(await statusAt(orphan, replica)(), 200);
    await one.request(`/v1/tenants/${tenant.id}`, { method: 'DELETE' });
    t.is(await statusAt(orphan, one)(), 401);
    await endsInTime(t, statusAt(orphan, two));
  });
}

test('the end of a session is told to the other replicas: they do not wait for what is cached to age', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const messenger = await messengerOf(t, 'weixin');
  const env = { ...channelEnv({ weixin: messenger }), ...environment(fresh) };
  // A clock that stands still: nothing ages here, so only an event can drop what is cached.
  const [here, elsewhere] = [
    await startChannels(t, { env, clock: manualClock() }),
    await startChannels(t, { env, clock: manualClock() }),
  ];
  const app = await makeApp(here, 'weixin', messenger);
  const [revoked, gone, kept] = [new Browser(), new Browser(), new Browser()];
  await revoked.logIn(await linkOf(here, app), here);
  const [binding] = (await here.request(BINDINGS)).body.channel_bindings;
  messenger.user = 'ou_ben';
  await gone.logIn(await linkOf(here, app), here);
  await kept.logIn(await linkOf(here, app), here);
  const status = async (browser: Browser) => (await browser.open('/v1/me', elsewhere.url)).status;
  for (const browser of [revoked, gone, kept]) t.is(await status(browser), 200);

  await here.request(`${BINDINGS}/${binding.id}`, { method: 'DELETE' });
  await until(async () => (await status(revoked)) === 401);
  const copy = new Browser();
  for (const [name, value] of gone.cookies) copy.cookies.set(name, value);
  await gone.open('/auth/logout', here.url, { method: 'POST', headers: gone.csrf });
  await until(async () => (await status(copy)) === 401);
  t.is(await status(kept), 200);
});

test('a link that was made before its user was revoked lets nobody in, also one of a replica whose clock is ahead', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const messenger = await messengerOf(t, 'weixin');
  const env = { ...channelEnv({ weixin: messenger }), ...environment(fresh) };
  const here = await startChannels(t, { env });
  const ahead = await startChannels(t, {
    env,
    clock: { ...systemClock, now: () => Date.now() + 300_000 },
  });
  const app = await makeApp(here, 'weixin', messenger);
  t.is((await new Browser().logIn(await linkOf(here, app), here)).status, 302);
  const [binding] = (await here.request(BINDINGS)).body.channel_bindings;
  // Two processes know the clock of the database to some milliseconds.
  const timeAt = ({ gateway }: typeof here) => gateway.services.database.clock.now();
  const passes = (one: typeof here, other: typeof here) => {
    const reached = timeAt(other);
    return until(() => timeAt(one) > reached);
  };
  const before = await linkOf(ahead, app);
  await passes(here, ahead);
  await here.request(`${BINDINGS}/${binding.id}`, { method: 'DELETE' });
  const page = await new Browser().logIn(before, here);
  t.deepEqual([page.status, page.body?.code], [403, 'channel.binding-revoked']);
  await passes(ahead, here);
  t.is((await new Browser().logIn(await linkOf(ahead, app), here)).status, 302);
});

test('a login may begin and end at replicas whose clocks are an hour apart, and its session counts on both', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const messenger = await messengerOf(t, 'weixin');
  const env = { ...channelEnv({ weixin: messenger }), ...environment(fresh) };
  const here = await startChannels(t, { env });
  const ahead = await startChannels(t, {
    env,
    clock: { ...systemClock, now: () => Date.now() + 3_600_000 },
  });
  const app = await makeApp(here, 'weixin', messenger);
  for (const [one, two] of [
    [here, ahead],
    [ahead, here],
  ] as const) {
    const browser = new Browser();
    t.is((await browser.logIn(await linkOf(one, app), two, one)).status, 302);
    for (const { url } of [here, ahead]) t.is((await browser.open('/v1/me', url)).status, 200);
  }
});
