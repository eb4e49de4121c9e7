import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { startBrowser, visit } from '../support/browser.ts';
import { holdfast } from '../support/holdfast-command.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { PartitionTour, PET, TOUR_FLAGS } from '../support/partition-tour.ts';
import { waitFor } from '../support/wait.ts';

const DOCS = path.resolve(import.meta.dirname, '../../docs');
const VIEWPORT = { width: 1360, height: 860 };
const PICTURE_BYTES_MAX = 90_000;
/** A machine under load is slow; nobody waits for this but the author of the pictures. */
const PAGE_DEADLINE_MS = 120_000;

/** Plays the tour of the README, and writes the pictures of its pages and its film. Needs `pngquant`. */
export async function writeConsolePictures(): Promise<void> {
  await using cluster = await HoldfastProcess.start(TOUR_FLAGS);
  const browser = await startBrowser();
  try {
    const page = await browser.newPage({ ignoreHTTPSErrors: true, viewport: VIEWPORT, colorScheme: 'light' });
    page.setDefaultTimeout(PAGE_DEADLINE_MS);
    const tour = new PartitionTour(cluster);
    const node = await tour.begin();
    await visit(page, cluster.ready.console);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await pictureWaits(page, cluster);
    const fault = await tour.cut(node);
    await pictureLoss(page, node);
    await tour.mend(fault, node);
    await writeFilm(cluster, node);
    await pictureTerminal(page);
  } finally {
    await browser.close();
  }
}

/** A roll-out whose pods fit on no node, and the reasons of the nodes for one of them. */
async function pictureWaits(page: Page, { ready }: HoldfastProcess): Promise<void> {
  const { run } = createKubectl(() => ready.kubeconfig);
  await run('cordon', 'node-3');
  await run('taint', 'node', 'node-2', 'gpu=yes:NoSchedule');
  await run('set', 'resources', 'deployment', 'web', '--requests=cpu=1000');
  await go(page, '#/object/apps/v1/deployments/default/web?tab=rollout');
  await page.getByRole('region', { name: 'What it waits for' }).waitFor();
  await picture(page, 'console-rollout');
  const revision = page.getByRole('region', { name: 'Revision 2' });
  await revision.locator('li', { hasText: 'waits for a node' }).getByRole('link').first().click();
  await page.getByRole('region', { name: 'Reasons by node' }).getByText('NodeUnschedulable').waitFor();
  await page.getByRole('region', { name: 'What it waits for' }).waitFor();
  await picture(page, 'console-pending');
  await run('rollout', 'undo', 'deployment', 'web');
  await run('taint', 'node', 'node-2', 'gpu-');
  await run('uncordon', 'node-3');
}

async function pictureTerminal(page: Page): Promise<void> {
  await go(page, `#/object/core/v1/pods/default/${PET}?tab=terminal`);
  await waitFor('a terminal that stays connected', () =>
    typeIntoTerminal(page).then(
      () => true,
      () => false,
    ),
  );
  await picture(page, 'console-terminal');
}

async function typeIntoTerminal(page: Page): Promise<void> {
  const within = { timeout: 10_000 };
  await page.reload();
  await page.getByLabel('Command').fill('sh', within);
  await page.getByRole('button', { name: 'Run' }).click(within);
  const terminal = page.getByRole('textbox', { name: 'Terminal of main' });
  await terminal.click(within);
  await page.keyboard.type('hostname; date +%Y; echo "exit code $?"');
  await page.keyboard.press('Enter');
  await terminal.getByText(/exit code 0/).waitFor(within);
}

/** The node is cut off, and its pod runs elsewhere. */
async function pictureLoss(page: Page, node: string): Promise<void> {
  await go(page, '#/play');
  await page.getByRole('button', { name: 'End', exact: true }).waitFor();
  await picture(page, 'console-play');
  await go(page, '#/hearing');
  await page.getByRole('row', { name: new RegExp(`^${node} No `) }).waitFor();
  await picture(page, 'console-hearing');
  await go(page, '#/film');
  await page
    .getByRole('region', { name: `The loss of ${node}` })
    .locator('svg')
    .waitFor();
  await picture(page, 'console-film');
}

async function writeFilm({ ready }: HoldfastProcess, node: string): Promise<void> {
  const file = path.join(DOCS, 'examples/tour-film.html');
  const { code, stderr } = await holdfast(['film', '--node', node, '--html', file, '--kubeconfig', ready.kubeconfig]);
  if (code !== 0) throw new Error(stderr);
}

const go = (page: Page, hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

/** In 256 colours: a third of the bytes, and nothing to see of it. */
async function picture(page: Page, name: string): Promise<void> {
  await waitFor('a page that is connected', async () => (await page.locator('.live.reconnecting').count()) === 0);
  const file = path.join(DOCS, 'images', `${name}.png`);
  await page.screenshot({ path: file });
  const { status, error } = spawnSync('pngquant', ['--force', '--strip', '--ext', '.png', '256', file]);
  if (status !== 0) throw new Error('pngquant did not work: apt-get install pngquant', { cause: error });
  const { size } = statSync(file);
  if (size > PICTURE_BYTES_MAX) throw new Error(`${name}.png has ${size} bytes, more than ${PICTURE_BYTES_MAX}`);
}
