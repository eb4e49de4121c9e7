import { createIds, createSeededRandom, createSystemClock, createSystemRandom, formatTime } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { StoredObject } from '@holdfast/store';
import { createKeys } from './keys.ts';
import { type LifeDeps, startLife } from './life.ts';
import type { ClusterConfig } from './options.ts';
import { Requests } from './requests.ts';
import type { ClusterKeys, ClusterState } from './state.ts';
import { ClusterUsers } from './users.ts';

interface Model {
  readonly state: ClusterState;
  readonly keys: ClusterKeys;
}

/**
 * By what they depend on. A control plane writes the first objects once in this process, and each further cluster begins with a copy, with
 * uids, times and an authority of its own.
 */
const models = new Map<string, Promise<Model>>();

/** The state of a new cluster: namespaces, roles, priority levels, default service accounts. Absent for a store on disk. */
export async function firstState(config: ClusterConfig, keys: ClusterKeys): Promise<ClusterState | undefined> {
  if (config.sqlite !== undefined) return undefined;
  const model = await modelOf(config);
  const nowMs = config.isVirtual ? model.state.nowMs : createSystemClock().now();
  const ids = createIds(
    config.seed === undefined ? createSystemRandom() : createSeededRandom(config.seed, 'first state'),
  );
  const [madeAt, now] = [formatTime(model.state.nowMs), formatTime(nowMs)];
  const [modelCa, ca] = [inJson(model.keys), inJson(keys)];
  const renewed = (object: StoredObject): StoredObject => ({
    ...object,
    value: object.value
      .replaceAll(madeAt, now)
      .replaceAll(modelCa, ca)
      .replace(UID, () => `"uid":"${ids.uuid()}"`),
  });
  return { ...model.state, objects: model.state.objects.map(renewed), nowMs, generation: '' };
}

const inJson = ({ pki }: ClusterKeys): string => JSON.stringify(pki.caCertificate).slice(1, -1);

const UID = /"uid":"[0-9a-f-]{36}"/;
/** Below a second, so that all times of the model are equal. */
const MODEL_MS = 900;

function modelOf(config: ClusterConfig): Promise<Model> {
  const kind = JSON.stringify([config.features, [...config.without], config.controllers, config.serviceNetwork]);
  const known = models.get(kind);
  if (known !== undefined) return known;
  const making = makeModel(config);
  models.set(kind, making);
  making.catch(() => models.delete(kind));
  return making;
}

async function makeModel({ features, without, controllers, serviceNetwork }: ClusterConfig): Promise<Model> {
  const nowMs = createVirtualClock().now();
  const keys = await createKeys(nowMs);
  const config: ClusterConfig = {
    hollowNodes: [],
    processNodes: [],
    sqlite: undefined,
    isVirtual: true,
    scripts: [],
    seed: 1,
    features,
    port: undefined,
    host: '127.0.0.1',
    without,
    controllers,
    nodeMonitorGraceSeconds: undefined,
    serviceNetwork,
    settleMs: 0,
    onLog: undefined,
  };
  const deps: LifeDeps = { config, keys, users: new ClusterUsers([]), requests: new Requests(), api: undefined };
  const life = await startLife(deps, undefined);
  try {
    await life.time.advance(MODEL_MS);
    return { state: { ...(await life.state()), nowMs }, keys };
  } finally {
    await life.stop();
  }
}
