import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { openBrowser } from '../../support/browser.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';
import { gene, KEY, keyed, listen, makeNode, register, signed, startHub } from './hub-kit.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';

/** Milliseconds after which a node that says nothing is expired. */
const TTL = 60_000;

/**
 * A hub with a node, one that is contested and one that is expired, a gene with a hostile name, and a subscriber who
 * takes nothing.
 */
async function startNetwork(t: ExecutionContext) {
  let passed = 0;
  const clock = { now: () => Date.now() + passed, monotonic: () => performance.now() + passed };
  const hub = await startHub(t, { SVC_ALLOW_ANONYMOUS: 'false' }, { clock });
  const [node, rival] = [makeNode('node-a'), makeNode('node-b')];
  const deadEnd = await listen(t, (_, response) => void response.writeHead(500).end());
  await register(hub, makeNode('node-old'), deadEnd);
  passed = TTL + 1_000;
  await register(hub, node, deadEnd);
  await register(hub, rival, deadEnd);
  await register(hub, makeNode('node-b'), deadEnd);
  const wanted = { callback_url: `${deadEnd}/genes`, events: ['gene_promoted'] };
  const { body: subscription } = await keyed(hub, 'POST', '/api/v1/subscriptions', wanted);
  const reported = { ...gene('gene-1'), name: HOSTILE, contributorId: 'anonymous' };
  const event = await signed(hub, node, 'POST', '/api/v1/events', { type: 'gene_promoted', gene: reported });
  t.is(event.status, 202);
  const letters = `/api/v1/subscriptions/${subscription.id}/dead-letters`;
  await until(async () => (await keyed(hub, 'GET', letters)).body.total === 1);
  return { hub, node, deadEnd };
}

/** Opens the dashboard with a key of the hub, and notes what goes wrong in it. */
async function open(url: string, page: Page) {
  const problems: string[] = [];
  page.on('console', (message) => {
    // The first call comes without a key and is refused: that is how the page learns that it needs one.
    if (message.type() === 'error' && !/40[13]/.test(message.text())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(`${url}/dashboard`);
  await page.getByLabel('Key of the hub').waitFor();
  // By the keyboard alone: the field has the focus.
  await page.keyboard.type(KEY);
  await page.keyboard.press('Enter');
  await page.locator('#link', { hasText: /^Live$/ }).waitFor();
  await page.locator('#subscriptions tbody tr').waitFor();
  return problems;
}

/** Of each element with a text: what it is, its colour, and that of the ground on which it stands. */
const COLOURS = `[...document.querySelectorAll('h1, h2, a, p, th, td span, .count')]
  .filter((element) => element.checkVisibility() && element.textContent.trim() !== '')
  .map((element) => {
    let ground = element;
    while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
    return [element.textContent, getComputedStyle(element).color, getComputedStyle(ground).backgroundColor];
  })`;

const textOf = (page: Page, section: string) => page.locator(`#${section} tbody`).innerText();

test('the dashboard shows nodes, genes and subscriptions, live, to who has a key', async (t) => {
  t.timeout(120_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { hub, node, deadEnd } = await startNetwork(t);
  const page = await browser.newPage();
  const problems = await open(hub.url, page);
  t.regex(await textOf(page, 'nodes'), /node-a[\s\S]*healthy/);
  t.regex(await textOf(page, 'nodes'), /node-b[\s\S]*conflict/);
  t.regex(await textOf(page, 'nodes'), /node-old[\s\S]*expired/);
  t.true((await textOf(page, 'genes')).includes(HOSTILE), 'what a node sends is text');
  t.regex(await textOf(page, 'subscriptions'), /127\.0\.0\.1.*[\s\S]*(?:failing|has dead letters)/);
  t.is(await page.locator('img').count(), 0);
  t.is(await page.title(), 'Experience hub');

  await register(hub, makeNode('node-c'), deadEnd);
  await page.locator('#nodes tbody', { hasText: 'node-c' }).waitFor();
  const gone = { type: 'gene_revoked', gene: { ...gene('gene-1'), contributorId: 'anonymous' } };
  t.is((await signed(hub, node, 'POST', '/api/v1/events', gone)).status, 202);
  await page.locator('#genes tbody', { hasText: 'revoked' }).waitFor();

  // Backwards from where the answer to the key has left the focus, then forwards again: all is reached, and seen to be.
  const focused = () =>
    page.evaluate(
      "[document.activeElement.getAttribute('href') ?? document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle].join(' ')",
    );
  for (const [key, where] of [
    ['Shift+Tab', 'Forget the key'],
    ['Shift+Tab', '#subscriptions'],
    ['Shift+Tab', '#genes'],
    ['Shift+Tab', '#nodes'],
    ['Shift+Tab', '#main'],
    ['Tab', '#nodes'],
  ]) {
    await page.keyboard.press(`${key}`);
    t.is(await focused(), `${where} solid`);
  }
  await page.keyboard.press('Enter');
  t.is(new URL(page.url()).hash, '#nodes');
  t.deepEqual(problems, []);
});

test('the dashboard can be read in the dark, by day, and on a telephone', async (t) => {
  t.timeout(120_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { hub } = await startNetwork(t);
  const page = await browser.newPage({ viewport: { width: 360, height: 720 } });
  const problems = await open(hub.url, page);
  for (const width of [320, 360, 700, 1_080, 1_100, 1_400]) {
    await page.setViewportSize({ width, height: 720 });
    const overflow = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    t.is(overflow, 0, `nothing has to be scrolled sideways at ${width}`);
  }
  const session = await page.context().newCDPSession(page);
  await session.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } });
  for (const width of [320, 640, 1_280]) {
    await page.setViewportSize({ width, height: 720 });
    const overflow = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    t.is(overflow, 0, `nothing has to be scrolled sideways at ${width} with letters of twice the size`);
  }
  await session.send('Page.setFontSizes', { fontSizes: { standard: 16, fixed: 13 } });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const texts = (await page.evaluate(COLOURS)) as readonly (readonly [string, string, string])[];
    t.true(texts.length > 30);
    for (const [name, color, ground] of texts) {
      const contrast = contrastOf(color, ground);
      t.true(contrast >= 4.5, `${colorScheme}, ${name}: ${contrast}`);
    }
  }
  t.deepEqual(problems, []);
});

test('names of any script can be read, words stay whole, and an address leads to its section', async (t) => {
  t.timeout(120_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const hub = await startHub(t);
  const node = makeNode('node-a');
  for (let n = 0; n < 30; n += 1) await register(hub, makeNode(`node-${n}`), hub.url);
  await register(hub, node, hub.url);
  for (const [n, name] of ['   ', 'שלום עולם (2)', 'x'.repeat(200)].entries()) {
    const reported = { ...gene(`gene-${n}`), name, contributorId: 'anonymous' };
    const event = { type: 'gene_promoted', gene: reported };
    t.is((await signed(hub, node, 'POST', '/api/v1/events', event)).status, 202);
  }
  const page = await browser.newPage();
  await page.goto(`${hub.url}/dashboard#genes`);
  await page.locator('#genes tbody', { hasText: 'gene-0' }).waitFor();
  for (const reload of [false, true]) {
    if (reload) await page.reload();
    await page.locator('#genes tbody', { hasText: 'gene-0' }).waitFor();
    t.true(await page.evaluate("document.querySelector('#genes').getBoundingClientRect().top < innerHeight"));
  }
  const named = (text: string) =>
    `[...document.querySelectorAll('#genes td span')].find((name) => name.textContent.includes('${text}'))`;
  t.is(await page.evaluate(`getComputedStyle(${named('שלום')}).direction`), 'rtl');
  for (const width of [1_100, 1_280]) {
    await page.setViewportSize({ width, height: 720 });
    t.is(await page.evaluate(`${named('anonymous')}.getClientRects().length`), 1, `lines at ${width}`);
  }
});

test('a key that is refused, or that no header can carry, is asked for again, also after a reload', async (t) => {
  t.timeout(120_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const hub = await startHub(t, { SVC_ALLOW_ANONYMOUS: 'false' });
  const page = await browser.newPage();
  await page.goto(`${hub.url}/dashboard`);
  const refused = page.locator('#refused', { hasText: 'This key does not allow to read the hub.' });
  for (const key of ['not-a-key-of-this-hub', 'hub_…', 'ключ']) {
    await page.getByLabel('Key of the hub').fill(key);
    await page.keyboard.press('Enter');
    await refused.waitFor({ timeout: 10_000 });
    t.true(await page.getByLabel('Key of the hub').isVisible());
    await page.reload();
    await page.getByLabel('Key of the hub').waitFor({ timeout: 10_000 });
  }
  await page.getByLabel('Key of the hub').fill(KEY);
  await page.keyboard.press('Enter');
  await page.locator('#link', { hasText: /^Live$/ }).waitFor();
  t.false(await page.getByLabel('Key of the hub').isVisible());
});

test('what a key allows to see is hidden as soon as the key does not hold any more', async (t) => {
  t.timeout(120_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const hub = await startHub(t, { SVC_ALLOW_ANONYMOUS: 'false' });
  const { apiKeys, tenants } = hub.gateway.services;
  const { id: tenantId } = await tenants.create({ name: 'Readers' });
  const grant = { tenantId, name: 'k', roles: ['user'], scopes: ['read'], expiresAt: null, createdBy: null };
  const { key, record } = await apiKeys.create(grant);
  await register(hub, makeNode('node-a'), hub.url);
  const page = await browser.newPage();
  await page.goto(`${hub.url}/dashboard`);
  const field = page.getByLabel('Key of the hub');
  await field.waitFor();
  t.false(await page.locator('#nodes').isVisible(), 'nothing is said to be empty before it is known');
  await field.fill(key);
  await page.keyboard.press('Enter');
  await page.locator('#nodes tbody', { hasText: 'node-a' }).waitFor();
  await apiKeys.revoke(record.id);
  await page.locator('#link', { hasText: 'A key is needed' }).waitFor();
  t.false(await page.locator('#nodes').isVisible());
  t.is(await page.locator(':focus').getAttribute('id'), 'key');
  t.is(await field.getAttribute('aria-describedby'), 'refused', 'a screen reader says why, with the field');
  await field.fill(KEY);
  await page.keyboard.press('Enter');
  await page.locator('#nodes tbody', { hasText: 'node-a' }).waitFor();
});

test('a key can be forgotten, with what it showed, also while nobody answers', async (t) => {
  t.timeout(120_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const hub = await startHub(t, { SVC_ALLOW_ANONYMOUS: 'false' });
  await register(hub, makeNode('node-a'), hub.url);
  const page = await browser.newPage();
  const forget = page.getByRole('button', { name: 'Forget the key' });
  const field = page.getByLabel('Key of the hub');
  await page.goto(`${hub.url}/dashboard`);
  for (const isAway of [false, true]) {
    await field.waitFor();
    t.false(await forget.isVisible(), 'there is none');
    await field.fill(KEY);
    await page.keyboard.press('Enter');
    await page.locator('#nodes tbody', { hasText: 'node-a' }).waitFor();
    if (isAway) {
      await hub.stop();
      await page.locator('#link', { hasText: 'Not connected' }).waitFor();
      t.true(await page.locator('#nodes').isVisible(), 'what was known last');
    }
    await forget.focus();
    await page.keyboard.press('Enter');
    await forget.waitFor({ state: 'hidden' });
    t.false(await page.locator('#nodes').isVisible());
    t.is(await page.evaluate('sessionStorage.length'), 0);
  }
});

test('of what is read only that changes which is new', async (t) => {
  t.timeout(120_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const hub = await startHub(t);
  await register(hub, makeNode('node-a'), hub.url);
  const page = await browser.newPage();
  await page.goto(`${hub.url}/dashboard`);
  await page.locator('#nodes tbody', { hasText: 'node-a' }).waitFor();
  await page.evaluate("window.kept = document.querySelector('#nodes td span')");
  await register(hub, makeNode('node-b'), hub.url);
  await page.locator('#nodes tbody', { hasText: 'node-b' }).waitFor();
  const rows =
    "[...document.querySelectorAll('#nodes tr')].map((row) => row.innerText).filter((text) => /node-/.test(text))";
  t.is(((await page.evaluate(rows)) as string[]).length, 2);
  t.true(await page.evaluate('window.kept.isConnected'));
});

test('no other key can be sent while one is checked', async (t) => {
  t.timeout(120_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const hub = await startHub(t, { SVC_ALLOW_ANONYMOUS: 'false' });
  const page = await browser.newPage();
  await page.goto(`${hub.url}/dashboard`);
  const field = page.getByLabel('Key of the hub');
  await field.fill('not-a-key-of-this-hub');
  await page.keyboard.press('Enter');
  await page.locator('#refused', { hasText: 'This key does not allow' }).waitFor();
  const answer = Promise.withResolvers<void>();
  await page.route('**/dashboard/stream', async (route) => {
    await answer.promise;
    await route.continue();
  });
  await field.fill(KEY);
  await page.keyboard.press('Enter');
  await page.locator('#link', { hasText: 'Connecting' }).waitFor({ timeout: 10_000 });
  t.false(await field.isVisible());
  t.false(await page.locator('#refused').isVisible(), 'the refusal was that of another key');
  answer.resolve();
  await page.locator('#link', { hasText: /^Live$/ }).waitFor();
});

test('a page that is one too many says so', async (t) => {
  t.timeout(120_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const hub = await startHub(t, { SVC_MAX_STREAMS_PER_USER: '1' });
  for (const said of ['Live', 'Too many connections. Trying again …']) {
    const page = await browser.newPage();
    await page.goto(`${hub.url}/dashboard`);
    await page.locator('#link', { hasText: said }).waitFor();
  }
  t.pass();
});

test('a connection that has died in silence is replaced', async (t) => {
  t.timeout(120_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const hub = await startHub(t);
  const proxy = await startTcpProxy(t, Number(new URL(hub.url).port));
  const page = await browser.newPage();
  await page.clock.install();
  await page.goto(`http://127.0.0.1:${proxy.port}/dashboard`);
  const live = page.locator('#link', { hasText: /^Live$/ });
  await live.waitFor();
  // With the first event the page has heard all that it will hear of this connection for now.
  await page.locator('nav').waitFor();
  proxy.abandon();
  // The page's clock goes on by itself, too.
  await page.clock.fastForward(30_000);
  t.true(await live.isVisible(), 'a stream may be silent between two pings');
  await page.clock.fastForward(16_000);
  await page.locator('#link', { hasText: 'Not connected' }).waitFor({ timeout: 10_000 });
  // The browser may first take up other connections that have died.
  await until(async () => {
    await page.clock.fastForward(46_000);
    // What has begun to connect is not to be given up at once.
    return live.waitFor({ timeout: 3_000 }).then(
      () => true,
      () => false,
    );
  }, 60_000);
  t.is((await register(hub, makeNode('node-after'), hub.url)).status, 201);
  await page.locator('#nodes tbody', { hasText: 'node-after' }).waitFor();
});

test('the page and its files forbid whatever is inline, evaluated or of another origin', async (t) => {
  const hub = await startHub(t);
  for (const path of ['/dashboard', '/dashboard/app.js', '/dashboard/style.css', '/dashboard/icon.svg']) {
    const answer = await fetch(`${hub.url}${path}`);
    t.is(answer.status, 200);
    const policy = answer.headers.get('content-security-policy') ?? '';
    t.regex(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    t.notRegex(policy, /unsafe/);
    const text = await answer.text();
    if (path === '/dashboard') t.notRegex(text, /<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|javascript:/);
  }
});

/** WCAG 2.2: contrast ratio of two colours, as browsers print them: `rgb(28, 29, 31)`. */
function contrastOf(one: string, other: string): number {
  const [light, dark] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminanceOf(color: string): number {
  const [red, green, blue] = (color.match(/[\d.]+/g) ?? []).map((text) => {
    const part = Number(text) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test('an open dashboard does not hold up the end of the gateway', async (t) => {
  const hub = await startHub(t, {});
  const { body } = await fetch(`${hub.url}/api/v1/dashboard/stream`, {
    headers: { authorization: `Bearer ${KEY}` },
  });
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  t.regex((await reader.read()).value ?? '', /^event: state/);
  await hub.stop();
  t.true((await reader.read()).done);
  t.false(hub.logs().some((line) => line.includes('calls that did not end in the drain time')));
});
