import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';
import { waitFor } from './wait.ts';

/** Debian's Chromium without its sandbox, which root cannot use. It opens only pages of the test. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/**
 * Opens a page of the console. Networks of the machine that come and go, such as those of pods, break connections of the
 * browser: a page whose script is lost stays empty. An address that differs only behind its # is not loaded again.
 */
export const visit = (page: Page, url: string): Promise<unknown> =>
  waitFor(`the page ${new URL(url).pathname}`, async () => {
    await page.goto('about:blank');
    await page.goto(url);
    await page.locator('#app > *').first().waitFor({ timeout: 5_000 });
    return true;
  });

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds on a page, of those that keep people from using it. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    readonly violations: readonly Finding[];
  };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]?.html} ${nodes[0]?.failureSummary ?? ''}`);
}
