import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parseTime } from '@holdfast/platform';
import type { Browser, Page } from 'playwright-core';
import { seriousFindings, startBrowser, visit } from '../support/browser.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
let browser: Browser;
let page: Page;
const { run } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  [cluster, browser] = await Promise.all([HoldfastProcess.start(['--play', '--clock=virtual']), startBrowser()]);
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 820 } });
  context.setDefaultTimeout(20_000);
  page = await context.newPage();
});
after(async () => {
  await browser?.close();
  await cluster?.[Symbol.asyncDispose]();
});

const shownTime = () => page.getByLabel('Time of the cluster');
const timeOf = async (): Promise<number> => parseTime((await shownTime().textContent()) ?? '') ?? 0;
const phases = () => run('get', 'pods', '-o', 'jsonpath={.items[*].status.phase}');

/** Presses it, and waits until time stands still again. */
async function press(name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
  await page.getByText('Time stands still').waitFor();
  await page.locator('form button:disabled').first().waitFor({ state: 'detached' });
}

test('a link signs in although its first answers are lost and its page is loaded again', async () => {
  const answered: number[] = [];
  await page.route('**/ui/session', async (route) => {
    answered.push((await route.fetch()).status());
    await route.abort('connectionreset');
  });
  await visit(page, cluster.ready.console);
  await waitFor('the code was used twice', () => answered.length > 1);
  await page.unroute('**/ui/session');
  await page.goto('about:blank');
  await visit(page, cluster.ready.console);
  await page.getByRole('link', { name: 'Play', exact: true }).waitFor();
  assert.deepEqual(new Set(answered), new Set([201]));
});

test('the time of a cluster passes by buttons, and pages count ages by it', async () => {
  await page.getByRole('link', { name: 'Play', exact: true }).click();
  await shownTime().waitFor();
  const began = await timeOf();
  await run('create', 'deployment', 'web', '--image=nginx', '--replicas=2');
  await press('Advance 10 seconds');
  assert.equal(await timeOf(), began + 10_000);
  assert.equal(await phases(), 'Running Running');
  await press('Advance 1 minute');
  await press('Advance 5 minutes');
  assert.equal(await timeOf(), began + 370_000);
  assert.deepEqual(await seriousFindings(page), []);
  await page.evaluate('location.hash = "#/list/core/v1/pods?namespace=default"');
  await page.getByRole('link', { name: /^web-/ }).first().waitFor();
  await page.getByRole('row', { name: /web-/ }).first().getByText(/^6m/).waitFor();
});

test('a time of their own is a duration; another one is refused in words', async () => {
  await page.evaluate('location.hash = "#/play"');
  await shownTime().waitFor();
  const began = await timeOf();
  const own = page.getByLabel('Another time');
  await own.fill('90s');
  await press('Advance');
  assert.equal(await timeOf(), began + 90_000);
  await own.fill('soon');
  await page.getByRole('button', { name: 'Advance', exact: true }).click();
  await page.getByRole('alert').getByText('"duration" is a time such as "30s"').waitFor();
  assert.equal(await timeOf(), began + 90_000);
});

test('an advance whose answer is lost is made once', async () => {
  await page.evaluate('location.hash = "#/play"');
  await shownTime().waitFor();
  const began = await timeOf();
  let sent = 0;
  await page.route('**/advance', async (route) => {
    sent += 1;
    const answer = await route.fetch();
    await (sent === 1 ? route.abort('connectionreset') : route.fulfill({ response: answer }));
  });
  await press('Advance 10 seconds');
  await page.unroute('**/advance');
  assert.equal(sent, 2);
  assert.equal(await timeOf(), began + 10_000);
});
