import assert from 'node:assert/strict';
import { CONFIG_MAPS, PODS } from '@holdfast/api';
import type { Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { holdfast } from '../../support/holdfast-command.ts';
import { waitFor } from '../../support/wait.ts';
import type { ComposeCluster } from './compose-cluster.ts';

const NAMESPACE = 'default';

/** A person signs in to the console with a link, sees the cluster, uses a terminal, and loses an API server meanwhile. */
export async function assertConsoleServes(cluster: ComposeCluster): Promise<void> {
  const browser = await startBrowser();
  try {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    context.setDefaultTimeout(30_000);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(`${cluster.console}/ui/`)) complaints.push(`asks ${request.url()}`);
    });
    await signIn(page, cluster);
    const pods = (await cluster.admin.list(PODS, { namespace: NAMESPACE })).items;
    await waitFor(
      'a tile for each pod',
      async () => (await page.locator('.cards a.tile.running').count()) === pods.length,
    );
    await useTerminal(page, pods[0]?.metadata.name ?? '');
    await loseServer(page, cluster);
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
  }
}

/** Chromium gives up requests while interfaces of containers come and go; then the link is used up, and another one is needed. */
async function signIn(page: Page, { console, kubeconfig }: ComposeCluster): Promise<void> {
  await waitFor('the overview', async () => {
    const linked = await holdfast(['ui', '--kubeconfig', kubeconfig]);
    assert.ok(linked.stdout.startsWith(`${console}/ui/#code=`), `${linked.stdout}${linked.stderr}`);
    await page.goto('about:blank');
    await page.goto(linked.stdout.trim());
    const overview = page.getByRole('heading', { name: 'Overview' });
    const refusal = page.getByRole('alert');
    await overview.or(refusal).first().waitFor();
    return overview.isVisible();
  });
}

const go = (page: Page, hash: string): Promise<void> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`) as Promise<void>;

async function useTerminal(page: Page, pod: string): Promise<void> {
  await go(page, `#/object/core/v1/pods/${NAMESPACE}/${pod}?tab=terminal`);
  await page.getByLabel('Command').fill('sh');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('Connected.').waitFor();
  const terminal = page.getByRole('textbox', { name: /^Terminal of/ });
  await terminal.focus();
  await page.keyboard.type('echo $((40 + 2)); exit 7');
  await page.keyboard.press('Enter');
  await page.getByText('The command ended with exit code 7.').waitFor();
  await terminal.getByText(/^42 *$/).waitFor();
}

/** The console asks the first server while it can. Its watch goes on at the second one. */
async function loseServer(page: Page, cluster: ComposeCluster): Promise<void> {
  const [first, second] = cluster.users;
  const name = 'seen-by-the-console';
  await go(page, '#/list/core/v1/configmaps');
  await page.getByRole('columnheader', { name: 'Data' }).waitFor();
  await cluster.crash('apiserver-1');
  await second?.create(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: NAMESPACE },
  });
  await page.getByRole('link', { name, exact: true }).waitFor();
  await second?.delete(CONFIG_MAPS, { namespace: NAMESPACE, name });
  await page.getByRole('link', { name, exact: true }).waitFor({ state: 'detached' });
  await waitFor('the first API server to be back', () =>
    first?.list(CONFIG_MAPS, { namespace: NAMESPACE }).then(
      () => true,
      () => false,
    ),
  );
}
