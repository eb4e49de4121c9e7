import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  JOBS,
  type KubeObject,
  REPLICA_SETS,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api';
import { differences } from '../../sim/hunt/knowledge.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import type { StoreLog } from './store-log.ts';

/** Kinds that rest when everything is whole. */
const KINDS: readonly ResourceRef<KubeObject>[] = [CONFIG_MAPS, DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS, JOBS];
const SHOWN = 3;

/** Every API server shows what is stored. What changes while it is asked may be shown in either way. */
export async function brokenViews({ users }: ComposeCluster, log: StoreLog): Promise<readonly string[]> {
  const broken: string[] = [];
  for (const [server, user] of users.entries()) {
    for (const kind of KINDS) {
      const before = inWords(log.state.list(kind));
      const { items, resourceVersion } = await user.list(kind);
      await log.reach(Number(resourceVersion));
      const wrong = differences(before, inWords(log.state.list(kind)), inWords(items));
      broken.push(...wrong.slice(0, SHOWN).map((each) => `API server ${server + 1} and the store differ: ${each}`));
    }
  }
  return broken;
}

const inWords = (objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name} at ${metadata.resourceVersion}`);
