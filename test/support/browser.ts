import { existsSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { type Browser, chromium } from 'playwright-core';

/** Debian's package `chromium`. */
const CHROMIUM = '/usr/bin/chromium';

/** Without the network, and whatever user the tests run as. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * A browser that is closed when the test ends. Where there is none it says so and answers `undefined`: the test is
 * skipped then, or, with `REQUIRE_SERVICES=1`, has failed.
 */
export async function openBrowser(t: ExecutionContext): Promise<Browser | undefined> {
  if (!existsSync(CHROMIUM)) {
    const line = `Chromium is not at ${CHROMIUM}`;
    if (process.env.REQUIRE_SERVICES === '1') t.fail(line);
    else {
      t.log(`skipped: ${line}`);
      t.pass();
    }
    return undefined;
  }
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS, timeout: 60_000 });
  t.teardown(() => browser.close());
  return browser;
}
