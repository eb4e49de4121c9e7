import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createSystemClock, formatMicroTime } from '@holdfast/platform';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { seriousFindings, startBrowser, visit } from '../support/browser.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

const clock = createSystemClock();
let cluster: HoldfastProcess;
let browser: Browser;
let context: BrowserContext;
let page: Page;
/** What no test expects: errors of scripts and of the content policy, requests to others. */
const complaints: string[] = [];
const { run, send } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  [cluster, browser] = await Promise.all([
    HoldfastProcess.start(['--memory', '--nodes', '1', '--hollow-nodes', '2', '--play']),
    startBrowser(),
  ]);
  context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 820 } });
  context.setDefaultTimeout(20_000);
  page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // Interfaces of other programs come and go, and the page asks again. Refusals are what tests ask for, and what an
    // explanation looks for may be absent.
    const isExpected = /ERR_NETWORK_CHANGED|chrome-error:|ERR_SOCKET_NOT_CONNECTED|status of (?:401|404|409)/.test(
      message.text(),
    );
    if (message.type() === 'error' && !isExpected) complaints.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${cluster.ready.url}/ui/`)) complaints.push(`asks ${request.url()}`);
  });
  await run('create', 'deployment', 'web', '--image=busybox', '--replicas=4', '--', 'sleep', '3600');
  await run('rollout', 'status', 'deployment', 'web', '--timeout=60s');
});
after(async () => {
  await browser?.close();
  await cluster?.[Symbol.asyncDispose]();
});

const go = (hash: string): Promise<void> => page.evaluate(`location.hash = ${JSON.stringify(hash)}`) as Promise<void>;
const tiles = (state: string) => page.locator(`.cards a.tile.${state}`);

test('the link of the start line signs in once, and the overview follows the cluster', async () => {
  await visit(page, cluster.ready.console);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.equal(new URL(page.url()).hash, '#/overview', 'the code has left the address');
  await waitFor('a tile for each pod', async () => (await tiles('running').count()) === 4);
  assert.equal(await page.locator('section.node').count(), 3);
  await run('scale', 'deployment', 'web', '--replicas=6');
  await waitFor('tiles of the new pods', async () => (await tiles('running').count()) === 6);
  const second = await context.newPage();
  await second.goto('about:blank');
  await visit(second, cluster.ready.console);
  await second.getByText('This link was used before').waitFor();
  await second.close();
});

test('a kind is a table with the columns of the server, found by words, labels and fields', async () => {
  await go('#/overview');
  await page.getByRole('link', { name: 'Pods', exact: true }).click();
  await page.getByRole('columnheader', { name: 'Restarts' }).waitFor();
  await waitFor('six rows', async () => (await page.locator('tbody a').count()) === 6);
  await page.getByLabel('Labels').fill('app=none');
  await page.getByLabel('Labels').press('Enter');
  await page.getByText('There are none.').waitFor();
  await go('#/list/apps/v1/deployments?words=web');
  await page.getByRole('link', { name: 'web', exact: true }).click();
  await page.getByText('ReplicaSet').first().waitFor();
  await waitFor('pods below the deployment', async () => (await page.locator('.tree .self li li a').count()) === 6);
  await page.getByRole('link', { name: 'YAML' }).click();
  await page.getByText('apiVersion').waitFor();
  assert.match(
    (await page.locator('pre.code').textContent()) ?? '',
    /kind: Deployment\nmetadata:\n(?!.*managedFields)/,
  );
});

test('an edit shows what would change, names the owners of fields, and is applied', async () => {
  await go('#/object/apps/v1/deployments/default/web?tab=yaml');
  await page.getByRole('button', { name: 'Edit' }).click();
  const text = page.getByRole('textbox', { name: 'YAML' });
  await text.fill((await text.inputValue()).replace('replicas: 6', 'replicas: 5'));
  await page.getByRole('button', { name: 'Show what would change' }).click();
  await page
    .getByRole('alert')
    .getByText(/conflict.*kubectl/)
    .waitFor();
  await page.getByLabel(/Take these fields over/).check();
  await page.getByRole('button', { name: 'Show what would change' }).click();
  await page.locator('.diff .added', { hasText: 'replicas: 5' }).waitFor();
  assert.equal(await run('get', 'deployment', 'web', '-o', 'jsonpath={.spec.replicas}'), '6', 'a dry run');
  assert.deepEqual(await seriousFindings(page), []);
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: 'Edit' }).waitFor();
  assert.equal(await run('get', 'deployment', 'web', '-o', 'jsonpath={.spec.replicas}'), '5');
});

test('the log of a pod is followed and searched', async () => {
  const overrides = JSON.stringify({ spec: { nodeName: 'node-1' } });
  const script = 'i=0; while true; do i=$((i+1)); echo line $i; sleep 0.2; done';
  await run('run', 'talks', '--image=busybox', `--overrides=${overrides}`, '--command', '--', 'sh', '-c', script);
  await run('wait', 'pod/talks', '--for=condition=Ready', '--timeout=30s');
  await go('#/object/core/v1/pods/default/talks?tab=logs');
  await page.getByText('line 1\n').waitFor();
  const lines = async () => ((await page.locator('pre.log').textContent()) ?? '').split('\n').length;
  const before = await lines();
  await waitFor('more lines', async () => (await lines()) > before);
  await page.getByLabel('Search').fill('LINE 2');
  await waitFor('the lines with the words', async () =>
    (await page.locator('pre.log').textContent())?.startsWith('line 2'),
  );
});

test('a terminal runs a command in a pod: keys, size, characters, exit code', async () => {
  await go('#/object/core/v1/pods/default/talks?tab=terminal');
  await page.getByLabel('Command').fill('sh');
  await page.getByRole('button', { name: 'Run' }).click();
  const terminal = page.getByRole('textbox', { name: 'Terminal of talks' });
  // At once, while it connects.
  await page.keyboard.type("printf 'gr\\303\\274%s\\n' $((40 + 2)); stty size");
  await page.keyboard.press('Enter');
  // Keys that are there before the shell are echoed before its prompt, and the output follows the prompt.
  await terminal.getByText(/^(?:[#$] )?gr\u00fc42 *$/).waitFor();
  await terminal.getByText(/^(?:[#$] )?\d+ \d+ *$/).waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await page.keyboard.type('exit 7');
  await page.keyboard.press('Enter');
  await page.getByText('The command ended with exit code 7.').waitFor();
});

test('a terminal loses no key, however early it comes, also when another command still runs', async () => {
  await go('#/object/core/v1/pods/default/talks?tab=terminal');
  const terminal = page.getByRole('textbox', { name: 'Terminal of talks' });
  await page.getByLabel('Command').fill('sh');
  for (let n = 1; n <= 20; n++) {
    await page.getByRole('button', { name: 'Run' }).click();
    await page.keyboard.type(`echo run$((${n} + 100))`);
    await page.keyboard.press('Enter');
    await terminal.getByText(new RegExp(`(?:^|\\s)run${n + 100} *$`)).waitFor();
  }
});

test('keys reach everything: skip link, menu, tiles by arrows, the pod by Enter', async () => {
  await go('#/overview');
  await visit(page, page.url());
  await tiles('running').first().waitFor();
  await page.keyboard.press('Tab');
  const focused = () => page.evaluate('document.activeElement?.textContent ?? ""') as Promise<string>;
  assert.equal(await focused(), 'Skip to the page');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate('document.activeElement?.id'), 'main');
  const name = () => page.evaluate('document.activeElement?.dataset.name') as Promise<string | undefined>;
  const neighbours = () => page.evaluate('document.activeElement?.parentElement?.childElementCount ?? 0');
  await waitFor('a tile with a neighbour by Tab', async () => {
    await page.keyboard.press('Tab');
    return (await name()) !== undefined && Number(await neighbours()) > 1;
  });
  const first = await name();
  await page.keyboard.press('ArrowRight');
  const second = await name();
  assert.notEqual(second, first);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: second ?? '' }).waitFor();
});

test('every page shows the cluster as of a moment, and what changed until then, by whom', async () => {
  await go('#/overview');
  await tiles('running').first().waitFor();
  await page.getByLabel('Moment').press('Home');
  await waitFor('the beginning without pods', async () => (await page.locator('.cards a.tile').count()) === 0);
  await page.getByText('Past', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Now' }).click();
  await tiles('running').first().waitFor();
  await go('#/object/apps/v1/deployments/default/web?tab=history');
  const scaled = page.locator('.change', { hasText: 'spec.replicas' }).last();
  assert.match((await scaled.textContent()) ?? '', /spec\.replicas 4 6/);
  assert.match((await scaled.textContent()) ?? '', /admin/);
});

test('a rollout shows its revisions with their pods, how far it is, and why it goes no further', async () => {
  await run('create', 'deployment', 'stuck', '--image=busybox', '--replicas=2', '--', 'sleep', '3600');
  await run('rollout', 'status', 'deployment', 'stuck', '--timeout=60s');
  await run('set', 'resources', 'deployment', 'stuck', '--requests=cpu=1000');
  await go('#/object/apps/v1/deployments/default/stuck');
  await page.getByRole('link', { name: 'Rollout' }).click();
  await page.getByRole('region', { name: 'What it waits for' }).getByText('3 Insufficient cpu').waitFor();
  await page.getByRole('region', { name: 'Revision 1' }).getByText('ready on').first().waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  const pod = page.getByRole('region', { name: 'Revision 2' }).locator('li', { hasText: 'waits for a node' });
  await pod.first().getByRole('link').click();
  await page.getByText('a node with more cpu joins').waitFor();
  const reasons = page.getByRole('region', { name: 'Reasons by node' });
  await reasons.getByRole('row', { name: 'hollow-1 NodeResourcesFit Insufficient cpu' }).waitFor();
  assert.equal(await reasons.locator('tbody tr').count(), 3);
  const [left, right] = await Promise.all(
    ['Facts', 'Events'].map((name) => page.getByRole('region', { name }).boundingBox()),
  );
  assert.ok((left?.x ?? 0) + (left?.width ?? 0) <= (right?.x ?? 0), 'no card is over another one');
  assert.deepEqual(await seriousFindings(page), []);
  await run('delete', 'deployment', 'stuck');
});

test('the loss of a node is a film: lanes, durations, and in a sentence what is not done yet', async () => {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-lost' } };
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'node-lost', namespace: 'kube-node-lease' },
    spec: { holderIdentity: 'node-lost', leaseDurationSeconds: 1, renewTime: formatMicroTime(clock.now()) },
  };
  const spec = { nodeName: 'node-lost', containers: [{ name: 'main', image: 'busybox' }] };
  await send(['create'], node, lease, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'db-1' }, spec });
  await go('#/film');
  const film = page.getByRole('region', { name: 'The loss of node-lost' });
  await film.getByText('db-1 waits: node-lost is silent, but not declared lost yet').waitFor();
  await film.locator('svg text', { hasText: 'lease missed' }).waitFor();
  await film.getByText('Step by step').click();
  await film.locator('.because', { hasText: 'node-lost: lease missed' }).first().waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await go('#/hearing');
  await page.getByRole('row', { name: /^node-lost No silent for .*its lease is for 1\.0s/ }).waitFor();
  await page.getByRole('row', { name: /^node-1 Yes/ }).waitFor();
  await page.getByRole('row', { name: /^API server Yes answers Yes/ }).waitFor();
});

test('a wire is cut and mended by buttons, where the cluster was started for it', async () => {
  await go('#/overview');
  await page.getByRole('link', { name: 'Play', exact: true }).click();
  await page.getByText('This cluster lives on the clock of its machine.').waitFor();
  await page.getByLabel('Target').selectOption('hollow-2');
  await page.getByRole('combobox', { name: 'Lasts' }).selectOption('');
  assert.deepEqual(await seriousFindings(page), []);
  const beginIt = page.getByRole('button', { name: 'Begin' });
  const endIt = page.getByRole('button', { name: 'End', exact: true });
  await beginIt.click();
  // Networks of the machine that come and go lose requests: the page repeats only those that read.
  await endIt.or(page.getByRole('alert')).first().waitFor();
  if (!(await endIt.isVisible())) await beginIt.click();
  await endIt.waitFor();
  const faults = async () => JSON.parse(await run('get', '--raw', '/holdfast.io/play/v1/faults')).items;
  assert.deepEqual(
    (await faults()).map(({ do: name, target }: { do: string; target: string }) => [name, target]),
    [['isolate', 'hollow-2']],
  );
  await endIt.click();
  await page.getByText('Nothing is wrong on purpose.').waitFor();
  assert.deepEqual(await faults(), []);
});

test('the console may do what its user may do, and says what it may not', async () => {
  await run('create', 'serviceaccount', 'reader');
  await run('create', 'role', 'reader', '--verb=list,watch,get', '--resource=pods');
  await run('create', 'rolebinding', 'reader', '--role=reader', '--serviceaccount=default:reader');
  const token = (await run('create', 'token', 'reader')).trim();
  const other = await browser.newContext({ ignoreHTTPSErrors: true });
  const theirs = await other.newPage();
  await visit(theirs, `${cluster.ready.url}/ui/`);
  await theirs.getByLabel(/paste a token/).fill(token);
  assert.deepEqual(await seriousFindings(theirs), []);
  const name = theirs.getByText('system:serviceaccount:default:reader', { exact: true });
  await theirs.getByRole('button', { name: 'Sign in' }).click();
  // A lost request is not repeated by the page.
  await name.or(theirs.locator('.sign-in [role=alert]')).first().waitFor();
  if (!(await name.isVisible())) await theirs.getByRole('button', { name: 'Sign in' }).click();
  await name.waitFor();
  await theirs
    .getByText(/Not allowed.*cannot list resource/)
    .first()
    .waitFor();
  await theirs.evaluate('location.hash = "#/list/core/v1/pods?namespace=default"');
  await theirs.locator('tbody a').first().waitFor();
  await other.close();
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`no page keeps people from using it, in ${colorScheme} colours and on a narrow screen`, async () => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(colorScheme === 'dark' ? { width: 390, height: 800 } : { width: 1280, height: 820 });
    const pages = [
      '#/overview',
      '#/list/core/v1/pods',
      '#/object/core/v1/pods/default/talks',
      '#/kinds',
      '#/film',
      '#/hearing',
      '#/play',
    ];
    for (const hash of [...pages, '#/object/core/v1/pods/default/talks?tab=yaml']) {
      await go(hash);
      await page.locator('main a, main pre, main form').first().waitFor();
      assert.deepEqual(await seriousFindings(page), [], hash);
      const overflow = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
      assert.ok(overflow <= 0, `${hash} is ${overflow} pixels too wide`);
    }
  });
}

test('signed out is out, and nothing asked anybody else or broke a policy', async () => {
  await page.setViewportSize({ width: 1280, height: 820 });
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await visit(page, page.url());
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  assert.deepEqual(complaints, []);
});
