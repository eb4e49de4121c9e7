import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  JOBS,
  type KubeObject,
  REPLICA_SETS,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { invariant } from '@holdfast/platform';
import { differences, inWords } from '../../sim/hunt/knowledge.ts';
import { waitFor } from '../../support/wait.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import type { StoreLog } from './store-log.ts';

/** Kinds that rest when everything is whole. */
const KINDS: readonly ResourceRef<KubeObject>[] = [CONFIG_MAPS, DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS, JOBS];
const SHOWN = 3;
const ANSWERS_WITHIN_MS = 120_000;

type List = Awaited<ReturnType<ApiClient['list']>>;

/** Every API server shows what is stored. What changes while it is asked may be shown in either way. */
export async function brokenViews(
  { users }: Pick<ComposeCluster, 'users'>,
  log: Pick<StoreLog, 'state' | 'reach'>,
): Promise<readonly string[]> {
  const broken: string[] = [];
  for (const [server, user] of users.entries()) {
    for (const kind of KINDS) {
      const before = inWords(log.state.list(kind));
      const { items, resourceVersion } = await listed(user, kind, server);
      await log.reach(Number(resourceVersion));
      const wrong = differences(before, inWords(log.state.list(kind)), inWords(items));
      broken.push(...wrong.slice(0, SHOWN).map((each) => `API server ${server + 1} and the store differ: ${each}`));
    }
  }
  return broken;
}

/** It may have started a moment ago. */
async function listed(user: ApiClient, kind: ResourceRef<KubeObject>, server: number): Promise<List> {
  let list: List | undefined;
  const answers = async (): Promise<boolean> => {
    list = await user.list(kind).catch(() => undefined);
    return list !== undefined;
  };
  await waitFor(`API server ${server + 1} to list`, answers, ANSWERS_WITHIN_MS);
  invariant(list !== undefined, 'the wait has ended with a list', { kind: kind.plural });
  return list;
}
