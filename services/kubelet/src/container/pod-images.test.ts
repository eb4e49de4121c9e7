import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, Secret } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type Clock, createSystemClock, type Timer } from '@holdfast/platform';
import { CONTAINER_BACK_OFF_INITIAL_MS } from '../limits.ts';
import { eventually } from '../runtime/contract.ts';
import type { RegistryCredentials, RuntimeImages } from '../runtime/port-images.ts';
import type { PodEvent } from './pod-events.ts';
import { type ImageWait, PodImages } from './pod-images.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', uid: 'u1' },
  spec: { containers: [], imagePullSecrets: [{ name: 'logins' }, { name: 'missing' }] },
  status: {},
};

const container = (image: string, imagePullPolicy = 'IfNotPresent'): Container => ({
  name: 'c',
  image,
  imagePullPolicy,
  resources: {},
});

const AUTHS = {
  'registry.example/wrong': { username: 'wrong', password: '-' },
  'registry.example': { username: 'right', password: '-' },
};

const secret: Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'logins', namespace: 'default' },
  data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths: AUTHS })).toString('base64') },
};

/** A registry that opens for one user, and a machine that keeps what was pulled. */
class World {
  readonly present = new Set<string>();
  readonly logins: (string | undefined)[] = [];
  readonly told: string[] = [];
  readonly results: (string | undefined)[] = [];
  readonly signals: AbortSignal[] = [];
  readonly timers = new Set<() => void>();
  now = 1_000_000;
  failure: string | undefined;
  blocked: Promise<void> = Promise.resolve();
  readonly images = new PodImages({
    images: this.#runtime(),
    client: {
      find: async (_ref: unknown, at: { name: string }) => (at.name === 'logins' ? secret : undefined),
    } as unknown as ApiClient,
    clock: { ...createSystemClock(), now: () => this.now, timer: (_ms, fire) => this.#timer(fire) } satisfies Clock,
    tell: (_pod, { type, reason, message }: PodEvent) => this.told.push(`${type} ${reason} ${message}`),
    onPulled: (_pod, _container, failure) => this.results.push(failure?.reason),
  });

  async wait(image: Container): Promise<ImageWait> {
    return this.images.ensure(pod, image).then(
      () => assert.fail('it is there'),
      (error: ImageWait) => error,
    );
  }

  #timer(fire: () => void): Timer {
    this.timers.add(fire);
    return { cancel: () => void this.timers.delete(fire) };
  }

  #runtime(): RuntimeImages {
    return {
      status: async (name) =>
        this.present.has(name) ? { id: `id of ${name}`, names: [name], sizeBytes: 7 } : undefined,
      pull: async (name, login: RegistryCredentials | undefined, { signal, onProgress }) => {
        this.logins.push(login?.username);
        this.signals.push(signal);
        onProgress?.({ bytes: 1_000_000, totalBytes: 4_000_000, layers: 2, layersDone: 1 });
        await this.blocked;
        if (this.failure !== undefined || login?.username === 'wrong') throw new Error(this.failure ?? 'denied');
        this.present.add(name);
        return name;
      },
      list: async () => [],
      remove: async () => undefined,
      used: async () => new Set(),
      directory: async () => undefined,
    };
  }
}

test('[LIFE-16] a present image is used; an absent image with policy Never is reported by name', async () => {
  const world = new World();
  world.present.add('here:1');
  assert.equal((await world.images.ensure(pod, container('here:1'))).id, 'id of here:1');
  assert.deepEqual(world.told, ['Normal Pulled Container image "here:1" already present on machine']);
  assert.equal((await world.wait(container('gone:1', 'Never'))).reason, 'ErrImageNeverPull');
  assert.equal((await world.wait(container('No Image'))).reason, 'InvalidImageName');
  assert.deepEqual(world.logins, []);
});

test('a pull runs in parallel to the pod, and is one pull for all requests', async () => {
  const world = new World();
  const { promise, resolve } = Promise.withResolvers<void>();
  world.blocked = promise;
  assert.equal((await world.wait(container('app:1'))).reason, undefined, 'nothing is wrong, it takes time');
  await eventually(() => world.logins.length > 0, 'the pull began');
  assert.equal((await world.wait(container('app:1'))).reason, undefined);
  const [late] = world.timers;
  late?.();
  assert.match(
    world.told.at(-1) ?? '',
    /^Normal PullProgress Still pulling image "app:1" after .*: 1 of 2 layers, 1\.0 of 4\.0 MB$/,
  );
  resolve();
  await eventually(() => world.results.length > 0, 'the pull ended');
  assert.match(
    world.told.at(-1) ?? '',
    /^Normal Pulled Successfully pulled image "app:1" in \d+m?s \(\d+m?s including waiting\)\. Image size: 7 bytes\.$/,
  );
  assert.equal(world.timers.size <= 1, true, 'the end of a pull cancels its events');
  assert.equal((await world.images.ensure(pod, container('app:1'))).id, 'id of app:1');
  assert.deepEqual(world.logins, [undefined]);
  assert.ok(world.told.some((text) => text.startsWith('Normal Pulled Successfully pulled image "app:1"')));
});

test('Always contacts the registry for every start, also when the image is present', async () => {
  const world = new World();
  world.present.add('app:latest');
  for (let start = 1; start <= 2; start++) {
    await world.wait(container('app', 'Always'));
    await eventually(() => world.results.length === start, 'the pull ended');
    await world.images.ensure(pod, container('app', 'Always'));
  }
  assert.equal(world.logins.length, 2);
});

test('credentials of the pull secrets are tried in order; a missing secret is reported', async () => {
  const world = new World();
  await world.wait(container('registry.example/wrong/app:1'));
  await eventually(() => world.results.length > 0, 'the pull ended');
  assert.deepEqual(world.logins, ['wrong', 'right']);
  assert.ok(world.told.some((text) => text.includes('Unable to retrieve some image pull secrets (missing)')));
});

test('[LIFE-16] after a failed pull the next one waits, with growing back-off', async () => {
  const world = new World();
  world.failure = 'no route';
  await world.wait(container('app:1'));
  await eventually(() => world.results[0] === 'ErrImagePull', 'the pull failed');
  const waiting = await world.wait(container('app:1'));
  assert.equal(waiting.reason, 'ImagePullBackOff');
  assert.equal(waiting.message, 'Back-off pulling image "app:1": ErrImagePull: no route');
  assert.equal(waiting.retryMs, CONTAINER_BACK_OFF_INITIAL_MS);
  world.now += CONTAINER_BACK_OFF_INITIAL_MS;
  await world.wait(container('app:1'));
  await eventually(() => world.results.length === 2, 'the next pull failed');
  assert.equal((await world.wait(container('app:1'))).retryMs, 2 * CONTAINER_BACK_OFF_INITIAL_MS);
});

test('a pod that ends cancels its pulls', async () => {
  const world = new World();
  world.blocked = new Promise(() => undefined);
  await world.wait(container('app:1'));
  await eventually(() => world.signals.length > 0, 'the pull began');
  world.images.stop();
  assert.ok(world.signals[0]?.aborted);
});
