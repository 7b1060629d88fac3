import { existsSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { skip } from './services.ts';

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

/** What a test does with the browser of its process. */
export interface TestBrowser {
  /** A page that shares nothing with others, and is closed when the test ends. */
  newPage(options?: BrowserContextOptions): Promise<Page>;
}

let shared: Promise<Browser> | undefined;

/**
 * The browser that the tests of this process share. Where there is none it says so and answers `undefined`: the test is
 * skipped then, or, with `REQUIRE_SERVICES=1`, has failed.
 */
export async function openBrowser(t: ExecutionContext): Promise<TestBrowser | undefined> {
  if (!existsSync(CHROMIUM)) {
    skip(t, `Chromium is not at ${CHROMIUM}`);
    return undefined;
  }
  shared ??= launch();
  const browser = await shared;
  return {
    async newPage(options) {
      const page = await browser.newPage(options);
      t.teardown(() => page.close());
      return page;
    },
  };
}

async function launch(): Promise<Browser> {
  const { registerCompletionHandler } = await import('ava');
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS, timeout: 60_000 });
  registerCompletionHandler(() => void browser.close());
  // One that has died is the failure of one test.
  browser.once('disconnected', () => {
    shared = undefined;
  });
  return browser;
}
