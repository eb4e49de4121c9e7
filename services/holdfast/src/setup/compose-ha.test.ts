import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { readSetupConfig } from './config.ts';
import { prepareState } from './prepare-state.ts';

/** 2026-11-20. */
const NOW = 1_795_132_800_000;
const ZONES = [1, 2, 3];

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly profiles?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly volumes?: readonly string[];
}

const override = { tag: '!override', collection: 'map', resolve: (value: unknown) => value } as const;
const overrideList = { tag: '!override', collection: 'seq', resolve: (value: unknown) => value } as const;

const compose = parse(readFileSync(new URL('../../../../docker-compose.ha.yml', import.meta.url), 'utf8'), {
  merge: true,
  maxAliasCount: -1,
  customTags: [override, overrideList],
}) as { readonly services: Readonly<Record<string, Service>> };
const serviceOf = (name: string): Service => compose.services[name] ?? {};

async function inFolder(run: (folder: string) => void): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-setup-ha-'));
  try {
    const uid = String(process.getuid?.() ?? 0);
    const env = {
      ...serviceOf('setup').environment,
      HOLDFAST_API_PORTS: '7443,7444,7445',
      HOLDFAST_STATE_DIR: folder,
      HOLDFAST_COMPONENT_UID: uid,
      HOLDFAST_REDIS_UID: uid,
    };
    const config = readSetupConfig({ argv: [], env });
    assert.ok(config !== undefined);
    await prepareState(config, NOW);
    run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('each zone has a NATS server, an API server, a scheduler and a controller manager; Redis is not in this form', () => {
  for (const zone of ZONES) {
    const suffix = zone === 1 ? '' : `-${zone}`;
    for (const name of [`nats-${zone}`, `apiserver-${zone}`, `scheduler${suffix}`, `controller-manager${suffix}`])
      assert.ok(Object.hasOwn(compose.services, name), name);
  }
  // The history of the server that it extends would be shared.
  assert.deepEqual(serviceOf('apiserver-3').volumes, ['history-3-data:/data']);
  assert.ok(Object.hasOwn(compose.services, 'fencer-2'));
  for (const name of ['redis', 'nats']) assert.deepEqual(serviceOf(name).profiles, ['single']);
});

test('a broken zone keeps no service of the others from its start; all wait for setup', () => {
  const conditions = Object.values(compose.services).flatMap(({ depends_on: after = {} }) =>
    Object.entries(after).map(([name, { condition }]) => [name === 'setup', condition]),
  );
  assert.ok(conditions.length > 0);
  for (const [isSetup, condition] of conditions)
    assert.equal(condition, isSetup ? 'service_completed_successfully' : 'service_started');
});

test('every component and node knows all API servers and all NATS servers', () => {
  const servers = ZONES.map((zone) => `https://apiserver-${zone}:6443`).join();
  const bus = ZONES.map((zone) => `tls://nats-${zone}:4222`).join();
  for (const name of ['scheduler', 'scheduler-2', 'controller-manager-3', 'node-1', 'node-2', 'node-3', 'fencer-2']) {
    const { environment, depends_on: after } = serviceOf(name);
    assert.deepEqual([environment?.['HOLDFAST_API_SERVERS'], environment?.['HOLDFAST_BUS']], [servers, bus], name);
    assert.deepEqual(Object.keys(after ?? {}), ['setup', ...ZONES.map((zone) => `apiserver-${zone}`)]);
  }
  assert.equal(serviceOf('apiserver-2').environment?.['HOLDFAST_BUS'], bus);
  assert.deepEqual(serviceOf('console').environment, { HOLDFAST_API_SERVERS: servers });
});

test('setup gives each NATS server a configuration that syncs, replicates and trusts its equals only', () =>
  inFolder((folder) => {
    for (const zone of ZONES) {
      const own = path.join(folder, `nats-${zone}`);
      const config = JSON.parse(readFileSync(path.join(own, 'nats.conf'), 'utf8'));
      assert.equal(config.server_name, `nats-${zone}`);
      assert.deepEqual(config.jetstream, { store_dir: '/data', sync_interval: 'always' });
      assert.deepEqual(
        config.cluster.routes,
        ZONES.map((each) => `nats-route://nats-${each}.store:6222`),
      );
      assert.deepEqual([config.cluster.host, config.http], [`nats-${zone}.store`, `nats-${zone}.store:8222`]);
      assert.equal(config.cluster.tls.ca_file, '/etc/holdfast/ca.crt');
      const certificate = new X509Certificate(readFileSync(path.join(own, 'server.crt')));
      assert.equal(certificate.checkHost(`nats-${zone}.store`), `nats-${zone}.store`);
      assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
      assert.ok(serviceOf(`nats-${zone}`).volumes?.some((volume) => volume.includes(`/nats-${zone}:`)));
    }
  }));

test('the log is readable by the API servers only, and they are told where it is and how it is checked', () =>
  inFolder((folder) => {
    const environment = readFileSync(path.join(folder, 'apiserver', 'service.env'), 'utf8');
    assert.match(environment, /^HOLDFAST_STORE=tls:\/\/nats-1:4222,tls:\/\/nats-2:4222,tls:\/\/nats-3:4222$/m);
    assert.match(environment, /^HOLDFAST_STORE_MONITORS=http:\/\/nats-1\.store:8222,/m);
    const config = JSON.parse(readFileSync(path.join(folder, 'nats-1', 'nats.conf'), 'utf8'));
    for (const { user, permissions } of config.authorization.users) {
      const publishes: readonly string[] = permissions.publish.allow;
      const reachesLog = publishes.some(
        (subject) => subject.startsWith('HOLDFAST') || subject.startsWith('$JS.API.STREAM.*'),
      );
      assert.equal(reachesLog, user === 'store', user);
    }
  }));
