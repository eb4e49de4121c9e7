import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl, type KubectlResult } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

const KUBELET_CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const API_CLIENT = 'kubernetes.io/kube-apiserver-client';
const CLIENT_USAGES = ['client auth', 'digital signature'];

let cluster: HoldfastProcess;
let folder: string;
const { run, attempt, send } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'holdfast-csr-'));
  cluster = await HoldfastProcess.start(['--memory']);
});
after(async () => {
  await cluster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** A key and a request for this subject, as users make them; the key stays in the folder. */
function requestFor(name: string, subject: string): string {
  const key = path.join(folder, `${name}.key`);
  const file = path.join(folder, `${name}.csr`);
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  execFileSync('openssl', ['req', '-new', ...curve, '-nodes', '-keyout', key, '-out', file, '-subj', subject], {
    stdio: 'pipe',
  });
  return readFileSync(file).toString('base64');
}

const requestObject = (name: string, subject: string, spec: object): object => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name },
  spec: { request: requestFor(name, subject), usages: CLIENT_USAGES, ...spec },
});

const conditionOf = async (name: string): Promise<string> =>
  (await run('get', 'csr', name, '--no-headers')).trim().split(/\s+/).at(-1) ?? '';
const hasCondition = (name: string, wanted: string): Promise<true | undefined> =>
  waitFor(`${name} is ${wanted}`, async () => (await conditionOf(name)) === wanted || undefined);

/** As a user with only this certificate. */
async function asHolderOf(name: string, ...args: readonly string[]): Promise<KubectlResult> {
  const certificate = await run('get', 'csr', name, '-o', 'jsonpath={.status.certificate}');
  const file = path.join(folder, `${name}.crt`);
  writeFileSync(file, Buffer.from(certificate, 'base64'));
  const admin = JSON.parse(await run('config', 'view', '--raw', '-o', 'json')) as {
    clusters: { cluster: { 'certificate-authority-data': string } }[];
  };
  const authority = path.join(folder, 'ca.crt');
  writeFileSync(authority, Buffer.from(admin.clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64'));
  const kubeconfig = path.join(folder, `${name}.kubeconfig`);
  writeFileSync(kubeconfig, '');
  const key = path.join(folder, `${name}.key`);
  const who = ['--client-certificate', file, '--client-key', key, '--certificate-authority', authority];
  return attempt('--kubeconfig', kubeconfig, '--server', cluster.ready.url, ...who, ...args);
}

test('an approved certificate authenticates the user that it names, with the rights of that user', async () => {
  await send(['create'], requestObject('jane', '/O=dev/CN=jane', { signerName: API_CLIENT, expirationSeconds: 3600 }));
  assert.match(await run('get', 'csr', 'jane'), /kubernetes\.io\/kube-apiserver-client\s+admin\s+60m\s+Pending/);
  assert.match(await run('certificate', 'approve', 'jane'), /jane approved/);
  await hasCondition('jane', 'Approved,Issued');
  const who = await asHolderOf(
    'jane',
    'auth',
    'whoami',
    '-o',
    'jsonpath={.status.userInfo.username} {.status.userInfo.groups}',
  );
  assert.equal(who.stdout, 'jane ["dev","system:authenticated"]', who.stderr);
  const refused = await asHolderOf('jane', 'get', 'pods');
  assert.match(refused.stderr, /User "jane" cannot list resource "pods"/);
  await run('create', 'rolebinding', 'dev', '--clusterrole=view', '--group=dev');
  const allowed = await waitFor('the right is known', async () => {
    const result = await asHolderOf('jane', 'get', 'pods');
    return result.code === 0 ? result : undefined;
  });
  assert.match(allowed.stderr, /No resources found/);
});

test('a denied request gets no certificate, and one that requests too much fails with the reason', async () => {
  await send(['create'], requestObject('denied', '/CN=john', { signerName: API_CLIENT }));
  assert.match(await run('certificate', 'deny', 'denied'), /denied denied/);
  assert.equal(await conditionOf('denied'), 'Denied');
  const usages = ['server auth', 'digital signature'];
  await send(['create'], requestObject('greedy', '/CN=john', { signerName: API_CLIENT, usages }));
  await run('certificate', 'approve', 'greedy');
  await hasCondition('greedy', 'Approved,Failed');
  const why = await run('get', 'csr', 'greedy', '-o', 'jsonpath={.status.conditions[?(@.type=="Failed")].message}');
  assert.equal(why, 'invalid usage for client certificate: server auth');
});

test('a node with the right to renew its certificate needs no manual approval', async () => {
  const role = 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient';
  await run('create', 'clusterrolebinding', 'renewal', `--clusterrole=${role}`, '--group=system:nodes');
  const asNode = ['--as', 'system:node:n1', '--as-group', 'system:nodes', '--as-group', 'system:authenticated'];
  const mine = requestObject('mine', '/O=system:nodes/CN=system:node:n1', { signerName: KUBELET_CLIENT });
  await send(['create', ...asNode], mine);
  await hasCondition('mine', 'Approved,Issued');
  const foreign = requestObject('foreign', '/O=system:nodes/CN=system:node:n2', { signerName: KUBELET_CLIENT });
  await send(['create', ...asNode], foreign);
  assert.equal(
    (await asHolderOf('mine', 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')).stdout,
    'system:node:n1',
  );
  assert.equal(await conditionOf('foreign'), 'Pending');
});
